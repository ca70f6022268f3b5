package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/testkit/must"
)

// TestLooksAgain changes a directory after the run has reported a file in it and has closed it. Close must return an
// error unless the file is still at its path.
func TestLooksAgain(t *testing.T) {
	type change struct {
		what  string
		do    func(dir string) error
		there bool
	}
	away := func(dir string) error { return os.Rename(dir, dir+"-old") }
	changes := []change{
		{"nothing", func(string) error { return nil }, true},
		{"renamed", away, false},
		{"removed", os.RemoveAll, false},
		{"replaced by an empty directory", func(dir string) error { return errors.Join(away(dir), os.Mkdir(dir, 0o777)) }, false},
		{"replaced by a file", func(dir string) error { return errors.Join(away(dir), os.WriteFile(dir, nil, 0o666)) }, false},
		{"replaced by another of its kind", func(dir string) error {
			return errors.Join(away(dir), os.Mkdir(dir, 0o777), os.WriteFile(dir+"/f", []byte("other"), 0o666))
		}, false},
		{"replaced by a link to it", func(dir string) error { return errors.Join(away(dir), os.Symlink(dir+"-old", dir)) }, true},
		{"replaced by a link to nothing", func(dir string) error { return errors.Join(away(dir), os.Symlink("none", dir)) }, false},
		{"renamed and back", func(dir string) error { return errors.Join(away(dir), os.Rename(dir+"-old", dir)) }, true},
		{"its parent renamed", func(dir string) error { return away(filepath.Dir(dir)) }, false},
	}
	for _, tt := range changes {
		for _, keep := range []int{1, 16} {
			for _, empty := range []bool{false, true} { // an empty directory has nothing that could be missing from it
				top := t.TempDir()
				must.Do(t, os.MkdirAll(filepath.Join(top, "up", "d"), 0o777))
				root := must.Get(os.OpenRoot(top))(t)
				defer root.Close()
				s := Dirs{Keep: keep}
				if empty {
					s.Expect(root, "up/d")
				} else {
					must.Do(t, os.WriteFile(filepath.Join(top, "up/d/f"), nil, 0o666))
					d := must.Get(s.Enter(root, "up/d"))(t)
					s.Rely(d, "f")
					s.Leave(d, false)
					s.Leave(must.Get(s.Enter(root, "."))(t), false) // closes the other if only one may stay open
				}
				must.Do(t, tt.do(filepath.Join(top, "up/d")))
				err := s.Close()
				want := tt.there || empty && strings.Contains(tt.what, "directory") || empty && strings.Contains(tt.what, "kind")
				if (err == nil) != want || err != nil && !(errors.Is(err, localfile.ErrLocal) && strings.Contains(fmt.Sprint(err), errMoved)) {
					t.Errorf("%s, %d open, empty %v: %v", tt.what, keep, empty, err)
				}
			}
		}
	}
}

// TestLooksAgainTwice removes a directory with a complete file, and then enters a new one of its name. The file is gone.
func TestLooksAgainTwice(t *testing.T) {
	top := t.TempDir()
	root := must.Get(os.OpenRoot(top))(t)
	defer root.Close()
	s := Dirs{Keep: 1}
	for _, file := range []string{"f", "g"} {
		must.Do(t, os.RemoveAll(filepath.Join(top, "d")))
		must.Get(s.Make(root, "d"))(t)
		must.Do(t, os.WriteFile(filepath.Join(top, "d", file), nil, 0o666))
		d := must.Get(s.Enter(root, "d"))(t)
		s.Rely(d, file)
		s.Leave(d, false)
		s.Leave(must.Get(s.Enter(root, "."))(t), false)
	}
	if err := s.Close(); err == nil {
		t.Error("the first file is gone, and that is no error")
	}
}

// TestLooksAgainByItsFile gives a directory another number, as file systems in user space do once it was closed. It
// still has its file, so nothing is missing.
func TestLooksAgainByItsFile(t *testing.T) {
	top := t.TempDir()
	d := used{file: "f", self: identify(must.Get(os.Stat(t.TempDir()))(t))}
	must.Do(t, os.WriteFile(filepath.Join(top, "f"), []byte("abc"), 0o666))
	info := must.Get(os.Stat(filepath.Join(top, "f")))(t)
	d.size, d.time = info.Size(), info.ModTime()
	if err := d.again(place{nil, top}); err != nil {
		t.Error(err)
	}
	d.size++
	if err := d.again(place{nil, top}); err == nil {
		t.Error("the file has another size, and that is no error")
	}
}
