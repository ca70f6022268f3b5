package mirror_test

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/afero"

	"example.com/ftpfetch/cmd/internal/mirror"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

// hiding is a tree whose next listings lack a name.
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

// hides returns whether h hides a name, and how many more listings will lack it.
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

// terse is a tree whose server sends the same reply for every missing name.
type terse struct{ afero.Fs }

func (t terse) Open(name string) (afero.File, error) {
	file, err := t.Fs.Open(name)
	return file, t.worded(err)
}

func (t terse) Stat(name string) (fs.FileInfo, error) {
	info, err := t.Fs.Stat(name)
	return info, t.worded(err)
}

func (terse) worded(err error) error {
	if err != nil {
		return errors.New(strings.TrimPrefix(refusals[0], "550 "))
	}
	return nil
}

// newHiding returns a stand with a terse server that has the files of kept. It fetches the tree, and then hides a name
// from all listings.
func newHiding(t *testing.T, name string) *stand {
	h := &hiding{Fs: terse{afero.NewMemMapFs()}}
	s := &stand{T: t, files: h, fetched: t.TempDir(), network: ftptest.NewNetwork()}
	tree := make(map[string]string)
	for _, name := range kept {
		tree["/t/"+name] = "contents of " + name
	}
	s.server = testserver.New(t, &testserver.Options{FS: afero.NewIOFS(h), Tree: tree, ModTime: time.Unix(1e9, 0), Fault: s.attack, Listen: s.network.Listen})
	if _, err := s.mirror(t.Context(), s.fetched, mirror.Deletion{}); err != nil {
		t.Fatal(err)
	}
	h.hide(name, 1e9)
	return s
}

// TestDeleteAsksAnew makes a server confirm a CWD without executing it, on some of its connections. From another
// directory it then truthfully denies the files of this one. A file may be deleted only if that happens in every round.
func TestDeleteAsksAnew(t *testing.T) {
	const first, rounds = 0b0001, 0b1110 // the connection that lists the tree, and the connections that ask
	for _, name := range []string{"2", "b"} {
		s := newHiding(t, name)
		for deceived := range first + rounds + 1 {
			before := s.server.Connections()
			fault := func(c *testserver.Conn) testserver.Action {
				if c.Verb == "CWD" && c.Arg == "a" && deceived>>(c.Num-before-1)&1 == 1 {
					return testserver.Reply("250 Done.")
				}
				return nil
			}
			s.fault.Store(&fault)
			dir := s.again()
			deleted, err := s.mirror(t.Context(), dir, mirror.Deletion{Most: 100})
			if got, want := len(deleted) > 0, deceived&rounds == rounds; got != want || there(dir, kept)+len(deleted) != len(kept) {
				t.Errorf("%s, deceived on connections %04b: deleted %q, %v", name, deceived, deleted, err)
			}
		}
	}
}

// TestDeleteTwoLies makes a server lie at any two commands, while its listings lack a name. A lie is a confirmation
// without effect, or the reply for a missing name. No file may be deleted.
func TestDeleteTwoLies(t *testing.T) {
	lies := []testserver.Action{testserver.Reply("250 Done."), testserver.Reply(refusals[0])}
	runs := 0
	for _, name := range []string{"2", "b"} {
		synctest.Test(t, func(t *testing.T) {
			s := newHiding(t, name)
			attack := func(at map[int]testserver.Action) (commands int) {
				var n atomic.Int64
				fault := func(*testserver.Conn) testserver.Action { return at[int(n.Add(1))] }
				s.fault.Store(&fault)
				dir := s.again()
				defer os.RemoveAll(dir)
				deleted, err := s.mirror(t.Context(), dir, mirror.Deletion{Most: 100})
				if runs++; there(dir, kept) != len(kept) {
					t.Errorf("%s: lies at %v: deleted %q, %v", name, slices.Collect(maps.Keys(at)), deleted, err)
				}
				return int(n.Load())
			}
			commands := attack(nil)
			step := night.Or(5, 1)
			for i := 1; i <= commands; i += step {
				for j := i + 1; j <= commands+20; j += step { // the first lie may cause more commands
					for k := range len(lies) * len(lies) {
						attack(map[int]testserver.Action{i: lies[k%2], j: lies[k/2]})
					}
				}
			}
		})
	}
	t.Logf("%d runs", runs)
}

// TestDeleteNeedsBoth gives only one of the two proofs that a name is missing, though the server has it. Either all
// listings lack the name, and the server refuses each question about it, but by another reply than for a missing name,
// or by the same reply for all names. Or the server replies that the name is missing, but only the first listing lacks
// it. The file must not be deleted.
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
				s := &stand{T: t, files: h, network: ftptest.NewNetwork()}
				s.server = testserver.New(t, &testserver.Options{FS: afero.NewIOFS(h), Tree: tree, ModTime: time.Unix(1e9, 0), Listen: s.network.Listen, Fault: func(c *testserver.Conn) testserver.Action {
					_, err := h.Stat(path.Join("/t/a", c.Arg))
					hiding, left := h.hides()
					switch {
					case known == "LIST" && (c.Verb == "MLSD" || c.Verb == "MLST"):
						return testserver.Reply("500 What?")
					case hiding && c.Arg == name && text != "" && slices.Contains(asks, c.Verb) && (text != missing || left == 0):
						return testserver.Reply(text)
					case hiding && text == "" && slices.Contains(asks[:3], c.Verb): // this reply for every file
						return testserver.Reply(missing)
					case len(c.Arg) == 26 && err != nil && slices.Contains(asks, c.Verb): // the random name
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
				if text == missing && (err == nil || !strings.Contains(err.Error(), name+" was missing from the first listing, but is in the second")) {
					t.Errorf("%s, %s: %v", name, known, err)
				}
			}
		}
	}
}
