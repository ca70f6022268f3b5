//go:build interop

package interop

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/ftpexec/ftpfs"
	"example.com/ftpfetch/urlparse"
)

// capped are servers that bear three connections from one address: the one that saw the server start may still count.
var capped = map[Kind]func(program) (program, error){
	Vsftpd: func(p program) (program, error) {
		conf, err := os.OpenFile(p.argv[1], os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return p, err
		}
		defer conf.Close()
		_, err = conf.WriteString("max_per_ip=3\n")
		return p, err
	},
	PureFTPd: func(p program) (program, error) {
		p.argv = append(p.argv, "-C", "3")
		return p, nil
	},
}

// newCapped starts one of capped.
func newCapped(t *testing.T, kind Kind) *Server {
	t.Helper()
	f, err := lookup(kind)
	if err != nil {
		t.Fatal(err)
	}
	configure := f.configure
	f.configure = func(st *site) (program, error) {
		p, err := configure(st)
		if err != nil {
			return p, err
		}
		return capped[kind](p)
	}
	var s *Server
	for range portAttempts {
		if s, err = startOnce(testContext(t), f, tree, Options{}); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

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

// On a server that bears few connections, a walk may read every file, and eight goroutines may read at once.
func TestFSCapped(t *testing.T) {
	t.Parallel()
	for kind := range capped {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			c := newClient(t)
			c.MaxConns = 2
			walkOpen(t, openFS(t, c, newCapped(t, kind).URL("/pub/odd/")))
			readTogether(t, openFS(t, c, newCapped(t, kind).URL("/pub/")))
		})
	}
}

// walkOpen opens and reads every file that it finds.
func walkOpen(t *testing.T, d fs.FS) {
	t.Helper()
	files := 0
	err := fs.WalkDir(d, ".", func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, ftpexec.ErrLine) { // a name that io/fs does not allow
			return nil
		}
		if err != nil || !e.Type().IsRegular() || path == backslashName {
			return err
		}
		f, err := d.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		text, err := io.ReadAll(f)
		wantFile(t, "pub/odd/"+path, string(text))
		files++
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 5 {
		t.Errorf("walked over %d files", files)
	}
}

// readTogether reads files in eight goroutines.
func readTogether(t *testing.T, d fs.FS) {
	t.Helper()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 3 {
				path := []string{"text.txt", "big.bin", "a/b/c/file.txt"}[i%3]
				f, err := d.Open(path)
				if err != nil {
					t.Error(err)
					return
				}
				var text strings.Builder
				if _, err := io.Copy(&text, f); err != nil {
					t.Error(err)
				}
				f.Close()
				wantFile(t, "pub/"+path, text.String())
			}
		})
	}
	all.Wait()
}
