package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"example.com/ftpfetch/internal/localfile"
)

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

// shown returns a name as messages show it.
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
		err = Flush(f)
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
	err := Flush(d.self)
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return localfile.Failure(d.shown(""), "cannot be flushed to disk", err)
}
