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

// Dirs are the open directories, which all their users share. It is safe for concurrent use.
type Dirs struct {
	Keep int // how many stay open without a user

	mu    sync.Mutex
	open  map[string]*Dir
	fresh []fresh
	err   error // why files are not where they are said to be
}

// fresh is a directory with new ones in it, below root or anywhere if that is nil.
type fresh struct {
	root *os.Root
	path string
}

// Enter opens a directory, below root or anywhere if that is nil, or shares it. The caller must call Leave.
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

// Leave ends the use of a directory. gone means that another may have its name by now.
func (s *Dirs) Leave(d *Dir, gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if (gone || d.lost.Load()) && s.open[d.path] == d {
		delete(s.open, d.path)
	}
	d.users--
	if d.users == 0 && s.open[d.path] != d {
		d.close()
	}
	s.trim(s.Keep)
}

// trim closes directories without a user until there are at most n.
func (s *Dirs) trim(n int) {
	for path, d := range s.open {
		if len(s.open) > max(0, n) && d.users == 0 {
			if d.relied.Load() {
				s.err = cmp.Or(s.err, d.Named())
			}
			d.close()
			delete(s.open, path)
		}
	}
}

// Close flushes the names of new directories and closes all. The error is also about directories whose names do not lead to
// what was found in them.
func (s *Dirs) Close() error {
	err := s.FlushNew()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trim(0)
	return cmp.Or(s.err, err)
}

// Fresh says that there may be new directories in one, whose names are not on the disk before FlushNew.
func (s *Dirs) Fresh(root *os.Root, path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fresh = append(s.fresh, fresh{root, path})
}

// FlushNew flushes the names of new directories. Directories that are gone need no flush.
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

// Make makes a directory, and what is missing between it and the root. FlushNew flushes their names. It returns the
// directories that it has made, also with an error. That is ErrMoved if another run has removed a directory meanwhile.
func (s *Dirs) Make(root *os.Root, path string) (made []string, err error) {
	parent := "."
	for name := range strings.SplitSeq(path, string(filepath.Separator)) {
		dir := filepath.Join(parent, name)
		err = Do("mkdir", Below(root, dir), func() error { return root.Mkdir(dir, 0o777) })
		s.Fresh(root, parent)
		switch {
		case err == nil:
			made = append(made, dir)
		case errors.Is(err, fs.ErrExist):
			err = whatIsThere(root, dir)
		case errors.Is(err, fs.ErrNotExist) && parent != ".": // else the root itself has been removed
			err = ErrMoved
		default:
			err = localfile.Failure(Below(root, dir), "cannot be created", err)
		}
		if err != nil {
			break
		}
		parent = dir
	}
	return made, err
}

// whatIsThere returns nil for a directory that another run has made, and else an error: for a file, or a link to nowhere.
func whatIsThere(root *os.Root, dir string) error {
	info, err := Call("stat", Below(root, dir), func() (fs.FileInfo, error) { return root.Stat(dir) })
	if err == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	if _, gone := root.Lstat(dir); errors.Is(gone, fs.ErrNotExist) {
		return ErrMoved
	}
	return NoDirectory(Below(root, dir), err)
}

// Unmake removes directories that Make has made, as far as they are empty.
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

// Below returns a path below root, or anywhere if that is nil, as messages show it.
func Below(root *os.Root, path string) string {
	if root == nil {
		return path
	}
	return filepath.Join(root.Name(), path)
}

// NoDirectory says what is wrong with a directory, or returns nil for nil.
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
