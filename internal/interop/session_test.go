//go:build interop

package interop

import (
	"context"
	"strings"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/urlparse"
)

// transfers is how many files one session retrieves in a row: some servers give
// up on a TLS session after a few.
const transfers = 8

// inSession retrieves one url-path after another in one session.
func inSession(ctx context.Context, t *testing.T, c *ftpexec.Client, base string, paths []string) {
	t.Helper()
	c.MaxIdle = 1
	defer c.CloseIdleConnections()
	for _, path := range paths {
		u, err := urlparse.Parse(base + path)
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Do(ctx, &ftpexec.Request{URL: u})
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		got, err := readAll(r)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		wantFile(t, strings.Trim(path, "/"), got)
	}
}

// sessionPaths returns paths that go down, stay, go up and aside, so that the
// working directory of one file is wrong for the next.
func sessionPaths() []string {
	paths := []string{
		"/pub/text.txt", "/pub/none.bin", "/pub/a/b/c/file.txt", "/pub/text.txt",
		"/pub/odd/-dash", "/pub/a/b/c/file.txt",
	}
	for len(paths) < transfers {
		paths = append(paths, "/pub/big.bin")
	}
	return paths
}

func TestSession(t *testing.T) {
	forEachClient(t, func(t *testing.T, s *Server, c *ftpexec.Client) {
		connections := countConnections(c)
		inSession(testContext(t), t, c, s.URL(""), sessionPaths())
		if want := s.logins(c); *connections != want {
			t.Errorf("%d logins for %d files from one server, want %d", *connections, transfers, want)
		}
	})
}

// logins returns how many connections a session needs: one more if the replies
// to what is sent ahead on the first are in disorder.
func (s *Server) logins(c *ftpexec.Client) int {
	if s.flavour.disorder && !c.NoPipelining {
		return 2
	}
	return 1
}

// countConnections counts the USER commands that c sends. One goroutine must use
// both the session and the count.
func countConnections(c *ftpexec.Client) *int {
	n, trace := new(int), c.Trace
	c.Trace = func(e ftpexec.Event) {
		if strings.HasPrefix(e.Mark, ">") && strings.HasPrefix(e.Text, "USER ") {
			*n++
		}
		trace(e)
	}
	return n
}
