package disk

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"example.com/ftpfetch/internal/local/localfile"
)

// place is the path of a directory below root, or anywhere if root is nil.
type place struct {
	root *os.Root
	path string
}

// used is what Dirs remembers about a directory of the run after it was closed.
type used struct {
	file string   // the last complete file in it; "" if there is none, and then any directory of that name will do
	self identity // of the directory
	size int64    // of the file
	time time.Time
}

// errMoved is the reason why the files of a directory are not at their reported paths.
const errMoved = "was renamed or removed while files were saved in it: run the command again"

// Rely records that the run is about to report a file of a directory as complete. Close then looks for the directory by
// its name. Dirs that keep no directory open are for one file, after which nothing comes.
func (s *Dirs) Rely(d *Dir, file string) {
	if s.Keep > 0 {
		if !s.Passing {
			d.last.Store(&file)
		}
		d.relied.Store(true)
	}
}

// Expect records a directory of the run, which may stay empty. Close returns an error if there is no directory of that
// name then.
func (s *Dirs) Expect(root *os.Root, path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.use(place{root, path}, &used{})
}

// use remembers a directory, unless more is known about it already.
func (s *Dirs) use(at place, u *used) {
	if s.used == nil {
		s.used = make(map[place]*used)
	}
	if s.used[at] == nil || u.file != "" {
		s.used[at] = u
	}
}

// remember records what Close needs to know about a directory that is about to be closed. The directory may be another
// one than an earlier directory of the same name, whose files are then gone.
func (s *Dirs) remember(d *Dir) error {
	if !d.relied.Load() {
		return nil
	}
	if err := d.Named(); err != nil || s.Keep == 0 {
		return err
	}
	at := place{d.below, d.path}
	err := s.used[at].again(at)
	u := &used{}
	if file := d.last.Load(); file != nil {
		u = d.describe(*file)
	}
	s.use(at, u)
	return err
}

// describe returns what is to be remembered about a directory and its last complete file.
func (d *Dir) describe(file string) *used {
	info, err := d.self.Stat()
	if err != nil {
		return &used{}
	}
	u := &used{file: file, self: identify(info)}
	if there, err := d.Lstat(file); err == nil {
		u.size = there.Size()
		u.time = there.ModTime()
	}
	return u
}

// lookAgain looks every directory of the run up by its name, and returns an error about the first that is not there.
func (s *Dirs) lookAgain() error {
	places := slices.Collect(maps.Keys(s.used))
	slices.SortFunc(places, func(a, b place) int { return strings.Compare(a.path, b.path) })
	for _, at := range places {
		if err := s.used[at].again(at); err != nil {
			return err
		}
	}
	return nil
}

// again returns an error if the directory at a path is no longer the one that u describes. u may be nil.
func (u *used) again(at place) error {
	if u == nil {
		return nil
	}
	path := Below(at.root, at.path)
	info, err := Call("stat again", path, func() (fs.FileInfo, error) { return os.Stat(path) })
	gone := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
	there := err == nil && info.IsDir() && (u.file == "" || u.holds(path, u.self.is(info)))
	if gone || err == nil && !there {
		return &localfile.Error{Path: path, Reason: errMoved}
	}
	return localfile.Failure(path, "cannot be examined", err)
}

// holds reports whether the directory at path has the last complete file. A new directory may get the number of one that
// was removed, so that the number alone does not prove that it is the same. File systems in user space may give a
// directory another number once it was closed. Then the file must be unchanged; otherwise a user may have changed it.
func (u *used) holds(path string, sameNumber bool) bool {
	info, err := os.Lstat(filepath.Join(path, u.file))
	return err == nil && (sameNumber || info.Size() == u.size && info.ModTime().Equal(u.time))
}
