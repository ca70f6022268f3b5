//go:build interop

package interop

import (
	"context"
	"crypto/tls"
	"errors"
	"slices"
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

// versions are the TLS versions that a test may limit a client to.
var versions = map[string]uint16{"TLS 1.2": tls.VersionTLS12, "TLS 1.3": tls.VersionTLS13}

// vsftpd and proftpd refuse a data connection that does not resume the control connection's TLS session, and they do so
// after the 150 reply: such a client would see an empty file that ends cleanly, and a negative final reply. If a server
// has TLS, trying it is the same as requiring it. Without the throwaway authority the client must not trust the
// certificate.
func TestTLS(t *testing.T) {
	forEachTLSServer(t, func(t *testing.T, s *Server) {
		for name, version := range versions {
			t.Run(name, func(t *testing.T) {
				bothWays(t, s, func(t *testing.T, s *Server, c *ftpexec.Client) {
					c.TLSConfig = &tls.Config{RootCAs: s.RootCAs, MinVersion: version, MaxVersion: version}
					scheme := "ftpes://"
					if version == tls.VersionTLS12 {
						c.TryTLS, scheme = true, "ftp://"
					}
					inSession(testContext(t), t, c, scheme+s.Addr, sessionPaths())
					listUnderTLS(t, c, scheme+s.Addr)
					wantNote(t, c, "ftpes://"+UserName+":"+Escape(UserPassword)+"@"+s.Addr+"/"+homeFile)
				})
			})
		}
		if _, _, err := fetch(testContext(t), newClient(t), "ftpes://"+s.Addr+"/pub/text.txt"); !errors.Is(err, ftpexec.ErrTLS) {
			t.Errorf("without the authority: got %v, want %v", err, ftpexec.ErrTLS)
		}
	})
}

// listUnderTLS lists a directory twice: after CWD, and by its name.
func listUnderTLS(t *testing.T, c *ftpexec.Client, base string) {
	t.Helper()
	for _, path := range []string{"/pub/a/b/", "/pub/a/b;type=d"} {
		if got, err := list(testContext(t), c, base+path); err != nil || !slices.Equal(got, []string{"c"}) {
			t.Errorf("%s: got %q, %v, want c alone", path, got, err)
		}
	}
}

// If a server has no TLS, it cannot serve an ftpes URL, and a session that tries TLS continues unencrypted on the same
// connection, whatever the server's reply to AUTH.
func TestTryTLSUnencrypted(t *testing.T) {
	forEachClient(t, func(t *testing.T, s *Server, c *ftpexec.Client) {
		want := ftpexec.ErrRefused
		if s.flavour.takesAUTH { // then nothing is sent unencrypted
			want = ftpexec.ErrTLS
		}
		if _, _, err := fetch(testContext(t), c, "ftpes://"+s.Addr+"/pub/text.txt"); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
		c = newClient(t)
		c.TryTLS = true
		if s.flavour.takesAUTH {
			if _, _, err := fetch(testContext(t), c, s.URL("/pub/text.txt")); !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
			return
		}
		connections, unencrypted := countConnections(c), false
		trace := c.Trace
		c.Trace = func(e ftpexec.Event) {
			unencrypted = unencrypted || e.Mark == "*" && strings.Contains(e.Text, "unencrypted")
			trace(e)
		}
		inSession(testContext(t), t, c, s.URL(""), sessionPaths())
		if want := s.logins(c); *connections != want || !unencrypted {
			t.Errorf("%d logins, want %d; noted that it is unencrypted: %v", *connections, want, unencrypted)
		}
	})
}
