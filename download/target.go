package download

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"example.com/ftpfetch/internal/localfile"
)

// target is where a download goes, as found before anything is sent to the
// server.
type target struct {
	names
	info   fs.FileInfo // of the existing file, not following links; nil if there is none
	stream bool        // a character device or FIFO, written to directly
}

// inspect examines the target that the caller calls given. It refuses what no
// download can replace.
func (d *disk) inspect(given string) (target, error) {
	path, err := d.locate(given)
	if why := localfile.Own(filepath.Base(path)); err == nil && why != "" {
		err = &Error{Path: path, Reason: why, Err: ErrName}
	}
	if err != nil {
		return target{}, err
	}
	t := target{names: d.namesOf(given, path)}
	if d.root == nil && standard(path) != nil {
		t.stream = true
		return t, nil
	}
	t.info, err = d.lstat(path)
	switch {
	case err == nil:
		return t, t.judge()
	case os.IsPathSeparator(path[len(path)-1]):
		return t, namesDirectory(path)
	case errors.Is(err, fs.ErrNotExist):
		return t, nil // createPart finds out if the directory is missing too
	}
	return t, cmp.Or(d.checkDir(filepath.Dir(path)), failure(path, "cannot be examined", err))
}

// checkDir returns an error if dir is not a directory.
func (d *disk) checkDir(dir string) error {
	info, err := d.stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return noDirectory(dir, err)
	case errors.Is(err, syscall.ENOTDIR):
		return &Error{Path: dir, Reason: "not a directory", Err: err}
	case err != nil:
		return failure(dir, "cannot be examined", err)
	case !info.IsDir():
		return &Error{Path: dir, Reason: "not a directory", Err: syscall.ENOTDIR}
	}
	return nil
}

// judge decides whether a download can replace the existing target. It follows
// links to see what would be written to; a dangling link counts as a file.
func (t *target) judge() error {
	mode := t.info.Mode()
	if followed, err := t.stat(t.path); err == nil {
		mode = followed.Mode()
	}
	switch {
	case mode.IsDir():
		return &Error{Path: t.path, Reason: "is a directory", Err: ErrName}
	case mode&(fs.ModeCharDevice|fs.ModeNamedPipe) != 0 && t.root == nil:
		t.stream = true
	case mode&(fs.ModeDevice|fs.ModeNamedPipe|fs.ModeSocket|fs.ModeIrregular) != 0:
		return &Error{Path: t.path, Reason: "is not a regular file", Err: ErrName}
	case isDescriptor(t.path):
		return &Error{Path: t.path, Reason: "is an open file, not the name of one", Err: ErrName}
	}
	return nil
}

// skipped returns the result for a target that was left alone.
func (n names) skipped(why Reason) Result {
	r := Result{Path: n.given, Skipped: true, Reason: why}
	if info, err := n.stat(n.path); err == nil {
		r.Size = info.Size()
	}
	return r
}
