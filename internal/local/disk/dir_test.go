package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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
