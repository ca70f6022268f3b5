package main

import (
	"bytes"
	"context"
	"crypto/md5"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/testserver"
)

// counted is a listener that knows how many of its connections are open.
type counted struct {
	net.Listener
	open *atomic.Int64
}

func (l counted) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.open.Add(1)
		c = &countedConn{Conn: c, end: sync.OnceFunc(func() { l.open.Add(-1) })}
	}
	return c, err
}

type countedConn struct {
	net.Conn
	end func()
}

func (c *countedConn) Close() error { c.end(); return c.Conn.Close() }

// counting makes a server count its open control connections. Their listener is the first that the server opens.
func counting(o *testserver.Options) *atomic.Int64 {
	open, listeners := new(atomic.Int64), new(atomic.Int64)
	listen := o.Listen
	if listen == nil {
		listen = func() (net.Listener, error) { return net.Listen("tcp4", "127.0.0.1:0") }
	}
	o.Listen = func() (net.Listener, error) {
		l, err := listen()
		if err == nil && listeners.Add(1) == 1 {
			l = counted{l, open}
		}
		return l, err
	}
	return open
}

// slow makes each RETR take a while.
func slow(d time.Duration) func(*testserver.Conn) testserver.Action {
	return func(c *testserver.Conn) testserver.Action {
		if c.Verb == "RETR" {
			<-time.After(d)
		}
		return nil
	}
}

// TestSecondHost has files whose first URL is dead. The second URL is on a host that allows one connection. Whatever
// the lanes request from it, and however long that takes, they share that connection, and all files arrive.
func TestSecondHost(t *testing.T) {
	for name, flags := range map[string][]string{
		"files": {}, "each within a time": {"--max-time", "60"}, "lists of digests": {"--verify"}, "both": {"--verify", "--max-time", "60"},
		"newer ones": {"-N", "--max-time", "60"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const files = 12
			s := newStand(t)
			a := []*ftpServer{newFTP(t, 1, 9, testserver.Options{}), newFTP(t, 1, 9, testserver.Options{})} // two, so that two lanes work
			b := newFTP(t, files, 1, testserver.Options{Fault: slow(slotTTL / 4), Tree: sums(files)})       // together they outlast a slot
			lines := []string{"urls\tpath"}
			for i := range files {
				lines = append(lines, fmt.Sprintf("%s %s\t%d", a[i%2].URL("/d/none"), b.URL(fmt.Sprintf("/d/%06d", i)), i))
			}
			list := filepath.Join(t.TempDir(), "list.tsv")
			must.Do(t, os.WriteFile(list, []byte(strings.Join(lines, "\n")), 0o600))
			s.want(0, "add", append(flags, "--per-host", "1", list)...)
			ctx, stop := context.WithCancel(t.Context())
			var all sync.WaitGroup
			for range 2 {
				all.Go(func() {
					args := []string{"work", "--join", s.file, "-d", t.TempDir(), "-j", "2", "--egress", "e"}
					execute(ctx, args, &command{err: s.Output()})
				})
			}
			got := facts(s.want(0, "wait", "--json"))
			stop()
			all.Wait()
			if b.peak.Load() != 1 || b.refused.Load() > 0 || got != fmt.Sprintf("done %d %d 0 0", files, files) {
				t.Errorf("%s: %d connections at once, %d refused", got, b.peak.Load(), b.refused.Load())
			}
		})
	}
}

// TestLostSlot cuts the link to the fleet's server while a connection is in some state, to the lane's own host or
// another one. The connection must be closed before another worker can have the slot.
func TestLostSlot(t *testing.T) {
	states := []string{"data", "NLST", "idle", "", "USER", "CWD", "TYPE", "EPSV", "RETR"}
	for _, other := range []bool{true, false} {
		for _, at := range states[:night.Or(2, len(states))] {
			t.Run(fmt.Sprintf("%v %s", other, at), func(t *testing.T) {
				t.Parallel()
				lostSlot(t, other, at)
			})
		}
	}
}

func lostSlot(t *testing.T, other bool, at string) {
	var there atomic.Bool
	o := testserver.Options{Tree: sums(1), Fault: func(c *testserver.Conn) testserver.Action {
		switch {
		case at == "data" && c.Arg == "000000":
			there.Store(true)
			return testserver.EndDataAfter(3, testserver.Stalled)
		case c.Verb == at:
			there.Store(true)
			return testserver.EndControl(testserver.Stalled)
		case at == "idle" && c.Arg == "000000":
			there.Store(true)
		}
		return nil
	}}
	open := counting(&o)
	s, a, srv := newStand(t), newFTP(t, 0, 9, testserver.Options{}), newFTP(t, 1, 9, o)
	url := srv.URL("/d/000000")
	if other {
		url = a.URL("/d/none") + " " + url
	}
	list := filepath.Join(t.TempDir(), "list.tsv")
	must.Do(t, os.WriteFile(list, []byte("urls\tpath\n"+url+"\tf\n"), 0o600))
	l := &link{Listener: must.Get(net.Listen("tcp", "127.0.0.1:0"))(t), to: s.hub.join.Address}
	defer l.Close()
	go l.run()
	far := s.hub.join
	far.Address = l.Addr().String()
	file := filepath.Join(t.TempDir(), "join")
	must.Do(t, far.write(file))
	s.want(0, "add", "--per-host", "1", "--verify", list)
	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	cut := func(is bool) { l.mu.Lock(); l.cut = is; l.mu.Unlock() }
	defer work.Wait()
	defer stop()
	defer cut(false)
	work.Go(func() {
		execute(ctx, []string{"work", "--join", file, "-d", t.TempDir(), "-j", "1", "--egress", "e"}, &command{err: t.Output()})
	})
	eventually(t, "a connection", there.Load)
	cut(true)
	w := s.workerAt("looks", "e")
	key := "e." + hostKey(srv.Addr()) + ".0"
	before := must.Get(w.fleet.slots.Get(t.Context(), key))(t)
	eventually(t, "no connection", func() bool { return open.Load() == 0 })
	after := must.Get(w.fleet.slots.Get(t.Context(), key))(t)
	if !bytes.Equal(before.Value(), after.Value()) {
		t.Errorf("the slot was %s, and is %s", before.Value(), after.Value())
	}
	// A worker that cannot be reached may have a connection. A worker that can be reached says that it has none.
	<-time.After(2 * slotTTL)
	if w.acquire(t.Context(), hostKey(srv.Addr())) != nil {
		t.Error("the slot was had before it was clear that its worker has no connection")
	}
	cut(false)
	stop()
	eventually(t, "a slot that can be had", func() bool {
		s := w.acquire(t.Context(), hostKey(srv.Addr()))
		if s != nil {
			s.release()
		}
		return s != nil
	})
}

// sums returns a list of digests.
func sums(files int) map[string]string {
	var text strings.Builder
	for i := range files {
		fmt.Fprintf(&text, "%x  %06d\n", md5.Sum([]byte(contents(i))), i)
	}
	return map[string]string{"/d/MD5SUMS": text.String()}
}
