package main

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/testserver"
)

// TestReclaim has a slot that was not renewed. It must be free only if its connection is certainly closed.
func TestReclaim(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	w := s.worker("w")
	key := "here." + hostKey("h:21") + ".0"
	says := func(text string) func(*testing.T, *worker, string) {
		return func(t *testing.T, w *worker, subject string) {
			sub := must.Get(w.Subscribe(subject, func(m *nats.Msg) {
				if text != "" {
					_ = m.Respond([]byte(text))
				}
			}))(t)
			must.Do(t, w.Flush())
			t.Cleanup(func() { _ = sub.Unsubscribe() })
		}
	}
	for name, tt := range map[string]struct {
		holder func(*testing.T, *worker, string)
		hub    string
		ago    time.Duration
		want   bool
	}{
		"killed":                             {want: true},
		"killed long ago":                    {ago: 2 * trusted * slotTTL},
		"killed before the server was":       {hub: "another"},
		"killed in another account":          {hub: w.ConnectedServerId() + "/add"},
		"frozen":                             {holder: says("")},
		"has closed it":                      {holder: says(released), want: true},
		"has closed it before":               {holder: says(released), hub: "another", ago: time.Hour, want: true},
		"has it":                             {holder: says("held")},
		"renewed":                            {ago: -slotTTL},
		"says what no version of it can say": {holder: says("?")},
	} {
		t.Run(name, func(t *testing.T) {
			holder := strings.ReplaceAll(name, " ", "-")
			if tt.holder != nil {
				tt.holder(t, w, w.subject("holder", holder))
			}
			if tt.hub == "" {
				tt.hub = w.heardBy()
			}
			rev := must.Get(w.fleet.slots.Put(t.Context(), key, []byte(holder+" nonce "+tt.hub)))(t)
			w.asked.Clear()
			then := time.Now().Add(-slotTTL - tt.ago)
			was := held{value: []byte(holder + " nonce " + tt.hub), rev: rev, made: then}
			if got := w.reclaim(t.Context(), key, was); got != tt.want {
				t.Errorf("free: %v", got)
			}
			if _, err := w.fleet.slots.Get(t.Context(), key); (err != nil) != tt.want {
				t.Errorf("the slot is gone: %v", err)
			}
		})
	}
	info := must.Get(s.admin().slots.Status(t.Context()))(t)
	if info.TTL() != grace {
		t.Errorf("a slot lasts %v", info.TTL())
	}
}

// TestThaw freezes a worker in the middle of a file. No other worker may get its slot before it continues, and then it
// must first close the connection.
func TestThaw(t *testing.T) {
	t.Parallel()
	var stalled atomic.Bool
	o := testserver.Options{Fault: func(c *testserver.Conn) testserver.Action {
		if c.Verb == "RETR" && !stalled.Swap(true) {
			return testserver.EndDataAfter(3, testserver.Stalled)
		}
		return nil
	}}
	open := counting(&o)
	s, srv := newStand(t), newFTP(t, 1, 1, o)
	s.want(0, "add", "--per-host", "1", srv.list(t, 1))
	frozen := process(t, "work", "--join", s.file, "-d", t.TempDir(), "-j", "1", "--egress", "e")
	eventually(t, "a file", stalled.Load)
	must.Do(t, frozen.Process.Signal(syscall.SIGSTOP))
	w := s.workerAt("looks", "e")
	key := hostKey(srv.Addr())
	eventually(t, "the slot has lapsed", func() bool {
		e := must.Get(w.fleet.slots.Get(t.Context(), "e."+key+".0"))(t)
		return w.limit(key) == 1 && w.age(held{made: e.Created()}) > slotTTL
	})
	if w.acquire(t.Context(), key) != nil || open.Load() != 1 {
		t.Errorf("another worker has the slot, and %d connections are open", open.Load())
	}
	must.Do(t, frozen.Process.Signal(syscall.SIGCONT))
	eventually(t, "a free slot, or the file", func() bool {
		s := w.acquire(t.Context(), key)
		if s == nil {
			return srv.files.Load() > 1
		}
		// The server may notice the end of a connection a little later than the worker closed it.
		for soon := time.Now().Add(time.Second / 2); open.Load() != 0 && time.Now().Before(soon); {
			<-time.After(time.Millisecond)
		}
		if n := open.Load(); n != 0 {
			t.Errorf("the slot is free, and %d connections are open", n)
		}
		s.release()
		return true
	})
	if srv.refused.Load() > 0 {
		t.Errorf("%d connections were refused", srv.refused.Load())
	}
}

// TestSlotSweep freezes, thaws, kills and restarts workers and their server at any moment. The FTP server must never
// have more connections than it allows.
func TestSlotSweep(t *testing.T) {
	t.Parallel()
	const most, workers = 3, 4
	files := night.Or(5000, 100000) // enough that some are always left
	srv := newFTP(t, files, most, testserver.Options{Fault: slow(20 * time.Millisecond)})
	srv.linger.Store(int64(time.Second)) // a frozen worker may continue soon
	state := newState(t)
	join := filepath.Join(t.TempDir(), "join")
	h := must.Get(startHub(state, listenAgain(t), "", t.Logf))(t)
	must.Do(t, h.join.write(join))
	h.stop()
	hub := func() *exec.Cmd {
		return process(t, "serve", "--dir", state, "--join", join, "--listen", h.join.Address)
	}
	server := hub()
	s := &stand{T: t, file: join}
	eventually(t, "a server", func() bool { _, _, code := s.do("status"); return code == 0 })
	s.want(0, "add", "--per-host", fmt.Sprint(most), srv.list(t, files))
	work := func() *exec.Cmd {
		return process(t, "work", "--join", join, "-d", t.TempDir(), "-j", "2", "--egress", "e")
	}
	var all [workers]*exec.Cmd
	var stopped [workers]bool
	for i := range all {
		all[i] = work()
	}
	eventually(t, "all slots are in use", func() bool { return srv.peak.Load() == most })
	for n := range night.Or(30, 1000) {
		<-time.After(rand.N(slotTTL / 2))
		i := rand.IntN(workers)
		switch {
		case stopped[i] && rand.IntN(3) > 0: // mostly for longer than a slot lasts without renewal
		case stopped[i]:
			must.Do(t, all[i].Process.Signal(syscall.SIGCONT))
			stopped[i] = false
		case n%8 == 7:
			kill(server)
			server = hub()
		case n%2 == 0:
			must.Do(t, all[i].Process.Signal(syscall.SIGSTOP))
			stopped[i] = true
		default:
			kill(all[i])
			all[i] = work()
		}
		if srv.refused.Load() > 0 {
			t.Fatalf("after %d events: %d connections were refused", n+1, srv.refused.Load())
		}
	}
	for i, c := range all {
		if stopped[i] {
			must.Do(t, c.Process.Signal(syscall.SIGCONT))
		}
	}
	before := srv.files.Load()
	eventually(t, "the files go on", func() bool { return srv.files.Load() > before })
	if srv.peak.Load() > most || srv.refused.Load() > 0 {
		t.Errorf("%d connections at once, %d refused", srv.peak.Load(), srv.refused.Load())
	}
}
