package partfile

import (
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// create makes a new file. Unlike os.OpenFile it does not ask whether the file can be polled, which takes five calls.
func (d *dir) create(name string, flag int, mode fs.FileMode) (*os.File, error) {
	if d.self == nil {
		return d.OpenFile(name, flag, mode)
	}
	path := filepath.Join(d.Name(), name)
	fd, err := unix.Openat(int(d.self.Fd()), name, flag|unix.O_CLOEXEC|unix.O_NOFOLLOW, uint32(mode))
	if err == unix.EINTR {
		return d.create(name, flag, mode)
	} else if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// renameNew renames a file to a name that does not exist.
func (d *dir) renameNew(from, to string) error {
	return d.with(func(self *os.File) error {
		fd := int(self.Fd())
		return unix.Renameat2(fd, from, fd, to, unix.RENAME_NOREPLACE)
	})
}

// openFiles returns how many files the process may open.
func openFiles() int {
	most := unix.Rlimit{Cur: 256}
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &most)
	return int(min(most.Cur, 1<<20))
}
