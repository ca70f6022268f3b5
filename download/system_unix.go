//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package download

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// noFollow opens no symbolic link, and does not wait for a FIFO's other end.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// held locks f, and reports whether another run has it locked already. A file
// system without locks is no reason not to write.
func held(f *os.File) bool {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return errors.Is(err, syscall.EWOULDBLOCK)
}

// isOurs reports whether a file belongs to this user: in a directory that all
// may write to, somebody else may have put it there.
func isOurs(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(stat.Uid) == os.Geteuid()
}

// isInvalid reports the answer of file systems that cannot flush a directory.
func isInvalid(err error) bool { return errors.Is(err, syscall.EINVAL) }

// inodeOf tells a file from others in its directory, whatever its name. It is
// "" where the system does not tell.
func inodeOf(info fs.FileInfo) string {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return strconv.FormatUint(stat.Ino, 10)
	}
	return ""
}

// links is how many names a file has.
func links(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Nlink)
	}
	return 1
}
