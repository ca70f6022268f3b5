package download

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// target is where a download goes, as found before anything is sent to the
// server.
type target struct {
	names
	info   fs.FileInfo // of the existing file, not following links; nil if there is none
	stream bool        // a character device or FIFO, written to directly
}

// inspect examines path and refuses what no download can replace.
func inspect(path string) (target, error) {
	if path == "" {
		return target{}, &Error{Reason: "no file name given", Err: ErrName}
	}
	t := target{names: namesOf(path)}
	if standard(path) != nil {
		t.stream = true
		return t, nil
	}
	var err error
	if t.info, err = lstat(path); err == nil {
		return t, t.judge()
	}
	if os.IsPathSeparator(path[len(path)-1]) {
		return t, &Error{Path: path, Reason: "names a directory, not a file", Err: ErrName}
	}
	if derr := checkDir(filepath.Dir(path)); derr != nil || errors.Is(err, fs.ErrNotExist) {
		return t, derr
	}
	return t, failure(path, "cannot be examined", err)
}

// checkDir returns an error if dir is not a directory.
func checkDir(dir string) error {
	info, err := stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &Error{Path: dir, Reason: "no such directory (create it first)", Err: err}
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
	if followed, err := stat(t.path); err == nil {
		mode = followed.Mode()
	}
	switch {
	case mode.IsDir():
		return &Error{Path: t.path, Reason: "is a directory", Err: ErrName}
	case mode&(fs.ModeCharDevice|fs.ModeNamedPipe) != 0:
		t.stream = true
	case mode&(fs.ModeDevice|fs.ModeSocket|fs.ModeIrregular) != 0:
		return &Error{Path: t.path, Reason: "is not a regular file", Err: ErrName}
	case isDescriptor(t.path):
		return &Error{Path: t.path, Reason: "is an open file, not the name of one", Err: ErrName}
	}
	return nil
}

// skipped returns the result for a target that was left alone.
func skipped(path string, why Reason) Result {
	r := Result{Path: path, Skipped: true, Reason: why}
	if info, err := stat(path); err == nil {
		r.Size = info.Size()
	}
	return r
}
