package disk

import (
	"time"

	"golang.org/x/sys/unix"
)

// renameNew renames a file to a name that does not exist.
func (d *Dir) renameNew(from, to string) error {
	fd := int(d.self.Fd())
	return unix.Renameat2(fd, from, fd, to, unix.RENAME_NOREPLACE)
}

// setTime sets a file's time. A Root would first look whether the file is a link.
func (d *Dir) setTime(name string, modTime time.Time) error {
	at, err := unix.TimeToTimespec(modTime)
	if err != nil {
		return err
	}
	both := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, at}
	return unix.UtimesNanoAt(int(d.self.Fd()), name, both, unix.AT_SYMLINK_NOFOLLOW)
}

// OpenFiles returns how many files the process may open.
func OpenFiles() int {
	most := unix.Rlimit{Cur: 256}
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &most)
	return int(min(most.Cur, 1<<20))
}
