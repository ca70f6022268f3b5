package disk

import "golang.org/x/sys/unix"

// renameNew renames a file to a name that does not exist.
func (d *Dir) renameNew(from, to string) error {
	self, err := d.file()
	if err != nil {
		return err
	}
	fd := int(self.Fd())
	return unix.Renameat2(fd, from, fd, to, unix.RENAME_NOREPLACE)
}

// OpenFiles returns how many files the process may open.
func OpenFiles() int {
	most := unix.Rlimit{Cur: 256}
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &most)
	return int(min(most.Cur, 1<<20))
}
