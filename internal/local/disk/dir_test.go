package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"example.com/ftpfetch/internal/testkit/must"
)

// TestRenameNew renames a file to a name that is taken and to one that is free, with and without hard links.
func TestRenameNew(t *testing.T) {
	defer func() { Fault = nil }()
	for _, links := range []error{nil, syscall.EPERM} {
		var s Dirs
		d := must.Get(s.Enter(nil, t.TempDir()))(t)
		for _, name := range []string{"from", "to"} {
			must.Do(t, os.WriteFile(filepath.Join(d.root.Name(), name), nil, 0o600))
		}
		Fault = func(call, _ string) error {
			if call == "link" || call == "renameat2" {
				return links
			}
			return nil
		}
		if moved, err := d.RenameNew("from", "to"); moved || !errors.Is(err, fs.ErrExist) {
			t.Errorf("links %v: got %v, %v, want fs.ErrExist", links, moved, err)
		}
		must.Do(t, d.Remove("to"))
		if moved, err := d.RenameNew("from", "to"); !moved || err != nil {
			t.Errorf("links %v: got %v, %v", links, moved, err)
		}
		if _, err := d.Lstat("from"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("links %v: the old name: %v", links, err)
		}
		s.Leave(d, false)
	}
}

// TestMake makes directories. If the parent is there, as it mostly is, that costs one call.
func TestMake(t *testing.T) {
	root := must.Get(os.OpenRoot(t.TempDir()))(t)
	defer root.Close()
	must.Do(t, root.WriteFile("file", nil, 0o600))
	must.Do(t, root.Symlink("nothing", "link"))
	calls := 0
	Fault = func(call, _ string) error {
		if call == "mkdir" {
			calls++
		}
		return nil
	}
	t.Cleanup(func() { Fault = nil })
	for _, tt := range []struct {
		path  string
		made  []string
		calls int
		want  string // a part of the error
	}{
		{"a/b/c", []string{"a", "a/b", "a/b/c"}, 4, ""},
		{"a/b/c", nil, 1, ""},
		{"a/b/d", []string{"a/b/d"}, 1, ""},
		{"a/e/f", []string{"a/e", "a/e/f"}, 4, ""},
		{"file", nil, 2, "not a directory"},
		{"file/g", nil, 2, "not a directory"},
		{"link", nil, 2, "no such directory"},
		{"link/g", nil, 2, "no such directory"},
	} {
		calls = 0
		made, err := new(Dirs).Make(root, filepath.FromSlash(tt.path))
		for i := range made {
			made[i] = filepath.ToSlash(made[i])
		}
		if !slices.Equal(made, tt.made) || calls != tt.calls || (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: made %q with %d calls, %v; want %q with %d, %q", tt.path, made, calls, err, tt.made, tt.calls, tt.want)
		}
	}
}
