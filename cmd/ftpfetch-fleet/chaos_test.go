package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/testserver"
)

// process starts the command in this program. The end of the test kills it.
func process(t *testing.T, args ...string) *exec.Cmd { return processWith(t, nil, args...) }

func processWith(t testing.TB, env []string, args ...string) *exec.Cmd {
	c := exec.Command(must.Get(os.Executable())(t), args...)
	c.Env, c.Stderr = append(append(os.Environ(), "FLEET_TEST=1"), env...), t.Output()
	must.Do(t, c.Start())
	t.Cleanup(func() { kill(c) })
	return c
}

func kill(c *exec.Cmd) {
	_ = c.Process.Kill()
	_ = c.Wait()
}

// TestChaos kills a worker every few seconds, kills the server twice, and freezes a worker for longer than its slots
// last.
func TestChaos(t *testing.T) {
	t.Parallel()
	files, pause := night.Or(1200, 20000), time.Duration(night.Or(700, 3000))*time.Millisecond
	slow := func(c *testserver.Conn) testserver.Action {
		if c.Verb == "RETR" {
			<-time.After(time.Duration(night.Or(5, 12)) * time.Millisecond)
		}
		return nil
	}
	srv := newFTP(t, files, 8, testserver.Options{Fault: slow})
	dir, state, join := t.TempDir(), newState(t), filepath.Join(t.TempDir(), "join")
	h := must.Get(startHub(state, listenAgain(t), "", t.Logf))(t)
	must.Do(t, h.join.write(join))
	h.stop()
	hub := func() *exec.Cmd {
		return process(t, "serve", "--dir", state, "--join", join, "--listen", h.join.Address)
	}
	server := hub()
	s := &stand{T: t, file: join}
	eventually(t, "a server", func() bool { _, _, code := s.do("status"); return code == 0 })
	id := s.want(0, "add", "--per-host", "8", srv.list(t, files))
	work := func(i int) *exec.Cmd {
		return process(t, "work", "--join", join, "-d", dir, "--shared", "-j", "2", "--name", fmt.Sprint("w", i), "--egress", "e")
	}
	workers := []*exec.Cmd{work(0), work(1), work(2), work(3), work(4)}
	done := make(chan string, 1)
	go func() { done <- s.waitRetrying(id) }()
	first := ""
	for n := 0; first == ""; n++ {
		select {
		case first = <-done:
			continue
		case <-time.After(pause):
		}
		if i := n % 4; n < night.Or(6, 1000) {
			kill(workers[i])
			workers[i] = work(i)
		}
		switch n {
		case 2, 5:
			kill(server)
			server = hub()
		case 3:
			must.Do(t, workers[4].Process.Signal(syscall.SIGSTOP))
		case 10:
			must.Do(t, workers[4].Process.Signal(syscall.SIGCONT))
		}
	}
	if second := s.want(0, "wait", "--json"); facts(second) != facts(first) || facts(first) != fmt.Sprintf("done %d %d 0 0", files, files) {
		t.Errorf("the first wait tells\n%s, the second\n%s", first, second)
	}
	for _, w := range workers {
		_ = w.Process.Signal(syscall.SIGCONT)
		kill(w)
	}
	t.Logf("%d transfers of %d files, %d connections at once, %d refused", srv.files.Load(), files, srv.peak.Load(), srv.refused.Load())
	if srv.peak.Load() > 8 || srv.refused.Load() > 0 {
		t.Errorf("%d connections at once, %d refused", srv.peak.Load(), srv.refused.Load())
	}
	compare(t, dir, files)
}

// waitRetrying waits until a job is done, and returns what wait tells then. It retries the files of a chunk whose workers
// were killed three times in turn.
func (s *stand) waitRetrying(id string) string {
	for {
		out, _, code := s.do("wait", "--json")
		if code == 0 || s.Context().Err() != nil { // or it took too long
			return out
		}
		if strings.HasPrefix(facts(out), "done") {
			s.do("retry", id)
		}
	}
}

// TestFrozen freezes a worker forever in the middle of a file. Another worker must complete the file in the same
// directory.
func TestFrozen(t *testing.T) {
	t.Parallel()
	s, dir := newStand(t), t.TempDir()
	srv := newFTP(t, 1, 2, testserver.Options{Fault: func(c *testserver.Conn) testserver.Action {
		if c.Verb == "RETR" && c.Transfer == 1 {
			return testserver.EndDataAfter(3, testserver.Stalled)
		}
		return nil
	}})
	s.want(0, "add", "--per-host", "2", srv.list(t, 1))
	frozen := process(t, "work", "--join", s.file, "-d", dir, "--shared", "-j", "1", "--name", "frozen")
	eventually(t, "a part", func() bool {
		found, _ := filepath.Glob(filepath.Join(dir, "*~*.ftpfetch.part"))
		return len(found) == 1 && srv.files.Load() == 1
	})
	must.Do(t, frozen.Process.Signal(syscall.SIGSTOP))
	process(t, "work", "--join", s.file, "-d", dir, "--shared", "-j", "1")
	s.want(0, "wait")
	s.want(2, "cancel") // it is done
	eventually(t, "no part", func() bool { found, _ := filepath.Glob(filepath.Join(dir, "*~*")); return len(found) == 0 })
	compare(t, dir, 1)
}

