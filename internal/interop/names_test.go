//go:build interop

package interop

import (
	"errors"
	"slices"
	"testing"

	"example.com/ftpfetch/ftpexec"
)

// serves reports whether a server can serve an odd name at all.
func (s *Server) serves(name string) bool {
	return !slices.Contains(s.flavour.refuses, name)
}

// Every byte of a name can be written in a URL, and reaches the server as it is.
func TestOddNames(t *testing.T) {
	forEachClient(t, func(t *testing.T, s *Server, c *ftpexec.Client) {
		for _, name := range oddNames {
			retrieveOdd(t, s, c, name, "pub/odd/"+name, "/pub/odd/"+Escape(name))
		}
	})
}

// The same names as directories: CWD.
func TestOddDirectories(t *testing.T) {
	forEachClient(t, func(t *testing.T, s *Server, c *ftpexec.Client) {
		for _, name := range oddNames {
			retrieveOdd(t, s, c, name, "pub/odd-dirs/"+name+"/inside", "/pub/odd-dirs/"+Escape(name)+"/inside")
		}
	})
}

func retrieveOdd(t *testing.T, s *Server, c *ftpexec.Client, name, path, urlPath string) {
	t.Helper()
	_, got, err := fetch(testContext(t), c, s.URL(urlPath))
	if !s.serves(name) {
		if !refused(err) {
			t.Errorf("%q: got %v, want a refusal: this server cannot serve it", name, err)
		}
		return
	}
	if err != nil {
		t.Errorf("%q: %v", name, err)
		return
	}
	wantFile(t, path, got)
}

// refused reports whether err came with a permanent negative reply, or the server
// gave up (aioftp, with a name that is not UTF-8).
func refused(err error) bool {
	var e *ftpexec.Error
	return errors.As(err, &e) && e.Code/100 == 5 || errors.Is(err, ftpexec.ErrLost)
}
