package download

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// errHalfMoved is a file that has its new name, and the old one as well.
var errHalfMoved = errors.New("cannot be removed")

// moveToFree renames a file to a name that is free. A hard link is the one
// portable call that fails where the name exists: ErrExists.
func moveToFree(from, to string) error {
	err := link(from, to)
	switch {
	case err == nil:
		if err := remove(from); err != nil {
			return &Error{Path: from, Reason: "cannot be removed: " + cause(err).Error(), Err: errors.Join(errHalfMoved, err)}
		}
		return nil
	case errors.Is(err, fs.ErrExist):
		return exists(to)
	}
	return renameToFree(from, to)
}

// renameToFree is for file systems without hard links (FAT): it looks and
// renames, which leaves a gap of an instant.
func renameToFree(from, to string) error {
	if _, err := lstat(to); err == nil {
		return exists(to)
	}
	if err := rename(from, to); err != nil {
		return failure(to, "cannot be put in place", err)
	}
	return nil
}

func dirOf(path string) string { return filepath.Dir(path) }

// syncDir brings a new directory entry to the disk. Windows has no such call.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := openFile(dir, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrPermission) {
		return nil // a directory that may be written but not read
	}
	if err != nil {
		return failure(dir, "cannot be opened", err)
	}
	defer d.Close()
	if err := fsync(d); err != nil && !errors.Is(err, errors.ErrUnsupported) && !isInvalid(err) {
		return failure(dir, "cannot be brought to the disk", err)
	}
	return nil
}
