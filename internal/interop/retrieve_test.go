//go:build interop

package interop

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
)

// fetch retrieves a whole file.
func fetch(ctx context.Context, c *ftpexec.Client, url string) (*ftpexec.Response, string, error) {
	r, err := c.Get(ctx, url)
	if err != nil {
		return nil, "", err
	}
	text, err := readAll(r)
	return r, text, err
}

func readAll(r *ftpexec.Response) (string, error) {
	var b bytes.Buffer
	_, err := io.Copy(&b, r.Body)
	return b.String(), errors.Join(err, r.Body.Close())
}

// wantFile compares got with the tree's file path.
func wantFile(t *testing.T, path, got string) {
	t.Helper()
	want, ok := tree.Files[path]
	if !ok {
		t.Fatalf("no file %q in the tree", path)
	}
	if got != want {
		t.Errorf("%q: got %s, want %s", path, digest(got), digest(want))
	}
}

func digest(contents string) string {
	if len(contents) < 100 {
		return fmt.Sprintf("%q", contents)
	}
	return fmt.Sprintf("%d bytes, SHA-256 %x", len(contents), sha256.Sum256([]byte(contents)))
}

func TestRetrieve(t *testing.T) {
	forEachClient(t, func(t *testing.T, s *Server, c *ftpexec.Client) {
		for _, path := range []string{"pub/a/b/c/file.txt", "pub/big.bin", "pub/none.bin", "pub/text.txt"} {
			r, got, err := fetch(testContext(t), c, s.URL("/"+path+";type=i"))
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			wantFile(t, path, got)
			size, at := int64(len(tree.Files[path])), modTime
			if s.flavour.noFacts {
				size, at = -1, time.Time{}
			}
			if r.Size != size || !r.ModTime.Equal(at) {
				t.Errorf("%s: got %d bytes, %v, want %d, %v", path, r.Size, r.ModTime, size, at)
			}
		}
	})
}

// The root that %2F names (RFC 1738, section 3.2.2) is the public tree for
// anonymous users, who log in to it.
func TestRetrieveFromRoot(t *testing.T) {
	forEachClient(t, func(t *testing.T, s *Server, c *ftpexec.Client) {
		_, got, err := fetch(testContext(t), c, s.URL("/%2Fpub/a/b%2Fc/file.txt"))
		if err != nil {
			t.Fatal(err)
		}
		wantFile(t, "pub/a/b/c/file.txt", got)
	})
}

// vsftpd sends a text as it is on its disk, the others end its lines with CRLF;
// the client gets the same text.
func TestRetrieveText(t *testing.T) {
	forEachClient(t, func(t *testing.T, s *Server, c *ftpexec.Client) {
		c.Timeout = hangTimeout
		r, got, err := fetch(testContext(t), c, s.URL("/pub/text.txt;type=a"))
		if s.flavour.noASCII {
			if !errors.Is(err, ftpexec.ErrTimeout) {
				t.Errorf("got %q, %v, want %v", got, err, ftpexec.ErrTimeout)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		wantFile(t, "pub/text.txt", got)
		if r.Size != -1 {
			t.Errorf("Size: got %d, want -1", r.Size)
		}
	})
}

// opensDirectories are the servers that tell the size of a directory, so it looks
// like a file that is there, and what follows.
var opensDirectories = map[Kind]error{Twisted: ftpexec.ErrRefused, Globus: ftpexec.ErrTruncated}

func TestRetrieveRefused(t *testing.T) {
	tests := []struct {
		path string
		want error
	}{
		{"/pub/absent.txt", ftpexec.ErrNotFound},
		{"/pub/a", ftpexec.ErrNotFound}, // a directory: no file of that name
		{"/pub/absent/file.txt", ftpexec.ErrRefused},
		{"/pub/text.txt/file.txt", ftpexec.ErrRefused},
	}
	forEachClient(t, func(t *testing.T, s *Server, c *ftpexec.Client) {
		for _, test := range tests {
			_, _, err := fetch(testContext(t), c, s.URL(test.path))
			if want := opensDirectories[s.Kind]; want != nil && test.path == "/pub/a" {
				test.want = want
			}
			if !errors.Is(err, test.want) {
				t.Errorf("%s: got %v, want %v", test.path, err, test.want)
			}
		}
	})
}

// An empty segment is a CWD with a null argument. Some servers change to the
// home directory then, others refuse it.
func TestNullSegment(t *testing.T) {
	goesHome := map[Kind]bool{PureFTPd: true, Pyftpdlib: true, Twisted: true, Aioftp: true, Library: true}
	forEachClient(t, func(t *testing.T, s *Server, c *ftpexec.Client) {
		_, got, err := fetch(testContext(t), c, s.URL("//pub/text.txt"))
		if !goesHome[s.Kind] {
			if !errors.Is(err, ftpexec.ErrRefused) {
				t.Errorf("got %v, want %v", err, ftpexec.ErrRefused)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		wantFile(t, "pub/text.txt", got)
	})
}

// Every kind of data connection delivers the same bytes.
func TestDataConnections(t *testing.T) {
	ways := map[string]func(*ftpexec.Client){
		"EPSV":   func(*ftpexec.Client) {},
		"PASV":   func(c *ftpexec.Client) { c.NoEPSV = true },
		"active": func(c *ftpexec.Client) { c.Active = true },
	}
	forEachClient(t, func(t *testing.T, s *Server, c *ftpexec.Client) {
		for name, set := range ways {
			c := &ftpexec.Client{NoPipelining: c.NoPipelining, Trace: c.Trace}
			set(c)
			_, got, err := fetch(testContext(t), c, s.URL("/pub/big.bin"))
			if c.Active && s.flavour.noActive {
				if !errors.Is(err, ftpexec.ErrRefused) {
					t.Errorf("%s: got %v, want %v", name, err, ftpexec.ErrRefused)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			wantFile(t, "pub/big.bin", got)
		}
	})
}
