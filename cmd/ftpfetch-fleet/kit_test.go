package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"example.com/ftpfetch/internal/testkit/memory"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// TestMain runs the command in place of the tests in the processes that tests start. It shortens the time limits.
func TestMain(m *testing.M) {
	memory.Use()
	if os.Getenv("FLEET_REAL") == "" {
		slotTTL, ackWait, doubt, grace = 2*time.Second, 4*time.Second, time.Second, time.Minute
	}
	for name, value := range map[string]string{ // credentials for stores that do not exist
		"AWS_ACCESS_KEY_ID": "me", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_EC2_METADATA_DISABLED": "true",
	} {
		_ = os.Setenv(name, value)
	}
	switch os.Getenv("FLEET_TEST") {
	case "":
	case "simulate":
		workers, _ := strconv.Atoi(os.Args[1])
		lanes, _ := strconv.Atoi(os.Args[2])
		each, _ := time.ParseDuration(os.Args[3])
		os.Exit(simulate(os.Getenv("FLEET_JOIN"), os.Getenv("FLEET_DIR"), workers, lanes, each))
	default:
		ctx, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		code := execute(ctx, os.Args[1:], &command{in: os.Stdin, out: os.Stdout, err: os.Stderr})
		if name := os.Getenv("FLEET_PEAK"); name != "" {
			// The peak that the kernel reports for an ended child includes the time before exec.
			text, _ := os.ReadFile("/proc/self/status")
			_ = os.WriteFile(name, text, 0o600)
		}
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// ftpServer counts its requests. It allows at most most connections at once.
type ftpServer struct {
	*testserver.Server
	peak, refused, files atomic.Int64
	linger               atomic.Int64 // how long the server takes to notice a closed connection
}

func contents(i int) string { return strings.Repeat(fmt.Sprintf("%06d\n", i), 1+i%50) }

func newFTP(t *testing.T, files int, most int, fault testserver.Options) *ftpServer {
	s, o := new(ftpServer), fault
	o.Tree = make(map[string]string)
	if o.ModTime.IsZero() {
		o.ModTime = time.Unix(1e9, 0)
	}
	maps.Copy(o.Tree, fault.Tree)
	for i := range files {
		o.Tree[fmt.Sprintf("/d/%06d", i)] = contents(i)
	}
	s.linger.Store(int64(10 * time.Second))
	now := counting(&o)
	o.Fault = func(c *testserver.Conn) testserver.Action {
		open := now.Load()
		if c.Verb == "" { // what was closed before this connection was opened is no connection: the machine may be busy
			for end := time.Now().Add(time.Duration(s.linger.Load())); open > int64(most) && time.Now().Before(end); open = now.Load() {
				<-time.After(5 * time.Millisecond)
			}
		}
		switch {
		case c.Verb == "" && open > int64(most):
			s.refused.Add(1)
			return testserver.Sequence(testserver.Reply("421 Too many connections from this IP"), testserver.EndControl(testserver.Closed))
		case c.Verb == "":
			for p := s.peak.Load(); open > p && !s.peak.CompareAndSwap(p, open); p = s.peak.Load() {
			}
		case c.Verb == "RETR":
			s.files.Add(1)
		}
		if fault.Fault != nil {
			return fault.Fault(c)
		}
		return nil
	}
	s.Server = testserver.New(t, &o)
	return s
}

// slowly returns a fault that sends no file before begin is closed, and then one every four milliseconds. A test with
// two workers waits for both before it closes begin; otherwise one worker may be done before the other begins.
func slowly(begin <-chan struct{}) func(*testserver.Conn) testserver.Action {
	return func(c *testserver.Conn) testserver.Action {
		if c.Verb == "RETR" {
			<-begin
			<-time.After(4 * time.Millisecond)
		}
		return nil
	}
}

// list writes a list of the server's files, and other lines.
func (s *ftpServer) list(t *testing.T, files int, more ...string) string {
	var text strings.Builder
	for i := range files {
		fmt.Fprintln(&text, s.URL(fmt.Sprintf("/d/%06d", i)))
	}
	text.WriteString(strings.Join(more, "\n"))
	name := filepath.Join(t.TempDir(), "list")
	must.Do(t, os.WriteFile(name, []byte(text.String()), 0o600))
	return name
}

// listenAgain returns an address at which a server can be restarted: no connection gets its port meanwhile, as those get
// that the system chooses.
func listenAgain(t *testing.T) string {
	for {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10000+rand.IntN(20000)))
		if err == nil {
			defer l.Close()
			return l.Addr().String()
		}
		t.Log(err)
	}
}

