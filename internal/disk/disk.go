// Package disk makes the calls to the local disk for files that must be whole. Each is named after its system call, so that
// a test can make each of them fail. A [Dir] is an open directory, in which no call follows a symbolic link.
package disk

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"example.com/ftpfetch/internal/flush"
	"example.com/ftpfetch/internal/localfile"
)

// ErrMoved means that a name stands for another file than a moment ago.
var ErrMoved = errors.New("changed while it was examined")

// ErrNotRegular means that a name stands for something else than a regular file.
var ErrNotRegular = errors.New("is not a regular file")

// Fault, if a test sets it, is called before each call and returns its error.
var Fault func(call, path string) error

func faulty(call, path string) error {
	if Fault == nil {
		return nil
	}
	if err := Fault(call, path); err != nil {
		return &fs.PathError{Op: call, Path: path, Err: err}
	}
	return nil
}

// Call makes a call that returns something besides an error, and Do one that does not.
func Call[T any](name, path string, f func() (T, error)) (result T, err error) {
	if err := faulty(name, path); err != nil {
		return result, err
	}
	return f()
}

// Do makes a call.
func Do(name, path string, f func() error) error {
	_, err := Call(name, path, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

// Stat examines an open file.
func Stat(f *os.File) (fs.FileInfo, error) { return Call("fstat", f.Name(), f.Stat) }

// Flush waits until files are on the disk. It returns an error for each, or nil.
func Flush(files ...*os.File) []error {
	errs := flush.All(files...)
	for i, f := range files {
		errs[i] = cmp.Or(faulty("fsync", f.Name()), errs[i])
	}
	return errs
}

// Truncate makes a file n bytes long.
func Truncate(f *os.File, n int64) error {
	return Do("truncate", f.Name(), func() error { return f.Truncate(n) })
}

// Chmod sets a file's permissions.
func Chmod(f *os.File, mode fs.FileMode) error {
	return Do("chmod", f.Name(), func() error { return f.Chmod(mode) })
}

// Lock locks f for this process. taken means that another has the lock, and locked is false where there are none.
func Lock(f *os.File) (taken, locked bool) {
	if faulty("flock", f.Name()) != nil {
		return false, false
	}
	return held(f)
}

// Reader reads a file until its context ends.
type Reader struct {
	Ctx context.Context // Read takes no context
	F   *os.File
}

// Ready returns an error if nothing more may be read: the cause of the context's end.
func (r Reader) Ready() error {
	if r.Ctx.Err() != nil {
		return context.Cause(r.Ctx)
	}
	return faulty("read", r.F.Name())
}

// ReadAt reads from the file.
func (r Reader) ReadAt(p []byte, offset int64) (int, error) {
	if err := r.Ready(); err != nil {
		return 0, err
	}
	return r.F.ReadAt(p, offset)
}

// Dir is an open directory.
type Dir struct {
	root  *os.Root
	self  *os.File // for what a Root lacks
	path  string
	users int
}

// open opens a directory: below root, or anywhere if that is nil.
func open(root *os.Root, path string) (d *Dir, err error) {
	d = &Dir{path: path}
	if root == nil {
		// The runtime ends the process if it cannot open what it needs for its first file: that takes one more than the root.
		var f *os.File
		if f, err = os.Open(path); err == nil {
			f.Close()
			d.root, err = os.OpenRoot(path)
		}
	} else if d.root, err = root.OpenRoot(path); err != nil {
		if info, serr := root.Stat(path); serr == nil && !info.IsDir() {
			err = syscall.ENOTDIR
		}
	}
	if err != nil {
		return nil, err
	}
	if d.self, err = d.root.Open("."); err != nil {
		d.close()
	}
	return d, err
}

func (d *Dir) close() {
	_ = d.root.Close()
	_ = d.self.Close()
}

func (d *Dir) shown(name string) string { return filepath.Join(d.root.Name(), name) }

// in makes a call about a name in a directory. Only a test looks at the whole path.
func in[T any](d *Dir, call, name string, f func() (T, error)) (T, error) {
	path := ""
	if Fault != nil {
		path = d.shown(name)
	}
	return Call(call, path, f)
}

func (d *Dir) do(call, name string, f func(string) error) error {
	_, err := in(d, call, name, func() (struct{}, error) { return struct{}{}, f(name) })
	return err
}

// Lstat examines what has a name.
func (d *Dir) Lstat(name string) (info fs.FileInfo, err error) {
	if info, err = in(d, "lstat", name, func() (fs.FileInfo, error) { return d.root.Lstat(name) }); err == nil {
		os.SameFile(info, info) // Windows would look up later which file it is, under a name that may stand for another by then
	}
	return info, err
}

// Create makes a file, which must not exist.
func (d *Dir) Create(name string, flag int, mode fs.FileMode) (*os.File, error) {
	return d.open(name, flag|os.O_CREATE|os.O_EXCL, mode)
}

func (d *Dir) open(name string, flag int, mode fs.FileMode) (*os.File, error) {
	return in(d, "open", name, func() (*os.File, error) { return d.root.OpenFile(name, flag|noFollow, mode) })
}

// Write makes a file that holds b and is on the disk, in place of one that a killed run may have left. If that fails there
// is none.
func (d *Dir) Write(name string, b []byte) error {
	err := d.RemoveIfThere(name)
	if err != nil {
		return err
	}
	f, err := d.Create(name, os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err = d.do("write", name, func(string) error { _, err := f.Write(b); return err }); err == nil {
		err = Flush(f)[0]
	}
	err = errors.Join(err, faulty("close", f.Name()), f.Close()) // the error of Close may be that of an earlier write
	if err != nil {
		_ = d.Remove(name)
	}
	return err
}

// Open opens a regular file. It does not follow a symbolic link: an [os.Root] would, but only to a file inside, which is
// not the one that Lstat saw.
func (d *Dir) Open(name string, flag int) (*os.File, error) {
	info, err := d.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: d.shown(name), Err: ErrNotRegular}
	}
	f, err := d.open(name, flag, 0)
	if err != nil {
		return nil, err
	}
	now, err := Stat(f)
	if err == nil && !os.SameFile(now, info) {
		err = &fs.PathError{Op: "open", Path: d.shown(name), Err: ErrMoved}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Remove removes a file.
func (d *Dir) Remove(name string) error { return d.do("unlink", name, d.root.Remove) }

// RemoveIfThere removes a file if there is one.
func (d *Dir) RemoveIfThere(name string) error {
	if err := d.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Rename gives a file a name, which may be another's.
func (d *Dir) Rename(from, to string) error {
	return d.do("rename", from, func(string) error { return d.root.Rename(from, to) })
}

// RenameNew gives a file a name that is free. The error is fs.ErrExist if it is taken: renameat2 and a hard link can tell.
// moved reports whether the file has the new name, with an error besides the old one.
func (d *Dir) RenameNew(from, to string) (moved bool, err error) {
	err = d.do("renameat2", from, func(string) error { return d.renameNew(from, to) })
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err == nil, err
	}
	if err = d.do("link", from, func(string) error { return d.root.Link(from, to) }); err == nil {
		return true, d.RemoveIfThere(from)
	}
	if _, lerr := d.Lstat(to); lerr == nil {
		return false, fs.ErrExist
	}
	err = d.Rename(from, to) // there are no hard links (FAT): a file that appears in between is lost
	return err == nil, err
}

// SetTime sets a file's time.
func (d *Dir) SetTime(name string, modTime time.Time) error {
	return d.do("utimes", name, func(string) error { return d.setTime(name, modTime) })
}

// Flush waits until the names in the directory are on the disk. Windows has no such call.
func (d *Dir) Flush() error {
	if runtime.GOOS == "windows" {
		return nil
	}
	err := Flush(d.self)[0]
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return localfile.Failure(d.shown(""), "cannot be flushed to disk", err)
}

// Dirs are the directories that are open, which all who work in them share. It is safe for concurrent use.
type Dirs struct {
	Keep int // how many stay open that nobody is in

	mu   sync.Mutex
	open map[string]*Dir
}

// Enter opens a directory, below root or anywhere if that is nil, or shares it. Leave must be called.
func (s *Dirs) Enter(root *os.Root, path string) (*Dir, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.open[path]
	if d == nil {
		var err error
		if d, err = open(root, path); err != nil {
			return nil, noDirectory(Below(root, path), err)
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
	if gone && s.open[d.path] == d {
		delete(s.open, d.path)
	}
	if d.users--; d.users == 0 && s.open[d.path] != d {
		d.close()
	}
	s.trim(s.Keep)
}

// trim closes directories that nobody is in until there are at most n.
func (s *Dirs) trim(n int) {
	for path, d := range s.open {
		if len(s.open) > max(0, n) && d.users == 0 {
			d.close()
			delete(s.open, path)
		}
	}
}

// Close closes the directories.
func (s *Dirs) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trim(0)
}

// Make makes a directory, and what is missing between it and the root, and flushes their names to the disk. It returns
// those that it has made, also with an error. That is ErrMoved if another run has removed a directory meanwhile.
func (s *Dirs) Make(root *os.Root, path string) (made []string, err error) {
	parent := "."
	for name := range strings.SplitSeq(path, string(filepath.Separator)) {
		dir := filepath.Join(parent, name)
		err = Do("mkdir", Below(root, dir), func() error { return root.Mkdir(dir, 0o777) })
		switch {
		case err == nil:
			made = append(made, dir)
			err = s.flush(root, parent)
		case errors.Is(err, fs.ErrExist): // another run has made it, or it is a link to nowhere
			_, err = Call("stat", Below(root, dir), func() (fs.FileInfo, error) { return root.Stat(dir) })
			err = noDirectory(Below(root, dir), err)
			if _, lerr := root.Lstat(dir); errors.Is(lerr, fs.ErrNotExist) {
				err = ErrMoved
			}
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

// Unmake removes directories that Make has made, as far as they are empty.
func Unmake(root *os.Root, made []string) {
	for _, dir := range slices.Backward(made) {
		info, err := root.Lstat(dir)
		if err != nil || !info.IsDir() || Do("rmdir", Below(root, dir), func() error { return root.Remove(dir) }) != nil {
			break
		}
	}
}

func (s *Dirs) flush(root *os.Root, path string) error {
	d, err := s.Enter(root, path)
	if err != nil {
		return err
	}
	defer s.Leave(d, false)
	return d.Flush()
}

// Below returns a path below root, or anywhere if that is nil, as messages show it.
func Below(root *os.Root, path string) string {
	if root == nil {
		return path
	}
	return filepath.Join(root.Name(), path)
}

// noDirectory says what is wrong with a directory, or returns nil for nil.
func noDirectory(path string, err error) error {
	path = filepath.Clean(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &localfile.Error{Path: path, Reason: "no such directory (create it first)", Err: err}
	case errors.Is(err, syscall.ENOTDIR):
		return &localfile.Error{Path: path, Reason: "not a directory", Err: err}
	}
	return localfile.Failure(path, "cannot be examined", err)
}
