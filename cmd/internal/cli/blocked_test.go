package cli_test

import (
	"context"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/ftpfetch/cmd/internal/cli"
	"example.com/ftpfetch/cmd/internal/cli/slots"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

// wall is a stream whose reader takes a number of writes and then stops reading.
type wall struct {
	mu      sync.Mutex
	takes   int
	reached func()
}

// newWall returns a wall that calls reached when a write blocks.
func newWall(takes int, reached func()) *wall {
	return &wall{takes: takes, reached: sync.OnceFunc(reached)}
}

func (w *wall) Write(p []byte) (int, error) {
	w.mu.Lock()
	w.takes--
	halt := w.takes < 0
	w.mu.Unlock()
	if halt {
		w.reached()
		select {}
	}
	return len(p), nil
}

// ends runs the command and returns its exit code. If the command does not return, ends fails the test and returns -1.
func ends(t *testing.T, ctx context.Context, args []string, stdio cli.IO) int {
	t.Helper()
	code := make(chan int, 1)
	go func() { code <- cli.Run(ctx, args, stdio) }()
	select {
	case c := <-code:
		return c
	case <-time.After(time.Minute):
		stacks := make([]byte, 1<<20)
		t.Errorf("%q does not end:\n%s", args, stacks[:runtime.Stack(stacks, true)])
		return -1
	}
}

// limit is a --max-time that every stage outlasts.
const limit = "100ms"

// ending is a way to end a run that has reached its stage.
type ending struct {
	name string
	args []string
	code int
	with os.Signal // nil: the arguments end it
}

var endings = []ending{
	{"SIGINT", nil, 130, syscall.SIGINT},
	{"SIGTERM", nil, 143, syscall.SIGTERM},
	{"SIGHUP", nil, 129, syscall.SIGHUP},
	{"max-time", []string{"--max-time", limit}, 28, nil},
}

// begin returns the context of a run and the function that ends it as e says.
func (e ending) begin(t *testing.T) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(t.Context())
	return ctx, func() {
		if e.with != nil {
			cancel(&cli.SignalError{Signal: e.with})
		}
	}
}

// stage is a place where a run waits until it is ended.
type stage struct {
	name string
	// set prepares a run that calls reached when it gets there.
	set func(t *testing.T, reached func()) (args []string, in io.Reader)
}

// at sets up a server that falls silent after actions, its answer to verb. An empty verb is the greeting.
func at(path string, args []string, verb string, actions ...testserver.Action) func(*testing.T, func()) ([]string, io.Reader) {
	return func(t *testing.T, reached func()) ([]string, io.Reader) {
		actions := slices.Concat(actions, []testserver.Action{ftptest.Call(reached), testserver.EndControl(testserver.Stalled)})
		honest := testserver.Honest("contents")
		if verb == "" {
			return append(args, testserver.New(t, nil, honest, testserver.On("", actions...)).URL(path)), nil
		}
		return append(args, testserver.New(t, nil, honest.With(verb, actions...)).URL(path)), nil
	}
}

// silent returns the address of a listener that accepts a connection and says nothing.
func silent(t *testing.T, reached func()) string {
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { l.Close() })
	go func() {
		if conn, err := l.Accept(); err == nil {
			reached()
			_, _ = io.Copy(io.Discard, conn)
			conn.Close()
		}
	}()
	return l.Addr().String()
}

// endless is an input that never ends.
type endless struct{ reached func() }

func (e endless) Read([]byte) (int, error) { e.reached(); select {} }

