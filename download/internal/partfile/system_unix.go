//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package partfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// noFollow makes open refuse a symbolic link and not wait for a FIFO's other end.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// create makes a new file. Unlike os.OpenFile it does not ask whether the file can be polled, which takes five calls.
func (d *dir) create(name string, flag int, mode fs.FileMode) (*os.File, error) {
	if d.self == nil {
		return d.OpenFile(name, flag, mode)
	}
	for {
		fd, err := unix.Openat(int(d.self.Fd()), name, flag|unix.O_CLOEXEC|unix.O_NOFOLLOW, uint32(mode))
		switch {
		case err == nil:
			return os.NewFile(uintptr(fd), filepath.Join(d.Name(), name)), nil
		case err != unix.EINTR:
			return nil, &fs.PathError{Op: "open", Path: filepath.Join(d.Name(), name), Err: err}
		}
	}
}

// held locks f and reports whether another run has already locked it, or else whether it is locked now: not all file
// systems have locks.
func held(f *os.File) (taken, locked bool) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return errors.Is(err, syscall.EWOULDBLOCK), err == nil
}

// inodeOf returns what tells a file from others on its file system, whatever its name, or "" if the system does not say.
func inodeOf(info fs.FileInfo) string {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return strconv.FormatUint(stat.Ino, 10)
	}
	return ""
}

func links(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Nlink)
	}
	return 1
}

// openFiles returns how many files the process may open.
func openFiles() int {
	var most unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &most) != nil {
		return 64
	}
	return int(min(uint64(most.Cur), 1<<20))
}