// newState returns the STATE of a server that listens where it can be restarted, also for the role look.
func newState(t *testing.T) (dir string) {
	dir = filepath.Join(t.TempDir(), "state")
	must.Do(t, os.Mkdir(dir, 0o700))
	_, port, _ := net.SplitHostPort(listenAgain(t))
	must.Do(t, os.WriteFile(filepath.Join(dir, lookName), []byte(port), 0o600))
	return dir
}

// gate returns a channel for the functions of a server to wait for, and the function that closes it. A test also defers
// that function: if the test fails early, a function that still waits would keep the server from closing, and that
// error would hide the cause.
func gate() (shut <-chan struct{}, open func()) {
	c := make(chan struct{})
	return c, sync.OnceFunc(func() { close(c) })
}

// stand is the server of a fleet and its users.
type stand struct {
	*testing.T
	hub         *hub
	state, file string        // its directory and JOIN file
	doubt       time.Duration // workers that starts starts get this doubt; 0: the default
	// replaces what workers that starts starts do with a chunk, if not nil
	fetch func(*worker) func(*lease, *chunk, *outcome) error
}

func newStand(t *testing.T) *stand {
	s := &stand{T: t, state: newState(t), file: filepath.Join(t.TempDir(), "join")}
	s.serve(listenAgain(t))
	t.Cleanup(func() { s.hub.stop() })
	return s
}

func (s *stand) serve(listen string) {
	s.Helper()
	s.hub = must.Get(startHub(s.state, listen, "", s.Logf))(s.T)
	must.Do(s.T, s.hub.join.write(s.file))
}

// patience is how long a test waits for what must happen: much longer than that takes on a busy machine.
const patience = 5 * time.Minute

// do runs a command and returns what it prints and its exit code.
func (s *stand) do(name string, args ...string) (out, errs string, code int) {
	var o, e bytes.Buffer
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	code = execute(ctx, append([]string{name, "--join", s.file}, args...), &command{in: strings.NewReader(""), out: &o, err: &e})
	return o.String(), e.String(), code
}

// want runs a command, which must have this exit code.
func (s *stand) want(code int, name string, args ...string) string {
	s.Helper()
	out, errs, got := s.do(name, args...)
	if got != code {
		s.Fatalf("%s: exit code %d, want %d: %s%s", name, got, code, out, errs)
	}
	return strings.TrimSpace(out)
}

// worker returns a worker without lanes.
func (s *stand) worker(name string) *worker { return s.workerAt(name, "here") }

func (s *stand) workerAt(name, egress string) *worker {
	w := must.Get(newWorker(&command{dir: filepath.Join(s.TempDir(), "d"), name: name, egress: egress, err: s.Output()}))(s.T)
	r := newBroadcast()
	w.fleet = must.Get((&command{join: s.file, role: "work"}).dial(s.Context(), name, patience, r.ring))(s.T)
	w.ctx, w.stop = context.WithCancelCause(context.Background())
	var all sync.WaitGroup
	w.watch(&all, r)
	s.Cleanup(func() { w.stop(nil); all.Wait(); w.Close(); w.root.Close() })
	return w
}

// admin returns what the server holds, for the role add.
func (s *stand) admin() *fleet {
	s.Helper()
	f := must.Get((&command{join: s.file, role: "add"}).dial(s.Context(), "admin", patience, func() {}))(s.T)
	s.Cleanup(f.Close)
	return f
}

// slotsInUse returns how many slots are in use, at all hosts and from all egresses.
func (w *worker) slotsInUse(t *testing.T) int {
	t.Helper()
	return len(must.Get(readAll(t.Context(), w.fleet, w.fleet.slots, jetstream.AllKeys))(t))
}

// eventually waits until is returns true.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
		<-time.After(20 * time.Millisecond)
	}
}