var (
	opened = testserver.Reply("150 Here it comes.")
	some   = testserver.Data("con")
	stages = []stage{
		{"greeting", at("/f", nil, "")},
		{"TLS handshake", at("/f", []string{"--tls", "implicit"}, "")},
		{"AUTH", at("/f", []string{"--tls", "explicit"}, "AUTH")},
		{"TLS handshake after AUTH", at("/f", []string{"--tls", "explicit"}, "AUTH", testserver.Reply("234 Proceed."))},
		{"SOCKS handshake", func(t *testing.T, reached func()) ([]string, io.Reader) {
			return []string{"--proxy", "socks5://" + silent(t, reached), "ftp://ftp.test/f"}, nil
		}},
		{"CONNECT", func(t *testing.T, reached func()) ([]string, io.Reader) {
			return []string{"--proxy", "http://" + silent(t, reached), "ftp://ftp.test/f"}, nil
		}},
		{"TLS handshake of a proxy", func(t *testing.T, reached func()) ([]string, io.Reader) {
			return []string{"--proxy", "https://" + silent(t, reached), "ftp://ftp.test/f"}, nil
		}},
		{"USER", at("/f", nil, "USER")},
		{"PASS", at("/f", nil, "PASS")},
		{"CWD", at("/d/f", nil, "CWD")},
		{"TYPE", at("/f", nil, "TYPE")},
		{"SIZE", at("/f", nil, "SIZE")},
		{"MDTM", at("/f", nil, "MDTM")},
		{"EPSV", at("/f", nil, "EPSV")},
		{"RETR", at("/f", nil, "RETR")},
		{"active data connection", func(t *testing.T, reached func()) ([]string, io.Reader) {
			s := testserver.New(t, nil, testserver.Honest("contents").With("EPRT", testserver.Reply("200 Done.")).
				With("RETR", opened, ftptest.Call(reached), testserver.EndControl(testserver.Stalled)))
			return []string{"--mode", "active", s.URL("/f")}, nil
		}},
		{"TLS handshake of data", at("/f", []string{"--tls", "explicit", "--insecure"}, "RETR", opened)},
		{"data", at("/f", nil, "RETR", opened, some)},
		{"data in ASCII type", at("/f;type=a", nil, "RETR", opened, some)},
		{"data to standard output", at("/f", []string{"-o", "-"}, "RETR", opened, some)},
		{"data in two segments", at("/f", []string{"-s", "2"}, "RETR", opened, some)},
		{"final reply", at("/f", nil, "RETR", opened, testserver.Data("contents", testserver.Closed))},
		{"NLST", at("/", nil, "NLST")},
		{"listing", at("/", nil, "NLST", opened, some)},
		{"list of digests", at("/f", []string{"--verify"}, "NLST", opened)},
		{"retry pause", func(t *testing.T, reached func()) ([]string, io.Reader) {
			s := testserver.New(t, nil, testserver.Honest("contents").With("RETR", ftptest.Call(reached), testserver.Reply("450 Busy")))
			return []string{"--retries", "50", s.URL("/f")}, nil
		}},
		{"list on standard input", func(t *testing.T, reached func()) ([]string, io.Reader) {
			return []string{"-i", "-"}, endless{reached}
		}},
		{"password on standard input", func(t *testing.T, reached func()) ([]string, io.Reader) {
			s := testserver.New(t, nil, testserver.Honest("contents"))
			return []string{"-u", "me", "--password-stdin", s.URL("/f")}, endless{reached}
		}},
	}
)

// TestEveryStageEnds checks that every signal and --max-time end a run at every stage, even if the message about it has no
// reader.
func TestEveryStageEnds(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	defer all.Wait()
	nth := 0
	for _, at := range stages {
		for _, e := range endings {
			if e.with == nil && at.name == "list on standard input" {
				continue // --max-time applies to a URL, and there is none yet
			}
			for _, blocked := range []bool{false, true} {
				if nth++; nth%night.Or(3, 1) != 0 {
					continue
				}
				ctx, end := e.begin(t)
				args, in := at.set(t, end)
				if url := args[len(args)-1]; !slices.Contains(args, "-o") && !strings.HasSuffix(url, "/") {
					args = append(args, "-d", t.TempDir())
				}
				var stderr io.Writer = io.Discard
				if blocked {
					stderr = newWall(0, end) // the warning about an unchecked certificate comes first
				}
				all.Go(func() {
					got := ends(t, ctx, slices.Concat(e.args, []string{"-q"}, args), cli.IO{In: in, Out: io.Discard, Err: stderr})
					if got != e.code {
						t.Errorf("%s, %s, standard error blocked %v: exit %d, want %d", at.name, e.name, blocked, got, e.code)
					}
				})
			}
		}
	}
}

