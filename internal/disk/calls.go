// Package disk makes the calls to the local disk for files that must be whole. Each is named after its system call, so that
// a test can make each of them fail. A [Dir] is an open directory, in which no call follows a symbolic link.
package disk

import (
	"context"
	"errors"
	"io/fs"
	"os"
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

// Flush waits until a file is on the disk.
func Flush(f *os.File) error { return Do("fsync", f.Name(), f.Sync) }

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
