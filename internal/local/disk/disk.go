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
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/ftpfetch/internal/local/localfile"
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

// mostThreads bounds the threads that wait for the disk at once.
const mostThreads = 32

// Flush waits until files are on the disk, many at a time. It returns an error for each, or nil.
func Flush(files ...*os.File) []error {
	errs := make([]error, len(files))
	var threads errgroup.Group
	threads.SetLimit(mostThreads)
	for i, f := range files {
		threads.Go(func() error {
			errs[i] = Do("fsync", f.Name(), f.Sync)
			return nil
		})
	}
	_ = threads.Wait()
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
	return held(f, false)
}

// Share locks f for this process and others that share it. taken means that another has it for itself.
func Share(f *os.File) (taken bool) {
	taken, _ = held(f, true)
	return taken
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
	root    *os.Root
	self    *os.File // for what a Root lacks
	path    string
	users   int
	relied  atomic.Bool  // the run has said that files are in it
	lost    atomic.Bool  // its name leads elsewhere since
	flushed atomic.Int64 // names from before this time are on the disk (Unix, ns)
}

// written is more than the time after which a system writes names to the disk without a flush, which is about a minute.
const written = time.Hour

// open opens a directory: below root, or anywhere if that is nil.
func open(root *os.Root, path string) (d *Dir, err error) {
	d = &Dir{path: path}
	d.flushed.Store(time.Now().Add(-written).UnixNano())
	if root == nil {
		d.root, err = os.OpenRoot(path)
	} else {
		d.root, err = root.OpenRoot(path)
	}
	if err != nil && root != nil {
		if info, serr := root.Stat(path); serr == nil && !info.IsDir() {
			err = syscall.ENOTDIR
		}
	}
	if err != nil {
		return nil, err
	}
	d.self, err = d.root.Open(".")
	if err != nil {
		d.close()
	}
	return d, err
}

func (d *Dir) close() {
	_ = d.root.Close()
	_ = d.self.Close()
}

func (d *Dir) shown(name string) string { return filepath.Join(d.root.Name(), name) }

// do makes a call about a name in the directory.
func (d *Dir) do(call, name string, f func(string) error) error {
	return Do(call, d.shown(name), func() error { return f(name) })
}

// Lstat examines what has a name.
func (d *Dir) Lstat(name string) (fs.FileInfo, error) {
	lstat := func() (fs.FileInfo, error) { return d.root.Lstat(name) }
	info, err := Call("lstat", d.shown(name), lstat)
	if err == nil {
		// Windows finds out which file it is only now, and later another may have the name.
		os.SameFile(info, info)
	}
	return info, err
}

// Create makes a file, which must not exist.
func (d *Dir) Create(name string, flag int, mode fs.FileMode) (*os.File, error) {
	return d.open(name, flag|os.O_CREATE|os.O_EXCL, mode)
}

func (d *Dir) open(name string, flag int, mode fs.FileMode) (*os.File, error) {
	return Call("open", d.shown(name), func() (*os.File, error) {
		return d.root.OpenFile(name, flag|noFollow, mode)
	})
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
	err = d.do("write", name, func(string) error {
		_, err := f.Write(b)
		return err
	})
	if err == nil {
		err = Flush(f)[0]
	}
	// Close may return the error of an earlier write.
	err = errors.Join(err, faulty("close", f.Name()), f.Close())
	if err != nil {
		_ = d.Remove(name)
	}
	return err
}

// Open opens a regular file. It does not follow a symbolic link, as an [os.Root] would, if only to a file inside.
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

// RenameNew gives a file a name that is free. The error is fs.ErrExist if the name is taken: renameat2 and link find that
// out. moved reports whether the file has the new name; with an error it then has the old one too.
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
	err = d.Rename(from, to) // there are no hard links (FAT): a file that appears meanwhile is lost
	return err == nil, err
}

// SetTime sets a file's time.
func (d *Dir) SetTime(name string, modTime time.Time) error {
	return d.do("utimes", name, func(string) error { return d.setTime(name, modTime) })
}

// Flush waits until the names in the directory are on the disk, for which Windows has no call.
func (d *Dir) Flush() error {
	const tick = 10 * time.Millisecond // a new name has the time of the system's last tick
	begun := time.Now().Add(-tick).UnixNano()
	if runtime.GOOS != "windows" {
		err := Flush(d.self)[0]
		if err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.EINVAL) {
			return localfile.Failure(d.shown(""), "cannot be flushed to disk", err)
		}
	}
	d.flushed.Store(begun)
	return nil
}

// FlushRecent flushes the names of files that were there before, if the names may be new: the run that gave them may have
// been killed just then, or its flush may have failed.
func (d *Dir) FlushRecent() error {
	d.relied.Store(true)
	info, err := Stat(d.self)
	if err != nil || info.ModTime().UnixNano() < d.flushed.Load() {
		return localfile.Failure(d.shown(""), "cannot be examined", err)
	}
	return d.Flush()
}

// Named returns an error if the directory's name no longer leads to it: its files are not where they are said to be.
func (d *Dir) Named() error {
	path := d.shown("")
	now, err := Call("stat", path, func() (fs.FileInfo, error) { return os.Stat(path) })
	self, serr := d.self.Stat()
	err = cmp.Or(err, serr)
	gone := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
	if gone || err == nil && !os.SameFile(now, self) {
		const why = "was renamed or removed while files were saved in it: run the command again"
		err = &localfile.Error{Path: path, Reason: why}
	}
	d.lost.Store(err != nil)
	return localfile.Failure(path, "cannot be examined", err)
}
