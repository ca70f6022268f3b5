// Package disk makes the system calls for files that must be whole. Each call has a name, so that a test can make it
// fail. A [Dir] is an open directory; its methods follow no symbolic link.
package disk

import (
	"cmp"
	"context"
	"crypto/rand"
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

// ErrMoved means that a name refers to another file than a moment ago.
var ErrMoved = errors.New("changed while it was examined")

// ErrNotRegular means that a name refers to something other than a regular file.
var ErrNotRegular = errors.New("is not a regular file")

// Fault, if a test sets it, is called before each call. If it returns an error, the call fails with it.
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

// Call makes a call that returns a result and an error. Do makes a call that returns only an error.
func Call[T any](name, path string, f func() (T, error)) (result T, err error) {
	if err := faulty(name, path); err != nil {
		return result, err
	}
	return f()
}

// Do makes a call that returns only an error.
func Do(name, path string, f func() error) error {
	_, err := Call(name, path, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

// Stat examines an open file.
func Stat(f *os.File) (fs.FileInfo, error) { return Call("fstat", f.Name(), f.Stat) }

// mostThreads bounds the threads that wait for the disk at the same time.
const mostThreads = 32

// many is how many files Flush flushes together if it can.
const many = 8

// Flush flushes files to the disk, many at the same time. It returns an error or nil for each.
func Flush(files ...*os.File) []error {
	errs := make([]error, len(files))
	flush := (*os.File).Sync
	if len(files) >= many {
		all := func() error { return flushAll(files) }
		if Do("syncfs", files[0].Name(), all) == nil {
			flush = flushed
		}
	}
	var threads errgroup.Group
	threads.SetLimit(mostThreads)
	for i, f := range files {
		threads.Go(func() error {
			errs[i] = Do("fsync", f.Name(), func() error { return flush(f) })
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

// Lock tries to lock f for this process. taken means that another process has the lock, and locked that this one has it
// now. Both are false if the file system has no locks.
func Lock(f *os.File) (taken, locked bool) {
	if faulty("flock", f.Name()) != nil {
		return false, false
	}
	return held(f, false)
}

// Share tries to lock f for this process and others that call Share. taken means that another process has called Lock.
func Share(f *os.File) (taken bool) {
	taken, _ = held(f, true)
	return taken
}

// Watch notices that another process opens a file.
type Watch struct{ events *os.File }

// Opened reports whether another process may have opened the file since the watch began. It is true if w is nil.
func (w *Watch) Opened() bool { return w == nil || w.opened() }

// Close ends the watch.
func (w *Watch) Close() {
	if w != nil {
		_ = w.events.Close()
	}
}

// Reader reads a file until its context ends.
type Reader struct {
	Ctx context.Context // Read takes no context
	F   *os.File
}

// Ready returns the cause of the context's end, or nil while reading may continue.
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
	self    *os.File // for calls that os.Root lacks
	below   *os.Root // path is below it; nil: path is anywhere
	path    string
	users   int
	relied  atomic.Bool            // the run has reported files in it as complete
	last    atomic.Pointer[string] // the last of these files; nil if it is not known
	lost    atomic.Bool            // its name no longer refers to it
	flushed atomic.Int64           // names older than this time are on the disk (Unix, ns)
}

// written is a time after which names are surely on the disk. Without a flush a system writes them after about a
// minute.
const written = time.Hour

// open opens a directory: below root, or anywhere if root is nil.
func open(root *os.Root, path string) (d *Dir, err error) {
	d = &Dir{below: root, path: path}
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

// do makes a call for a name in the directory.
func (d *Dir) do(call, name string, f func(string) error) error {
	return Do(call, d.shown(name), func() error { return f(name) })
}

// Lstat examines a file without following links.
func (d *Dir) Lstat(name string) (fs.FileInfo, error) {
	lstat := func() (fs.FileInfo, error) { return d.root.Lstat(name) }
	info, err := Call("lstat", d.shown(name), lstat)
	if err == nil {
		// On Windows SameFile opens the file by its name at the first call. Later, another file may have the name.
		os.SameFile(info, info)
	}
	return info, err
}

// Create creates a file, which must not exist.
func (d *Dir) Create(name string, flag int, mode fs.FileMode) (*os.File, error) {
	return d.open(name, flag|os.O_CREATE|os.O_EXCL, mode)
}

func (d *Dir) open(name string, flag int, mode fs.FileMode) (*os.File, error) {
	return Call("open", d.shown(name), func() (*os.File, error) {
		return d.root.OpenFile(name, flag|noFollow, mode)
	})
}

// Write creates a file with the contents b and flushes it to the disk. It replaces a file that a killed run may have
// left. After an error there is no file.
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

// Open opens a regular file. It follows no symbolic link, whereas an [os.Root] would follow one to a file inside.
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

// Rename renames a file. It replaces a file that has the new name.
func (d *Dir) Rename(from, to string) error {
	return d.do("rename", from, func(string) error { return d.root.Rename(from, to) })
}

// RenameNew renames a file. The error is fs.ErrExist if a file has the new name, which renameat2 and link check
// atomically. moved reports whether the file has the new name; if there is also an error, it still has the old name
// too.
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
	err = d.Rename(from, to) // without hard links (FAT), a file that appears meanwhile is lost
	return err == nil, err
}

// FakeTime, if a test sets it, is what the disk makes of a time that a file is given.
var FakeTime func(time.Time) time.Time

// SetTime sets a file's time. A disk may round it, take the nearest one that it can keep, or ignore it, without an error.
func (d *Dir) SetTime(name string, modTime time.Time) error {
	if FakeTime != nil {
		modTime = FakeTime(modTime)
	}
	return d.do("utimes", name, func(string) error { return d.setTime(name, modTime) })
}

// TryTime returns what the disk makes of a time, from a file that it makes for that and removes again.
func (d *Dir) TryTime(modTime time.Time) (kept time.Time, err error) {
	name := ".ftpfetch-time-" + rand.Text()
	f, err := d.Create(name, os.O_WRONLY, 0o600)
	if err != nil {
		return kept, err
	}
	err = f.Close() // before the rest, because some disks write a file only now
	if err == nil {
		err = d.SetTime(name, modTime)
	}
	info, lerr := d.Lstat(name)
	if lerr == nil {
		kept = info.ModTime()
	}
	rerr := d.Remove(name)
	return kept, cmp.Or(err, lerr, rerr)
}

// Flush flushes the names in the directory to the disk. It does nothing on Windows, which has no call for that.
func (d *Dir) Flush() error {
	const tick = 10 * time.Millisecond // a directory's time is that of the system's last tick
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

// FlushRecent flushes the names of existing files unless they are old. The run that created them may have been killed
// before its flush, or the flush may have failed.
func (d *Dir) FlushRecent() error {
	d.relied.Store(true)
	info, err := Stat(d.self)
	if err != nil || info.ModTime().UnixNano() < d.flushed.Load() {
		return localfile.Failure(d.shown(""), "cannot be examined", err)
	}
	return d.Flush()
}

// Named returns an error if the directory's name no longer refers to it, so that its files are not at their reported
// paths.
func (d *Dir) Named() error {
	path := d.shown("")
	now, err := Call("stat", path, func() (fs.FileInfo, error) { return os.Stat(path) })
	self, serr := d.self.Stat()
	err = cmp.Or(err, serr)
	gone := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
	if gone || err == nil && !os.SameFile(now, self) {
		err = &localfile.Error{Path: path, Reason: errMoved}
	}
	d.lost.Store(err != nil)
	return localfile.Failure(path, "cannot be examined", err)
}
