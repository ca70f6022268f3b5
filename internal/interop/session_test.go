//go:build interop

package interop

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/ftpfetch/ftpexec"
)

// transfers is how many files one session retrieves in a row: some servers give up on a TLS session after a few.
const transfers = 8

// inSession retrieves one url-path after another in one session.
func inSession(ctx context.Context, t *testing.T, c *ftpexec.Client, base string, paths []string) {
	t.Helper()
	c.MaxIdle = 1
	defer c.CloseIdleConnections()
	for _, path := range paths {
		_, got, err := fetch(ctx, c, base+path)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		wantFile(t, strings.Trim(path, "/"), got)
	}
}

// sessionPaths returns paths that go down, stay, go up and aside, so that the working directory of one file is wrong for
// the next.
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

// logins returns how many connections a session needs: one more if the replies to what is sent ahead on the first are in
// disorder.
func (s *Server) logins(c *ftpexec.Client) int {
	if s.flavour.disorder && !c.NoPipelining {
		return 2
	}
	return 1
}

// countConnections counts the USER commands that c sends. One goroutine must use both the session and the count.
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

// keeper knows the named user's password and counts how often it is asked.
type keeper struct{ asked atomic.Int32 }

func (k *keeper) supply(context.Context, string, string, string) (string, error) {
	k.asked.Add(1)
	return UserPassword, nil
}

func TestLogin(t *testing.T) {
	const wrong = "not the one"
	forEach(t, false, func(f flavour) bool { return !f.noUser }, func(t *testing.T, s *Server) {
		bothWays(t, s, func(t *testing.T, s *Server, c *ftpexec.Client) {
			k := &keeper{}
			c.Credentials = k.supply
			wantNote(t, c, "ftp://"+UserName+"@"+s.Addr+"/"+homeFile)
			if got, want := k.asked.Load(), int32(s.logins(c)); got != want {
				t.Errorf("asked for the password %d times, want %d", got, want)
			}
			wantNote(t, c, s.UserURL(UserPassword, "/"+homeFile))
			_, _, err := fetch(testContext(t), c, s.UserURL(wrong, "/"+homeFile))
			if !errors.Is(err, ftpexec.ErrLogin) || strings.Contains(err.Error(), wrong) || strings.Contains(err.Error(), Escape(wrong)) {
				t.Errorf("got %v, want %v without the password", err, ftpexec.ErrLogin)
			}
		})
	})
}

// wantNote retrieves the named user's one file.
func wantNote(t *testing.T, c *ftpexec.Client, url string) {
	t.Helper()
	if _, got, err := fetch(testContext(t), c, url); err != nil || got != homeText {
		t.Errorf("got %q, %v, want %q", got, err, homeText)
	}
}
