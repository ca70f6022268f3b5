package partfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"testing"
)

// TestMoveToFree moves a file to a name that is taken, and to one that is free, with hard links and without.
func TestMoveToFree(t *testing.T) {
	for _, links := range []error{nil, syscall.EPERM} {
		p := placeIn(t, t.TempDir(), "f")
		Fault = func(call, _ string) error {
			if call == "link" || call == "renameat2" {
				return links
			}
			return nil
		}
		defer func() { Fault = nil }()
		for _, name := range []string{p.partial, p.target} {
			if err := os.WriteFile(p.shown(name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if moved, err := p.moveToFree(p.partial, p.target); moved || !errors.Is(err, fs.ErrExist) {
			t.Errorf("links %v: got %v, %v, want fs.ErrExist", links, moved, err)
		}
		if err := p.remove(p.target); err != nil {
			t.Fatal(err)
		}
		if moved, err := p.moveToFree(p.partial, p.target); !moved || err != nil {
			t.Errorf("links %v: got %v, %v", links, moved, err)
		}
		if _, err := p.lstat(p.partial); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("links %v: the old name: %v", links, err)
		}
	}
}
