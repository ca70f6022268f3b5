package partfile

import "golang.org/x/sys/unix"

// renameNew renames a file to a name that does not exist.
func (d *dir) renameNew(from, to string) error {
	if d.self == nil {
		return unix.ENOSYS
	}
	fd := int(d.self.Fd())
	return unix.Renameat2(fd, from, fd, to, unix.RENAME_NOREPLACE)
}
