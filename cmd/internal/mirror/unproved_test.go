package mirror_test

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/afero"

	"example.com/ftpfetch/cmd/internal/mirror"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

// worded returns a stand whose server words its refusal of a missing name as word does, and has lost the files of gone.
// dir is its tree, fetched.
func worded(t *testing.T, files, gone []string, word func(name string) string) (s *stand, dir string) {
	s = &stand{T: t, files: afero.NewMemMapFs(), fetched: t.TempDir(), network: ftptest.NewNetwork()}
	tree := make(map[string]string)
	for _, name := range files {
		tree["/t/"+name] = name
	}
	s.server = testserver.New(t, &testserver.Options{FS: afero.NewIOFS(s.files), Tree: tree, ModTime: time.Unix(1e9, 0), Listen: s.network.Listen, Fault: func(c *testserver.Conn) testserver.Action {
		if action := s.attack(c); action != nil {
			return action
		}
		if _, err := s.files.Stat(path.Join("/t", c.Arg)); err != nil && slices.Contains([]string{"SIZE", "MDTM", "MLST"}, c.Verb) {
			return testserver.Reply(word(c.Arg))
		}
		return nil
	}})
	must.Get(s.mirror(t.Context(), s.fetched, mirror.Deletion{}))(t)
	for _, name := range gone {
		must.Do(t, s.files.Remove("/t/"+name))
	}
	return s, s.again()
}

// TestDeleteSaysWhatItKeeps lets a server word its refusals so that they prove nothing, or do. What is not deleted is
// counted and said, and is an error.
func TestDeleteSaysWhatItKeeps(t *testing.T) {
	var n atomic.Int64
	for what, tt := range map[string]struct {
		word   func(name string) string
		proves bool
	}{
		"the same words":       {func(string) string { return "550 No such file or directory." }, true},
		"the name":             {func(name string) string { return "550 " + name + ": No such file or directory." }, true},
		"the name in the root": {func(name string) string { return "550 " + path.Join("/t", name) + ": No such file or directory." }, true},
		"a counter":            {func(string) string { return fmt.Sprint("550 No such file or directory (", n.Add(1), ").") }, false},
		"upper case":           {func(name string) string { return "550 " + strings.ToUpper(name) + ": No such file or directory." }, false},
		"a shortened name":     {func(name string) string { return fmt.Sprintf("550 %.3s...: No such file or directory.", name) }, false},
		"a length":             {func(name string) string { return fmt.Sprintf("550 %d bytes: No such file or directory.", len(name)) }, false},
		"busy":                 {func(string) string { return "450 Gone." }, false},
		"no such parameter":    {func(string) string { return "504 Gone." }, false},
		"no permission":        {func(string) string { return "550 Permission denied." }, false},
		"no permission for some": {func(name string) string {
			if strings.HasPrefix(name, "gone") {
				return "550 Permission denied."
			}
			return "550 No such file or directory."
		}, false},
	} {
		for _, gone := range [][]string{{"gone1.txt"}, {"gone1.txt", "gone2.txt", "gone3"}} {
			s, dir := worded(t, []string{"here", "gone1.txt", "gone2.txt", "gone3"}, gone, tt.word)
			for _, dry := range []bool{true, false} {
				deleted, err := s.mirror(t.Context(), dir, mirror.Deletion{Most: 9, Dry: dry})
				if tt.proves {
					if err != nil || !slices.Equal(deleted, gone) {
						t.Errorf("%s: deleted %q, %v, want %q", what, deleted, err, gone)
					}
					continue
				}
				count := fmt.Sprintf("%d files are kept", len(gone))
				if len(gone) == 1 {
					count = "1 file is kept"
				}
				if len(deleted) > 0 || there(dir, gone) != len(gone) || !errors.Is(err, ftpexec.ErrRefused) || !strings.HasPrefix(fmt.Sprint(err), count) ||
					!strings.Contains(fmt.Sprint(err), path.Join(dir, gone[0])) {
					t.Errorf("%s, dry %v: deleted %q, %v", what, dry, deleted, err)
				}
			}
		}
	}
}

// TestDeleteHomes mirrors names that begin with "~" from a server that takes "~" for a home directory, as pyftpdlib
// does, and shows names without the "./" before them.
func TestDeleteHomes(t *testing.T) {
	files := []string{"a", "~", "~b", "~~", "~gone", "gone"}
	for _, left := range [][]string{files[:4], {"~"}, {"a"}, {"~", "~b"}} {
		var gone []string
		for _, name := range files {
			if !slices.Contains(left, name) {
				gone = append(gone, name)
			}
		}
		s, dir := worded(t, files, gone, func(name string) string { return "550 " + path.Join("/", name) + " is not retrievable: no such file." })
		var homes atomic.Int64
		fault := func(c *testserver.Conn) testserver.Action {
			if strings.HasPrefix(c.Arg, "~") {
				homes.Add(1)
				return testserver.Reply("550 No such user.")
			}
			return nil
		}
		s.fault.Store(&fault)
		deleted, err := s.mirror(t.Context(), dir, mirror.Deletion{Most: 9})
		slices.Sort(gone)
		if err != nil || !slices.Equal(deleted, gone) || there(dir, left) != len(left) || homes.Load() > 0 {
			t.Errorf("left %q: deleted %q, %v; %d questions about homes", left, deleted, err, homes.Load())
		}
	}
}