// compare checks that a directory has exactly these files, each with the right contents.
func compare(t *testing.T, dir string, files int) {
	right := 0
	for _, e := range must.Get(os.ReadDir(dir))(t) {
		var i int
		if _, err := fmt.Sscanf(e.Name(), "%06d", &i); err != nil || e.Name() != fmt.Sprintf("%06d", i) {
			if !strings.HasPrefix(e.Name(), ledgerName) {
				t.Errorf("left over: %s", e.Name())
			}
			continue
		}
		if got := string(must.Get(os.ReadFile(filepath.Join(dir, e.Name())))(t)); got != contents(i) {
			t.Errorf("%s is wrong", e.Name())
		}
		right++
	}
	if right != files {
		t.Errorf("%d files are right", right)
	}
}

// link relays between a worker and the server. While it is cut, nothing arrives, and neither side gets an error.
type link struct {
	net.Listener
	mu  sync.Mutex
	to  string
	cut bool
}

func (l *link) run() {
	for {
		a, err := l.Accept()
		if err != nil {
			return
		}
		b, err := net.Dial("tcp", l.to)
		if err != nil {
			a.Close()
			continue
		}
		go l.copy(a, b)
		go l.copy(b, a)
	}
}

func (l *link) copy(to, from net.Conn) {
	defer to.Close()
	_, _ = io.Copy(writer(func(data []byte) (int, error) {
		for {
			l.mu.Lock()
			cut := l.cut
			l.mu.Unlock()
			if !cut {
				return to.Write(data)
			}
			<-time.After(10 * time.Millisecond)
		}
	}), from)
}

type writer func([]byte) (int, error)

func (w writer) Write(data []byte) (int, error) { return w(data) }

// TestLink cuts the link of one of two workers for longer than its slots and its chunk last. Nothing may be lost.
func TestLink(t *testing.T) {
	t.Parallel()
	const files = 1000
	s := newStand(t)
	both, open := gate()
	defer open()
	srv := newFTP(t, files, 2, testserver.Options{Fault: slowly(both)})
	l := &link{Listener: must.Get(net.Listen("tcp", "127.0.0.1:0"))(t), to: s.hub.join.Address}
	defer l.Close()
	go l.run()
	far := s.hub.join
	far.Address = l.Addr().String()
	file := filepath.Join(t.TempDir(), "join")
	must.Do(t, far.write(file))
	s.want(0, "add", "--per-host", "2", srv.list(t, files))
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for _, join := range []string{file, s.file} {
		all.Go(func() {
			execute(ctx, []string{"work", "--join", join, "-d", t.TempDir(), "-j", "1", "--egress", "e"}, &command{err: t.Output()})
		})
	}
	eventually(t, "both are there", func() bool { return srv.peak.Load() == 2 })
	open()
	eventually(t, "both work", func() bool { return srv.files.Load() > 100 })
	cut := func(is bool) { l.mu.Lock(); l.cut = is; l.mu.Unlock() }
	cut(true)
	<-time.After(time.Duration(night.Or(7, 30)) * time.Second)
	cut(false)
	if got := facts(s.want(0, "wait", "--json")); got != "done 1000 1000 0 0" {
		t.Errorf("got %s", got)
	}
	stop()
	all.Wait()
	if srv.refused.Load() > 0 {
		t.Errorf("%d connections were refused: the cap was passed", srv.refused.Load())
	}
}

// TestNamespace is TestLink with a kernel network: the worker is in a network namespace whose link goes down.
func TestNamespace(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Log("only root makes namespaces; TestLink cuts a link without them")
		return
	}
	const files = 1000
	name, ip := fmt.Sprintf("fleet%.9d", os.Getpid()), func(args ...string) {
		t.Helper()
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %s", strings.Join(args, " "), out)
		}
	}
	ip("netns", "add", name)
	t.Cleanup(func() { ip("netns", "del", name) })
	ip("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
	up := func() {
		ip("address", "replace", "10.213.77.1/30", "dev", name)
		ip("link", "set", name, "up")
	}
	up()
	ip("-n", name, "address", "add", "10.213.77.2/30", "dev", "eth0")
	ip("-n", name, "link", "set", "eth0", "up")

	s := &stand{T: t, state: filepath.Join(t.TempDir(), "state"), file: filepath.Join(t.TempDir(), "join")}
	s.serve("10.213.77.1:0")
	t.Cleanup(func() { s.hub.stop() })
	both, open := gate()
	defer open()
	listen := func() (net.Listener, error) { return net.Listen("tcp4", "10.213.77.1:0") }
	srv := newFTP(t, files, 3, testserver.Options{Listen: listen, Fault: slowly(both)})
	s.want(0, "add", "--per-host", "2", srv.list(t, files))
	dir := t.TempDir()
	for _, where := range [][]string{{}, {"ip", "netns", "exec", name}} {
		args := append(where, must.Get(os.Executable())(t), "work", "--join", s.file, "-d", dir, "--shared", "-j", "1", "--egress", "e")
		c := exec.Command(args[0], args[1:]...)
		c.Env, c.Stderr = append(os.Environ(), "FLEET_TEST=1"), t.Output()
		must.Do(t, c.Start())
		t.Cleanup(func() { kill(c) })
	}
	eventually(t, "both are there", func() bool { return srv.peak.Load() >= 2 })
	open()
	eventually(t, "both work", func() bool { return srv.files.Load() > 100 })
	ip("link", "set", name, "down")
	<-time.After(time.Duration(night.Or(7, 30)) * time.Second)
	up()
	if got := facts(s.want(0, "wait", "--json")); got != "done 1000 1000 0 0" {
		t.Errorf("got %s", got)
	}
	if srv.refused.Load() > 0 {
		t.Errorf("%d connections were refused: the cap was passed", srv.refused.Load())
	}
	compare(t, dir, files)
}
