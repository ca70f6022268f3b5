//go:build interop

package interop

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/ftpfetch/ftpexec"
)

// tree is what every server of the tests serves.
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
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// forEachServer runs a subtest on every server, and starts a server for each.
// The subtests run in parallel, because they mostly wait for servers.
func forEachServer(t *testing.T, test func(t *testing.T, s *Server)) {
	t.Helper()
	t.Parallel()
	for _, f := range servers {
		t.Run(string(f.kind), func(t *testing.T) {
			t.Parallel()
			test(t, New(t, f.kind, tree, Options{}))
		})
	}
}

// forEachBehindSquid is like forEachServer, for the servers whose replies squid
// understands.
func forEachBehindSquid(t *testing.T, test func(t *testing.T, s *Server)) {
	t.Helper()
	t.Parallel()
	for _, f := range servers {
		if !f.noSquid {
			t.Run(string(f.kind), func(t *testing.T) {
				t.Parallel()
				test(t, New(t, f.kind, tree, Options{}))
			})
		}
	}
}

// forEachTLSServer is like forEachServer, for the servers with explicit TLS.
func forEachTLSServer(t *testing.T, test func(t *testing.T, s *Server)) {
	t.Helper()
	t.Parallel()
	for _, f := range servers {
		if f.tls {
			t.Run(string(f.kind), func(t *testing.T) {
				t.Parallel()
				test(t, New(t, f.kind, tree, Options{TLS: true}))
			})
		}
	}
}

// forEachClient is like forEachServer, in parallel with a client that sends
// ahead and with one that does not.
func forEachClient(t *testing.T, test func(t *testing.T, s *Server, c *ftpexec.Client)) {
	t.Helper()
	forEachServer(t, func(t *testing.T, s *Server) { bothWays(t, s, test) })
}

// forEachUserClient is like forEachClient, for the servers with a named user.
func forEachUserClient(t *testing.T, test func(t *testing.T, s *Server, c *ftpexec.Client)) {
	t.Helper()
	t.Parallel()
	for _, f := range servers {
		if !f.noUser {
			t.Run(string(f.kind), func(t *testing.T) {
				t.Parallel()
				bothWays(t, New(t, f.kind, tree, Options{}), test)
			})
		}
	}
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

// testTimeout bounds every test. It is long enough to tell a hanging server from
// a busy machine; pure-ftpd is slow to refuse a password.
const testTimeout = 5 * time.Minute

func newClient(t *testing.T) *ftpexec.Client {
	t.Helper()
	c := &ftpexec.Client{}
	dialogue := &dialogue{}
	c.Trace = dialogue.add
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("dialogue:\n%s", dialogue)
		}
	})
	return c
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	t.Cleanup(cancel)
	return ctx
}
