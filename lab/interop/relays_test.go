//go:build interop

package interop

import (
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/urlparse"
)

// TestOthers fetches files from servers and through relays that lose the order of replies, or have codes of their own
// for what is not there. Every second name of the list is missing. The list goes over one Client, as in a run.
func TestOthers(t *testing.T) {
	for _, f := range others {
		t.Run(string(f.kind), func(t *testing.T) {
			t.Parallel()
			o := Options{}
			if f.upstream {
				o.Upstream = sharedServer(t, Proftpd, false).Addr
			}
			s := New(t, f.kind, tree, o)
			fetchAmongMissing(t, parse(t, s.URL("/pub/")), map[string]string{"text.txt": "", "big.bin": "", "none.bin": ""})
			if f.upstream && !f.named {
				u := parse(t, s.URL("/"+path.Dir(homeFile)+"/"))
				u.User = url.UserPassword(UserName, UserPassword)
				fetchAmongMissing(t, u, map[string]string{path.Base(homeFile): homeText})
			}
			c := newClient(t)
			if f.kind == Nodeftpd { // it sends nothing of a directory, and does not say so
				c.Timeout = 3 * time.Second
			}
			var e *ftpexec.Error
			_, err := retrieve(t, c, parse(t, s.URL("/pub")))
			if !errors.As(err, &e) || ftpexec.Retryable(err) || !f.upstream && !errors.Is(err, ftpexec.ErrIsDirectory) {
				t.Errorf("a directory as a file: %v", err)
			}
		})
	}
}

// fetchAmongMissing fetches files of a directory, with their contents or "" for those of the tree, and a missing one
// after each.
func fetchAmongMissing(t *testing.T, dir *urlparse.URL, files map[string]string) {
	t.Helper()
	c := newClient(t)
	defer c.CloseIdleConnections()
	at := strings.Join(dir.Dirs, "/") + "/"
	for range 3 {
		for name, want := range files {
			if want == "" {
				want = tree.Files[at+name]
			}
			got, err := retrieve(t, c, dir.Child(name, ""))
			if err != nil || got != want {
				t.Errorf("%s: got %d bytes, %v, want %d bytes", name, len(got), err, len(want))
			}
			if _, err := retrieve(t, c, dir.Child("missing-"+name, "")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a file that is missing: %v", err)
			}
		}
	}
	listed := 0
	for e, err := range c.Entries(t.Context(), dir) {
		if must.Do(t, err); files[e.Name] != "" || tree.Files[at+e.Name] != "" {
			listed++
		}
	}
	if listed == 0 {
		t.Error("the listing has none of the files")
	}
}

func retrieve(t *testing.T, c *ftpexec.Client, u *urlparse.URL) (string, error) {
	t.Helper()
	r, err := c.Do(testContext(t), &ftpexec.Request{URL: u})
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	contents, err := io.ReadAll(r.Body)
	return string(contents), err
}

// cutters are the servers and relays that cut blanks at ends of names, with how many of the files of TestBlankEnds they
// give all the same.
var cutters = map[Kind]int{SquidFTP: 2, Nodeftpd: 2, Aioftp: 3, Globus: 3, SuSEProxy: 3}

// TestBlankEnds fetches a directory in which names differ only in the blanks at their ends. What is saved under a name
// must be the file of that name: the file of a name that was cut is refused.
func TestBlankEnds(t *testing.T) {
	files := map[string]string{"x": "1", "x ": "22", " x": "333", " y ": "55555", "y": "666666"}
	planted := map[string]string{}
	for name, text := range files {
		planted["ends/"+name] = text
	}
	tree := plantTree(t, planted)
	for _, f := range measuredServers {
		t.Run(string(f.kind), func(t *testing.T) {
			t.Parallel()
			o := Options{}
			if f.upstream {
				o.Upstream = New(t, Vsftpd, tree, Options{}).Addr
			}
			dir := t.TempDir()
			args := []string{"-r", "-d", dir, "--retries", "0", New(t, f.kind, tree, o).URL("/ends/")}
			cmd := exec.CommandContext(testContext(t), build(t), args...)
			said, _ := cmd.CombinedOutput() // the exit code is checked instead
			saved := 0
			for name, text := range files {
				got, err := os.ReadFile(filepath.Join(dir, name))
				if err == nil {
					saved++
				}
				if err == nil && string(got) != text {
					t.Errorf("%q has %q, want %q", name, got, text)
				}
			}
			want, cuts := cutters[f.kind]
			if !cuts {
				want = len(files)
			}
			refused := strings.Contains(string(said), "may cut the blanks at the ends of the name")
			if code := cmd.ProcessState.ExitCode(); saved != want || (code != 0) != cuts || refused != cuts {
				t.Errorf("%d files are saved, want %d; exit %d\n%s", saved, want, code, said)
			}
		})
	}
}
