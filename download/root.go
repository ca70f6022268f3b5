package download

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// disk is where this package's files are: below Options.Root, or anywhere. Paths
// are as messages show them: below a root they start with the root's name.
type disk struct {
	files  files
	root   *os.Root // nil means anywhere
	hashed bool     // names beside the target get a hash
	made   []string // the directories that this run made, in order
}

// files are the calls on names.
type files interface {
	Lstat(name string) (fs.FileInfo, error)
	Stat(name string) (fs.FileInfo, error)
	OpenFile(name string, flag int, mode fs.FileMode) (*os.File, error)
	Mkdir(name string, mode fs.FileMode) error
	Rename(from, to string) error
	Link(from, to string) error
	Remove(name string) error
	Chmod(name string, mode fs.FileMode) error
	Chtimes(name string, accessed, modified time.Time) error
}

// anywhere are files with names that may lead anywhere.
type anywhere struct{}

func (anywhere) Lstat(name string) (fs.FileInfo, error)    { return os.Lstat(name) }
func (anywhere) Stat(name string) (fs.FileInfo, error)     { return os.Stat(name) }
func (anywhere) Mkdir(name string, mode fs.FileMode) error { return os.Mkdir(name, mode) }
func (anywhere) Rename(from, to string) error              { return os.Rename(from, to) }
func (anywhere) Link(from, to string) error                { return os.Link(from, to) }
func (anywhere) Remove(name string) error                  { return os.Remove(name) }
func (anywhere) Chmod(name string, mode fs.FileMode) error { return os.Chmod(name, mode) }
func (anywhere) Chtimes(name string, a, m time.Time) error { return os.Chtimes(name, a, m) }
func (anywhere) OpenFile(name string, flag int, mode fs.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag, mode)
}

// newDisk returns the files below root, or if it is nil all files.
func newDisk(root *os.Root) *disk {
	if root == nil {
		return &disk{files: anywhere{}}
	}
	return &disk{files: root, root: root}
}

// locate returns path as messages show it. It refuses a path that is not below
// the root.
func (d *disk) locate(path string) (string, error) {
	switch {
	case path == "":
		return "", &Error{Reason: "no file name given", Err: ErrName}
	case d.root == nil:
		return path, nil
	case !filepath.IsLocal(path):
		return "", &Error{Path: path, Reason: "leads out of " + d.root.Name() + ": write a path relative to it, without \"..\"", Err: ErrName}
	case os.IsPathSeparator(path[len(path)-1]):
		return "", namesDirectory(path)
	}
	return filepath.Join(d.root.Name(), path), nil
}

// inside returns a path as d.files takes it.
func (d *disk) inside(path string) string {
	if d.root == nil {
		return path
	}
	name, err := filepath.Rel(d.root.Name(), path)
	if err != nil {
		return path // which the root refuses
	}
	return name
}

// makeDir makes dir, which was missing, and what is missing between it and the
// root, which there must be. The error is errMoved if another run has
// removed a directory meanwhile.
func (d *disk) makeDir(dir string) error {
	if d.inside(dir) == "." { // the root itself has been removed
		return cmp.Or(d.checkDir(dir), failure(dir, "cannot be written to", syscall.ENOENT))
	}
	parent := filepath.Dir(dir)
	err := d.mkdir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := d.makeDir(parent); err != nil {
			return err
		}
		err = d.mkdir(dir)
	}
	switch {
	case err == nil:
		d.made = append(d.made, dir)
		return d.syncDir(parent)
	case errors.Is(err, fs.ErrExist): // another run has made it, or it is something else
		err = d.checkDir(dir)
		if _, lerr := d.lstat(dir); errors.Is(lerr, fs.ErrNotExist) {
			err = errMoved
		}
		return err
	case errors.Is(err, fs.ErrNotExist):
		return errMoved
	}
	return failure(dir, "cannot be created", err)
}

// unmake removes the directories that this run made, as far as they are empty.
func (d *disk) unmake() {
	for _, dir := range slices.Backward(d.made) {
		if info, err := d.lstat(dir); err != nil || !info.IsDir() || d.remove(dir) != nil {
			return
		}
	}
}
