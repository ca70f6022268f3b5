package download

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// target is where a download goes, as it was found before anything is sent to
// the server.
type target struct {
	path   string
	info   fs.FileInfo // what stands there, links not followed; nil: nothing
	stream bool        // a character device or FIFO: written straight, nothing to protect
	skip   bool        // stands already and is to be left alone
}

// inspect looks at path and applies the rules for what stands there.
func inspect(path string, existing Existing) (target, error) {
	t := target{path: path}
	if path == "" {
		return t, &Error{Reason: "no file name given", Err: ErrName}
	}
	if standard(path) != nil {
		t.stream = true
		return t, nil
	}
	info, lerr := os.Lstat(path)
	if lerr == nil {
		t.info = info
		return t, t.judge(existing)
	}
	if os.IsPathSeparator(path[len(path)-1]) {
		return t, &Error{Path: path, Reason: "names a directory, not a file", Err: ErrName}
	}
	if err := checkDir(dirOf(path)); err != nil || errors.Is(lerr, fs.ErrNotExist) {
		return t, err
	}
	return t, failure(path, "cannot be looked at", lerr)
}

// checkDir says what is wrong with the directory that a file is to be in.
func checkDir(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &Error{Path: dir, Reason: "no such directory (create it first)", Err: err}
	case errors.Is(err, syscall.ENOTDIR):
		return &Error{Path: dir, Reason: "not a directory", Err: err}
	case err != nil:
		return failure(dir, "cannot be looked at", err)
	case !info.IsDir():
		return &Error{Path: dir, Reason: "not a directory", Err: syscall.ENOTDIR}
	}
	return nil
}

// judge decides on a path on which something stands. Links are followed to see
// what would be written to; a dangling one is a file like any other.
func (t *target) judge(existing Existing) error {
	mode := t.info.Mode()
	if followed, err := os.Stat(t.path); err == nil {
		mode = followed.Mode()
	}
	switch {
	case mode.IsDir():
		return &Error{Path: t.path, Reason: "is a directory", Err: ErrName}
	case mode&(fs.ModeCharDevice|fs.ModeNamedPipe) != 0:
		t.stream = true
		return nil
	case mode&(fs.ModeDevice|fs.ModeSocket|fs.ModeIrregular) != 0:
		return &Error{Path: t.path, Reason: "is no regular file", Err: ErrName}
	case isDescriptor(t.path):
		return &Error{Path: t.path, Reason: "is an open file, not the name of one", Err: ErrName}
	}
	switch existing {
	case Overwrite:
		return nil
	case Skip:
		t.skip = true
		return nil
	}
	return exists(t.path)
}

func exists(path string) error {
	return &Error{Path: path, Reason: "exists already", Err: ErrExists}
}

// skipped is the result where a target was left alone.
func skipped(path string, why Reason) Result {
	r := Result{Path: path, Skipped: true, Reason: why}
	if info, err := os.Stat(path); err == nil {
		r.Size = info.Size()
	}
	return r
}

// failure makes an Error of a system error, without the path and operation
// that the system's own text repeats.
func failure(path, what string, err error) *Error {
	reason := what + ": " + cause(err).Error()
	return &Error{Path: path, Reason: reason, Err: err}
}

// cause returns the system's word inside err.
func cause(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}
