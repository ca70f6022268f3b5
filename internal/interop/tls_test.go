//go:build interop

package interop

import (
	"crypto/tls"
	"errors"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/ftpexec"
)

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
