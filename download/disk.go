package download

// All of this package's calls to the local disk are in this file and in root.go,
// each named after its system call, so that a test can make each of them fail.

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"time"

	"example.com/ftpfetch/internal/localfile"
	"example.com/ftpfetch/internal/owner"
)

// fault, if a test sets it, is called before each call and returns its error.
var fault func(call, path string) error

func faulty(call, path string) error {
	if fault == nil {
		return nil
	}
	if err := fault(call, path); err != nil {
		return &fs.PathError{Op: call, Path: path, Err: err}
	}
	return nil
}

// do makes a call that returns only an error.
func do(call, path string, f func() error) error {
	if err := faulty(call, path); err != nil {
		return err
	}
	return f()
}

func (d *disk) lstat(path string) (fs.FileInfo, error) {
	if err := faulty("lstat", path); err != nil {
		return nil, err
	}
	return known(d.files.Lstat(d.inside(path)))
}

func (d *disk) stat(path string) (fs.FileInfo, error) {
	if err := faulty("stat", path); err != nil {
		return nil, err
	}
	return known(d.files.Stat(d.inside(path)))
}

// known makes info know which file it is about. Windows would look that up later,
// under a name that may stand for another file by then.
func known(info fs.FileInfo, err error) (fs.FileInfo, error) {
	if err == nil {
		os.SameFile(info, info)
	}
	return info, err
}

func (d *disk) openFile(path string, flag int, mode fs.FileMode) (*os.File, error) {
	if err := faulty("open", path); err != nil {
		return nil, err
	}
	return d.files.OpenFile(d.inside(path), flag, mode)
}

func (d *disk) mkdir(path string) error {
	return do("mkdir", path, func() error { return d.files.Mkdir(d.inside(path), 0o777) })
}

func (d *disk) rename(from, to string) error {
	return do("rename", from, func() error { return d.files.Rename(d.inside(from), d.inside(to)) })
}

func (d *disk) link(from, to string) error {
	return do("link", from, func() error { return d.files.Link(d.inside(from), d.inside(to)) })
}

func (d *disk) remove(path string) error {
	return do("unlink", path, func() error { return d.files.Remove(d.inside(path)) })
}

func (d *disk) chmod(path string, mode fs.FileMode) error {
	return do("chmod", path, func() error { return d.files.Chmod(d.inside(path), mode) })
}

func (d *disk) chtimes(path string, modTime time.Time) error {
	return do("utimes", path, func() error { return d.files.Chtimes(d.inside(path), time.Time{}, modTime) })
}

func fstat(f *os.File) (fs.FileInfo, error) {
	if err := faulty("fstat", f.Name()); err != nil {
		return nil, err
	}
	return f.Stat()
}

func truncate(f *os.File, n int64) error {
	return do("truncate", f.Name(), func() error { return f.Truncate(n) })
}

func fsync(f *os.File) error {
	return do("fsync", f.Name(), func() error { return f.Sync() })
}

// lock locks f for this run. It fails only if another run has the lock. On a file
// system without locks locked is false.
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
func closing(f *os.File) error {
	err := faulty("close", f.Name())
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// diskReader reads a file until its context ends.
type diskReader struct {
	ctx context.Context // Read takes no context
	f   *os.File
}

func (r diskReader) ready() error {
	if r.ctx.Err() != nil {
		return &ended{context.Cause(r.ctx)}
	}
	return faulty("read", r.f.Name())
}

func (r diskReader) Read(p []byte) (int, error) {
	if err := r.ready(); err != nil {
		return 0, err
	}
	return r.f.Read(p)
}

func (r diskReader) ReadAt(p []byte, offset int64) (int, error) {
	if err := r.ready(); err != nil {
		return 0, err
	}
	return r.f.ReadAt(p, offset)
}

// readAll reads f. If f has more than most bytes, it returns most+1 of them.
func readAll(f *os.File, most int64) ([]byte, error) {
	return io.ReadAll(io.LimitReader(diskReader{context.Background(), f}, most+1))
}

// diskWriter writes to a file.
type diskWriter struct{ f *os.File }

func (w diskWriter) Write(p []byte) (int, error) {
	if err := faulty("write", w.f.Name()); err != nil {
		return 0, err
	}
	return w.f.Write(p)
}

// openRegular opens an existing regular file. It does not follow a symbolic
// link: an [os.Root] would, but only to a file inside, which is not the one that
// lstat saw.
func (d *disk) openRegular(path string, flag int) (*os.File, error) {
	info, err := d.lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errNotRegular}
	}
	f, err := d.openFile(path, flag|noFollow, 0)
	if err != nil {
		return nil, err
	}
	now, err := fstat(f)
	if err == nil && !os.SameFile(now, info) {
		err = &fs.PathError{Op: "open", Path: path, Err: errMoved}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// errHalfMoved means that a file has its new name and still the old one.
var errHalfMoved = errors.New("cannot be removed")

// moveToFree renames a file to a free name. The error is fs.ErrExist if the name is
// taken: a hard link is the one portable call that can tell.
func (d *disk) moveToFree(from, to string) error {
	err := d.link(from, to)
	switch {
	case err == nil:
		if err := d.remove(from); err != nil {
			return &Error{Path: from, Reason: "cannot be removed: " + localfile.Cause(err).Error(), Err: errors.Join(errHalfMoved, err)}
		}
		return nil
	case errors.Is(err, fs.ErrExist):
		return exists(to)
	}
	return d.renameToFree(from, to)
}

// renameToFree is for file systems without hard links (FAT). It checks, then
// renames; a file that appears in between is lost.
func (d *disk) renameToFree(from, to string) error {
	if _, err := d.lstat(to); err == nil {
		return exists(to)
	}
	if err := d.rename(from, to); err != nil {
		return failure(to, "cannot be moved into place", err)
	}
	return nil
}

// syncDir flushes the directory to disk. Windows has no such call.
func (d *disk) syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := d.openFile(dir, os.O_RDONLY|owner.NoWait, 0)
	if errors.Is(err, fs.ErrPermission) {
		return nil // the directory may be written to but not read
	}
	if err != nil {
		return failure(dir, "cannot be opened", err)
	}
	defer f.Close()
	if err := fsync(f); err != nil && !errors.Is(err, errors.ErrUnsupported) && !isInvalid(err) {
		return failure(dir, "cannot be flushed to disk", err)
	}
	return nil
}
