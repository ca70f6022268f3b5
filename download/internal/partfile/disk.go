package partfile

// All calls to the local disk are in this file, each named after its system call, so that a test can make each of them
// fail.

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"
)

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

// call makes a call that returns something besides an error, and do one that does not.
func call[T any](name, path string, f func() (T, error)) (result T, err error) {
	if err := faulty(name, path); err != nil {
		return result, err
	}
	return f()
}

func do(name, path string, f func() error) error {
	_, err := call(name, path, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

func (p *Place) lstat(name string) (info fs.FileInfo, err error) {
	if p.dir == nil {
		return nil, fs.ErrNotExist
	}
	if info, err = call("lstat", p.shown(name), func() (fs.FileInfo, error) { return p.dir.Lstat(name) }); err == nil {
		os.SameFile(info, info) // Windows would look up later which file it is, under a name that may stand for another by then
	}
	return info, err
}

// Stat examines the target and follows links, below a root only to what is there.
func (p *Place) Stat() (fs.FileInfo, error) {
	return call("stat", p.Path, func() (fs.FileInfo, error) {
		if p.root == nil {
			return os.Stat(p.Path)
		}
		return p.root.Stat(filepath.Join(p.path, p.target))
	})
}

// Follow opens the target, or what it leads to, to read it.
func (p *Place) Follow() (*os.File, error) {
	f, err := call("open", p.Path, func() (*os.File, error) {
		if p.root == nil {
			return os.Open(p.Path)
		}
		return p.root.Open(filepath.Join(p.path, p.target))
	})
	return f, Failure(p.Path, "cannot be opened", err)
}

// openFile opens a file, and does not follow a link.
func (p *Place) openFile(name string, flag int, mode fs.FileMode) (*os.File, error) {
	return call("open", p.shown(name), func() (*os.File, error) { return p.dir.OpenFile(name, flag|noFollow, mode) })
}

// on makes a call for a file, and from one that gives it another name.
func (p *Place) on(call, name string, f func(string) error) error {
	return do(call, p.shown(name), func() error { return f(name) })
}

func (p *Place) from(call, old, name string, f func(old, name string) error) error {
	return do(call, p.shown(old), func() error { return f(old, name) })
}

func (p *Place) remove(name string) error      { return p.on("unlink", name, p.dir.Remove) }
func (p *Place) rename(old, name string) error { return p.from("rename", old, name, p.dir.Rename) }
func (p *Place) renameNew(old, name string) error {
	return p.from("renameat2", old, name, p.dir.renameNew)
}
func (p *Place) link(old, name string) error { return p.from("link", old, name, p.dir.Link) }
func (p *Place) chtimes(name string, modTime time.Time) error {
	return p.on("utimes", name, func(string) error { return p.dir.Chtimes(name, time.Time{}, modTime) })
}

func (p *Place) mkdir(dir string) error {
	return do("mkdir", p.below(dir), func() error { return p.root.Mkdir(dir, 0o777) })
}

func (p *Place) rmdir(dir string) error {
	return do("rmdir", p.below(dir), func() error { return p.root.Remove(dir) })
}

func (p *Place) statDir(dir string, stat func(string) (fs.FileInfo, error)) (fs.FileInfo, error) {
	return call("stat", p.below(dir), func() (fs.FileInfo, error) { return stat(dir) })
}

func fstat(f *os.File) (fs.FileInfo, error) { return call("fstat", f.Name(), f.Stat) }
func fsync(f *os.File) error                { return do("fsync", f.Name(), f.Sync) }
func chmod(f *os.File, mode fs.FileMode) error {
	return do("chmod", f.Name(), func() error { return f.Chmod(mode) })
}

func truncate(f *os.File, n int64) error {
	return do("truncate", f.Name(), func() error { return f.Truncate(n) })
}

// lock locks f for this run. It fails only if another run has the lock. On a file system without locks locked is false.
func lock(f *os.File) (locked bool, err error) {
	if faulty("flock", f.Name()) != nil {
		return false, nil
	}
	taken, locked := held(f)
	if taken {
		err = busy(f.Name())
	}
	return locked, err
}

// closing closes f. Its error may be that of an earlier write.
func closing(f *os.File) error { return errors.Join(faulty("close", f.Name()), f.Close()) }

func write(f *os.File, b []byte) error {
	return do("write", f.Name(), func() error { _, err := f.Write(b); return err })
}

// Reader reads a file until its context ends.
type Reader struct {
	Ctx context.Context // Read takes no context
	F   *os.File
}

func (r Reader) ready() error {
	if r.Ctx.Err() != nil {
		return &ended{context.Cause(r.Ctx)}
	}
	return faulty("read", r.F.Name())
}

// ReadAt reads from the file.
func (r Reader) ReadAt(p []byte, offset int64) (int, error) {
	if err := r.ready(); err != nil {
		return 0, err
	}
	return r.F.ReadAt(p, offset)
}

// openRegular opens an existing regular file. It does not follow a symbolic link: an [os.Root] would, but only to a file
// inside, which is not the one that lstat saw.
func (p *Place) openRegular(name string, flag int) (*os.File, error) {
	info, err := p.lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: p.shown(name), Err: errNotRegular}
	}
	f, err := p.openFile(name, flag, 0)
	if err != nil {
		return nil, err
	}
	now, err := fstat(f)
	if err == nil && !os.SameFile(now, info) {
		err = &fs.PathError{Op: "open", Path: p.shown(name), Err: ErrMoved}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (p *Place) removeIfThere(name string) error {
	if err := p.remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// syncDir flushes a directory below the root to disk.
func (p *Place) syncDir(path string) error {
	d, err := p.group.enter(p.root, path)
	if err != nil {
		return Failure(p.below(path), "cannot be opened", err)
	}
	defer p.group.leave(d, false)
	return d.flush()
}

// Copy copies the target to w.
func (p *Place) Copy(ctx context.Context, w io.Writer) error {
	f, err := p.openRegular(p.target, os.O_RDONLY)
	if err != nil {
		return Failure(p.Path, "cannot be opened", err)
	}
	defer f.Close()
	_, err = io.Copy(w, io.NewSectionReader(Reader{ctx, f}, 0, math.MaxInt64))
	return Failure(p.Path, "cannot be read", err)
}
