package disk

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"example.com/ftpfetch/internal/local/localfile"
)

// Dirs keeps directories open, so that users of the same directory share it. It is safe for concurrent use.
type Dirs struct {
	Keep    int  // how many directories may stay open without a user
	Passing bool // files may be moved away as soon as they are there; only their directories must stay

	mu    sync.Mutex
	open  map[string]*Dir
	fresh []place         // directories that may have new directories in them
	used  map[place]*used // directories that Close looks up again
	err   error           // the first error about a directory that is not where it was
}

// Enter returns a directory, below root, or anywhere if root is nil. It opens the directory unless it is open already.
// The caller must call Leave.
func (s *Dirs) Enter(root *os.Root, path string) (*Dir, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.open[path]
	if d == nil {
		var err error
		d, err = open(root, path)
		if err != nil {
			return nil, NoDirectory(Below(root, path), err)
		}
		s.trim(s.Keep - 1)
		if s.open == nil {
			s.open = make(map[string]*Dir)
		}
		s.open[path] = d
	}
	d.users++
	return d, nil
}

// Leave ends the use of a directory. gone means that its name may refer to another directory now.
func (s *Dirs) Leave(d *Dir, gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if (gone || d.lost.Load()) && s.open[d.path] == d {
		delete(s.open, d.path)
	}
	d.users--
	if d.users == 0 && s.open[d.path] != d {
		err := s.remember(d)
		s.err = cmp.Or(s.err, err)
		d.close()
	}
	s.trim(s.Keep)
}

// trim closes directories without a user until at most n directories are open.
func (s *Dirs) trim(n int) {
	for path, d := range s.open {
		if len(s.open) > max(0, n) && d.users == 0 {
			err := s.remember(d)
			s.err = cmp.Or(s.err, err)
			d.close()
			delete(s.open, path)
		}
	}
}

// Close flushes the names of new directories and closes all directories. Then it looks every directory up again by its
// name, and returns an error if the name of one with reported files no longer refers to it.
func (s *Dirs) Close() error {
	err := s.FlushNew()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trim(0)
	if s.err == nil {
		s.err = s.lookAgain()
	}
	return cmp.Or(s.err, err)
}

// Fresh records that a directory may have new directories in it. FlushNew flushes their names.
func (s *Dirs) Fresh(root *os.Root, path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fresh = append(s.fresh, place{root, path})
}

// FlushNew flushes the names of new directories. It skips directories that no longer exist.
func (s *Dirs) FlushNew() (err error) {
	s.mu.Lock()
	all := s.fresh
	s.fresh = nil
	s.mu.Unlock()
	for _, x := range all {
		d, failed := s.Enter(x.root, x.path)
		if failed == nil {
			failed = d.FlushRecent()
			s.Leave(d, false)
		}
		if failed != nil && !errors.Is(failed, fs.ErrNotExist) {
			s.Fresh(x.root, x.path)
			err = cmp.Or(err, failed)
		}
	}
	return err
}

// Make makes a directory below root and its missing parents. FlushNew flushes their names. Make returns the directories
// that it made, even with an error. The error is ErrMoved if another run has removed a directory meanwhile.
func (s *Dirs) Make(root *os.Root, path string) (made []string, err error) {
	// Each call looks every name of the path up, and the parent is there mostly.
	one, err := s.makeOne(root, path)
	if err == nil {
		return one, nil
	}
	parent := "."
	for name := range strings.SplitSeq(path, string(filepath.Separator)) {
		dir := filepath.Join(parent, name)
		one, err = s.makeOne(root, dir)
		made = append(made, one...)
		if err != nil {
			break
		}
		parent = dir
	}
	return made, err
}

// makeOne makes a directory whose parent is there; if it is not, the error is ErrMoved. made is the directory, or empty if
// it was there already.
func (s *Dirs) makeOne(root *os.Root, dir string) (made []string, err error) {
	err = Do("mkdir", Below(root, dir), func() error { return root.Mkdir(dir, 0o777) })
	if !errors.Is(err, fs.ErrNotExist) {
		s.Fresh(root, filepath.Dir(dir))
	}
	switch {
	case err == nil:
		return []string{dir}, nil
	case errors.Is(err, fs.ErrExist):
		return nil, whatIsThere(root, dir)
	// If the parent is ".", the root itself was removed.
	case errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != ".":
		return nil, ErrMoved
	}
	return nil, localfile.Failure(Below(root, dir), "cannot be created", err)
}

// whatIsThere returns nil if dir is a directory that another run made. It returns an error for a file or a link to
// nothing.
func whatIsThere(root *os.Root, dir string) error {
	stat := func() (fs.FileInfo, error) { return root.Stat(dir) }
	info, err := Call("stat", Below(root, dir), stat)
	if err == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	if _, gone := root.Lstat(dir); errors.Is(gone, fs.ErrNotExist) {
		return ErrMoved
	}
	return NoDirectory(Below(root, dir), err)
}

// Unmake removes the directories that Make made and that are empty.
func Unmake(root *os.Root, made []string) {
	for _, dir := range slices.Backward(made) {
		info, err := root.Lstat(dir)
		if err != nil || !info.IsDir() {
			break
		}
		if Do("rmdir", Below(root, dir), func() error { return root.Remove(dir) }) != nil {
			break
		}
	}
}

// Below returns a path below root, or anywhere if root is nil, as messages show it.
func Below(root *os.Root, path string) string {
	if root == nil {
		return path
	}
	return filepath.Join(root.Name(), path)
}

// NoDirectory returns the error about a directory that cannot be opened, or nil if err is nil.
func NoDirectory(path string, err error) error {
	path = filepath.Clean(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &localfile.Error{Path: path, Reason: "no such directory (create it first)", Err: err}
	case errors.Is(err, syscall.ENOTDIR):
		return &localfile.Error{Path: path, Reason: "not a directory", Err: err}
	}
	return localfile.Failure(path, "cannot be examined", err)
}
