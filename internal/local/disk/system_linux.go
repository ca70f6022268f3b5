package disk

import (
	"cmp"
	"math"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"example.com/ftpfetch/internal/local/localfile"
)

// renameNew renames a file to a name that does not exist.
func (d *Dir) renameNew(from, to string) error {
	fd := int(d.self.Fd())
	return unix.Renameat2(fd, from, fd, to, unix.RENAME_NOREPLACE)
}

// setTime sets a file's time. It avoids os.Root, which would first examine whether the file is a link. It sets the time of
// the last access too, because many file systems in user space do nothing if only one of the two is to be set.
func (d *Dir) setTime(name string, modTime time.Time) error {
	at, err := unix.TimeToTimespec(modTime)
	if err != nil { // in 32 bits: as a disk does, take the nearest time
		nearest := int64(math.MaxInt32)
		if modTime.Unix() < 0 {
			nearest = math.MinInt32
		}
		at, err = unix.TimeToTimespec(time.Unix(nearest, 0))
	}
	if err != nil {
		return err
	}
	now, err := unix.TimeToTimespec(time.Now())
	if err != nil {
		return err
	}
	both := []unix.Timespec{now, at}
	return unix.UtimesNanoAt(int(d.self.Fd()), name, both, unix.AT_SYMLINK_NOFOLLOW)
}

// Room returns an error if the system's limits are too low for the Go runtime, which would then end the process. It
// checks the limit on address space, and opens the files that the runtime needs for polling.
func Room() error {
	space := unix.Rlimit{Cur: unix.RLIM_INFINITY}
	_ = unix.Getrlimit(unix.RLIMIT_AS, &space)
	if space.Cur < addressSpace {
		const why = "the process may have too little address space: " +
			"allow it 3 GiB (ulimit -v 3145728), which it does not fill"
		return &localfile.Error{Reason: why}
	}
	a, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	b, berr := unix.Eventfd(0, unix.EFD_CLOEXEC)
	c, cerr := unix.Eventfd(0, unix.EFD_CLOEXEC)
	_ = unix.Close(b)
	_ = unix.Close(c)
	if err = cmp.Or(err, berr, cerr); err != nil {
		return localfile.Failure("", "the command cannot start", err)
	}
	return os.NewFile(uintptr(a), "eventfd").Close()
}

// OpenFiles returns how many files the process may open.
func OpenFiles() int {
	most := unix.Rlimit{Cur: 256}
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &most)
	return int(min(most.Cur, 1<<20))
}
