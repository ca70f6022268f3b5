//go:build interop

package interop

import (
	"context"
	"crypto/tls"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/urlparse"
)

// followed retrieves paths on one connection, and tells before the end of each
// that another one follows. It returns the commands after the first transfer.
func followed(ctx context.Context, t *testing.T, c *ftpexec.Client, base string, paths []string) []string {
	t.Helper()
	var sent []string
	trace := c.Trace
	c.Trace = func(e ftpexec.Event) {
		if e.Kind == ftpexec.EventCommand {
			sent = append(sent, e.Text)
		}
		trace(e)
	}
	c.MaxIdle = 1
	defer c.CloseIdleConnections()
	for i, path := range paths {
		u, err := urlparse.Parse(base + path)
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Do(ctx, &ftpexec.Request{URL: u, More: func() bool { return i < len(paths)-1 }})
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		got, err := readAll(r)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		wantFile(t, strings.Trim(path, "/"), got)
	}
	return sent
}

// wantFollowed checks that the files came over one connection, and that a
// refused early EPSV was not repeated and not replaced by PASV.
func wantFollowed(t *testing.T, s *Server, sent []string, files int) {
	t.Helper()
	count := func(verb string) (n int) {
		for _, line := range sent {
			if strings.HasPrefix(line, verb) {
				n++
			}
		}
		return n
	}
	verb := "EPSV"
	if s.Kind == Twisted { // it has no EPSV
		verb = "PASV"
		sent = slices.DeleteFunc(sent, func(line string) bool { return line == "EPSV" })
	}
	if n, both := count(verb), count("EPSV")+count("PASV"); count("USER") != s.logins(&ftpexec.Client{}) || both != n || n != files && n != files+1 {
		t.Errorf("%d logins, %d PASVs, %d EPSVs for %d files: %q", count("USER"), count("PASV"), n, files, sent)
	}
	accepted := count(verb) == files
	t.Logf("EPSV before the final reply: accepted %v", accepted)
	if first := slices.Index(sent, verb); accepted && !s.flavour.noFacts && sent[first+2] != verb { // without a SIZE nothing is sent ahead
		t.Errorf("EPSV was not sent ahead: %q", sent)
	}
}

// The next file's EPSV is sent before the final reply of the one before it,
// whatever the server makes of it.
func TestFollows(t *testing.T) {
	forEachServer(t, func(t *testing.T, s *Server) {
		wantFollowed(t, s, followed(testContext(t), t, newClient(t), s.URL(""), sessionPaths()), transfers)
	})
}

func TestFollowsUnderTLS(t *testing.T) {
	forEachTLSServer(t, func(t *testing.T, s *Server) {
		for name, version := range versions {
			t.Run(name, func(t *testing.T) {
				c := newClient(t)
				c.TLSConfig = &tls.Config{RootCAs: s.RootCAs, MinVersion: version, MaxVersion: version}
				wantFollowed(t, s, followed(testContext(t), t, c, "ftpes://"+s.Addr, sessionPaths()), transfers)
			})
		}
	})
}
