package mirror_test

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/afero"

	"example.com/ftpfetch/internal/mirror"
	"example.com/ftpfetch/testserver"
)

// hiding is a tree whose listings lack a name, for so many listings.
type hiding struct {
	afero.Fs
	mu   sync.Mutex
	name string
	left int
}

// hide makes the next n listings lack a name.
func (h *hiding) hide(name string, n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.name, h.left = name, n
}

// hides returns whether h hides a name by now, and how many listings still lack it.
func (h *hiding) hides() (name bool, left int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.name != "", h.left
}

type lacking struct {
	afero.File
	of *hiding
}

func (h *hiding) Open(name string) (afero.File, error) {
	file, err := h.Fs.Open(name)
	return lacking{file, h}, err
}

func (l lacking) Readdir(n int) ([]fs.FileInfo, error) {
	all, err := l.File.Readdir(n)
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	return slices.DeleteFunc(all, func(info fs.FileInfo) bool {
		if info.Name() == l.of.name && l.of.left > 0 {
			l.of.left--
			return true
		}
		return false
	}), err
}

// TestDeleteNeedsBoth takes one of the two witnesses away from a file or a directory that the server has. Either the
// listings lack it for ever, and the server refuses what is asked about it with each reply, but has other words for what is
// missing, or the same for all; or only the first listing lacks it, and the server says that it is missing. It is never deleted.
func TestDeleteNeedsBoth(t *testing.T) {
	asks, missing := []string{"SIZE", "MDTM", "MLST", "CWD"}, "550 No such file."
	for _, name := range []string{"2", "b"} {
		for _, known := range []string{"MLSD", "LIST"} {
			for _, text := range append([]string{missing, "", "550 Busy.", "550 Used by another process.", "450 Later.", "553 Not now."}, refusals...) {
				h := &hiding{Fs: afero.NewMemMapFs()}
				tree := map[string]string{}
				for _, name := range kept {
					tree["/t/"+name] = name
				}
				s := &stand{T: t, files: h}
				s.server = testserver.New(t, &testserver.Options{FS: h, Tree: tree, ModTime: time.Unix(1e9, 0), Fault: func(c *testserver.Conn) testserver.Action {
					_, err := h.Stat(path.Join("/t/a", c.Arg))
					hiding, left := h.hides()
					switch {
					case known == "LIST" && (c.Verb == "MLSD" || c.Verb == "MLST"):
						return testserver.Reply("500 What?")
					case hiding && c.Arg == name && text != "" && slices.Contains(asks, c.Verb) && (text != missing || left == 0):
						return testserver.Reply(text)
					case hiding && text == "" && slices.Contains(asks[:3], c.Verb): // it says so of every file
						return testserver.Reply(missing)
					case len(c.Arg) == 26 && err != nil && slices.Contains(asks, c.Verb): // nobody's
						return testserver.Reply(missing)
					}
					return nil
				}})
				dir := t.TempDir()
				if _, err := s.mirror(t.Context(), dir, mirror.Deletion{}); err != nil {
					t.Fatal(err)
				}
				h.hide(name, 1000)
				if text == missing {
					h.hide(name, 1)
				}
				deleted, err := s.mirror(t.Context(), dir, mirror.Deletion{Most: 100})
				if len(deleted) > 0 || there(dir, kept) != len(kept) {
					t.Errorf("%s, %s, %s: deleted %q, %v", name, known, text, deleted, err)
				}
				if text == "" && err == nil {
					t.Errorf("%s, %s: nothing is there any more, and that is no error", name, known)
				}
				if text == missing && (err == nil || !strings.Contains(err.Error(), "of two listings only the second has "+name)) {
					t.Errorf("%s, %s: %v", name, known, err)
				}
			}
		}
	}
}
