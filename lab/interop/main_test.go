//go:build interop

package interop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/urlparse"
)

// tree is the tree that every server of the tests serves.
var tree *Tree

func TestMain(m *testing.M) {
	if os.Getenv(libraryConf) != "" {
		fmt.Fprintln(os.Stderr, serveLibrary())
		os.Exit(1)
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := publicTempDir("ftpfetch-interop-tree-")
	if err == nil {
		defer os.RemoveAll(dir)
		tree, err = NewTree(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	binary = filepath.Join(dir, "ftpfetch")
	code := m.Run()
	for _, start := range shared.started {
		if s, err := start(); err == nil {
			if err := s.Close(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				code = 1
			}
		}
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

var (
	binary  string // the command, once build has made it
	compile = sync.OnceValues(func() ([]byte, error) {
		return exec.Command("go", "build", "-o", binary, "example.com/ftpfetch/cmd/ftpfetch").CombinedOutput()
	})
)

// build compiles the command and returns its path.
func build(t *testing.T) string {
	t.Helper()
	if out, err := compile(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return binary
}

// shared are the servers and proxies of the tests that do not change them.
var shared = struct {
	sync.Mutex
	started map[string]func() (running, error)
}{started: map[string]func() (running, error){}}

type running interface {
	log() string
	Close() error
}

// share returns what start returned for the key, and calls start the first time. It shows the log of that server if the
// test fails.
func share[S running](t *testing.T, key string, start func(ctx context.Context) (S, error)) S {
	t.Helper()
	shared.Lock()
	if shared.started[key] == nil {
		shared.started[key] = sync.OnceValues(func() (running, error) { return start(context.Background()) })
	}
	once := shared.started[key]
	shared.Unlock()
	s := must.Get(once())(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of %s:\n%s", key, s.log())
		}
	})
	return s.(S)
}

// sharedServer returns a server that other tests use too.
func sharedServer(t *testing.T, kind Kind, tls bool) *Server {
	t.Helper()
	return share(t, fmt.Sprint(kind, " TLS ", tls), func(ctx context.Context) (*Server, error) { return Start(ctx, kind, tree, Options{TLS: tls}) })
}

// forEach runs a subtest on every shared server for which has returns true. The subtests run in parallel, because they
// mostly wait for servers.
func forEach(t *testing.T, tls bool, has func(f flavour) bool, test func(t *testing.T, s *Server)) {
	t.Helper()
	t.Parallel()
	for _, f := range servers {
		if has(f) {
			t.Run(string(f.kind), func(t *testing.T) {
				t.Parallel()
				test(t, sharedServer(t, f.kind, tls))
			})
		}
	}
}

func forEachServer(t *testing.T, test func(t *testing.T, s *Server)) {
	t.Helper()
	forEach(t, false, func(flavour) bool { return true }, test)
}

// forEachBehindSquid runs a subtest on every server whose replies squid understands.
func forEachBehindSquid(t *testing.T, test func(t *testing.T, s *Server)) {
	t.Helper()
	forEach(t, false, func(f flavour) bool { return !f.noSquid }, test)
}

// forEachTLSServer runs a subtest on every server with explicit TLS.
func forEachTLSServer(t *testing.T, test func(t *testing.T, s *Server)) {
	t.Helper()
	forEach(t, true, func(f flavour) bool { return f.tls }, test)
}

// forEachClient runs subtests on every server in parallel, with a client that sends commands ahead and with one that
// does not.
func forEachClient(t *testing.T, test func(t *testing.T, s *Server, c *ftpexec.Client)) {
	t.Helper()
	forEachServer(t, func(t *testing.T, s *Server) { bothWays(t, s, test) })
}

// forEachOn runs a subtest on every server with a tree of its own.
func forEachOn(t *testing.T, tree *Tree, test func(t *testing.T, s *Server)) {
	t.Helper()
	t.Parallel()
	for _, f := range servers {
		t.Run(string(f.kind), func(t *testing.T) {
			t.Parallel()
			test(t, New(t, f.kind, tree, Options{}))
		})
	}
}

// plantTree returns a tree with additional files.
func plantTree(t *testing.T, files map[string]string) *Tree {
	t.Helper()
	dir := must.Get(publicTempDir("ftpfetch-interop-tree-"))(t)
	t.Cleanup(func() { os.RemoveAll(dir) })
	tree, err := NewTree(dir)
	for path, text := range files {
		err = errors.Join(err, writeFile(tree.Public+"/"+path, text))
	}
	must.Do(t, err)
	return tree
}

func bothWays(t *testing.T, s *Server, test func(t *testing.T, s *Server, c *ftpexec.Client)) {
	t.Helper()
	for name, noPipelining := range map[string]bool{"pipelining": false, "one at a time": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t)
			c.NoPipelining = noPipelining
			test(t, s, c)
		})
	}
}

// testTimeout bounds every test. It is long enough to tell a hanging server from a busy machine; pure-ftpd is slow to
// refuse a password.
const testTimeout = 5 * time.Minute

func newClient(t *testing.T) *ftpexec.Client {
	t.Helper()
	c := &ftpexec.Client{}
	var mu sync.Mutex
	var dialogue strings.Builder
	add := func(format string, what ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(&dialogue, format+"\n", what...)
	}
	c.Trace = &ftpexec.Trace{
		Command: func(e ftpexec.CommandInfo) { add("%s %q", map[bool]string{false: ">", true: ">>"}[e.Joined], e.Text) },
		Reply:   func(e ftpexec.ReplyInfo) { add("< %q", e.Lines) },
		Note:    func(e ftpexec.NoteInfo) { add("* %q", e.Text) },
	}
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		if t.Failed() {
			t.Logf("dialogue:\n%s", &dialogue)
		}
	})
	return c
}

func parse(t testing.TB, url string) *urlparse.URL {
	t.Helper()
	u := must.Get(urlparse.Parse(url))(t)
	return u
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	t.Cleanup(cancel)
	return ctx
}
