//go:build interop

package interop

import (
	"strings"
	"testing"
	"testing/fstest"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/ftpexec/ftpfs"
	"example.com/ftpfetch/urlparse"
)

func openFS(t *testing.T, c *ftpexec.Client, url string) *ftpfs.FS {
	t.Helper()
	u, err := urlparse.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	d, err := ftpfs.New(testContext(t), c, u)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Every server's files are a file system by the rules of io/fs.
func TestFS(t *testing.T) {
	forEachClient(t, func(t *testing.T, s *Server, c *ftpexec.Client) {
		d := openFS(t, c, s.URL("/pub/a/"))
		err := fstest.TestFS(d, "b/c/file.txt")
		if s.flavour.noRest { // its files do not seek
			if err == nil || !strings.Contains(err.Error(), ftpexec.ErrNoRestart.Error()) {
				t.Errorf("got %v, want %v", err, ftpexec.ErrNoRestart)
			}
			return
		}
		if err != nil {
			t.Error(err)
		}
	})
}