// TestNameResolutionEnds checks that every ending ends a run whose resolver never answers.
func TestNameResolutionEnds(t *testing.T) {
	before := net.DefaultResolver
	defer func() { net.DefaultResolver = before }()
	for _, e := range endings {
		ctx, end := e.begin(t)
		net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			end()
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		args := append(e.args, "-d", t.TempDir(), "ftp://ftp.test/f")
		if got := ends(t, ctx, args, cli.IO{Out: io.Discard, Err: io.Discard}); got != e.code {
			t.Errorf("%s: exit %d, want %d", e.name, got, e.code)
		}
	}
}

// TestBlockedStreams checks that every ending ends a run whose output is blocked.
func TestBlockedStreams(t *testing.T) {
	t.Parallel()
	file := strings.Repeat("0123456789abcdef", 1<<16)
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/d/f": file}})
	missing := testserver.New(t, nil, testserver.Honest("").With("RETR", testserver.Reply("450 Busy")))
	dir, f := s.URL("/d/"), s.URL("/d/f")
	tests := []struct {
		stdout bool // standard output is blocked, not standard error
		args   []string
	}{
		{true, []string{"--help"}},
		{true, []string{"--help=man"}},
		{true, []string{"--version"}},
		{true, []string{"--help=bash"}},
		{true, []string{"--dry-run", f}},
		{true, []string{dir}},
		{true, []string{"--json", dir}},
		{true, []string{"-o", "-", f}},
		{true, []string{"-o", "-", f, f}},
		{true, []string{"-o", "-", "--progress", "json", f}},
		{true, []string{"-o", "-", "--progress", "bar", f}},
		{true, []string{"-o", "-", "--limit-rate", "1G", f}},
		{true, []string{"-o", "-", "--checksum", "crc32:00000000", f}},
		{true, []string{"-o", "-", f + ";type=a"}},
		{false, []string{"-v", dir}},
		{false, []string{"-v", "-o", "-", f}},
		{false, []string{"--retries", "50", missing.URL("/f")}},
		{false, []string{"--retries", "50", "--progress", "json", missing.URL("/f")}},
		{false, []string{"--insecure", "--tls", "try", "--retries", "50", missing.URL("/f")}},
	}
	var all sync.WaitGroup
	defer all.Wait()
	for _, tt := range tests {
		for _, e := range endings {
			ctx, end := e.begin(t)
			stdio := cli.IO{Out: io.Discard, Err: io.Discard}
			if tt.stdout {
				stdio.Out = newWall(0, end)
			} else {
				stdio.Err = newWall(0, end)
			}
			args := slices.Concat(e.args, tt.args)
			if !tt.stdout && !slices.Contains(args, "-o") {
				args = append(args, "-d", t.TempDir())
			}
			all.Go(func() {
				if got := ends(t, ctx, args, stdio); got != e.code {
					t.Errorf("%q: %s: exit %d, want %d", tt.args, e.name, got, e.code)
				}
			})
		}
	}
}

// heard is called with what is written to it.
type heard func(text string)

func (h heard) Write(p []byte) (int, error) { h(string(p)); return len(p), nil }

// TestShared lets a command wait for a connection that another command holds. The command reports the wait once. That
// the wait does not count as connection time is shown by TestAdmit of ftpexec.
func TestShared(t *testing.T) {
	t.Parallel()
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/a": "contents", "/b": "contents"}})
	var other ftpexec.Client
	must.Get(slots.Share(&other, 1, nil))(t)
	release, said := must.Get(other.Admit(t.Context(), s.Addr()))(t), 0
	err := heard(func(text string) {
		if strings.HasPrefix(text, "waiting for a shared connection to "+s.Addr()+", ") && strings.HasSuffix(text, " s so far; process "+strconv.Itoa(os.Getpid())+" has one\n") {
			release()
			said++
		}
	})
	args := []string{"--shared", "--per-host", "1", "-j", "2", "-d", t.TempDir(), s.URL("/a"), s.URL("/b")}
	if code := cli.Run(t.Context(), args, cli.IO{Out: err, Err: err}); code != 0 || s.Connections() != 1 || said != 1 {
		t.Errorf("exit code %d, %d connections, said %d times", code, s.Connections(), said)
	}
}
