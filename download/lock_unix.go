//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package download

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// noFollow opens no symbolic link, and does not wait for a FIFO's other end.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// lock takes f for this run. It fails only where another run has it: a file
// system without locks is no reason not to write.
func lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return err
	}
	return nil
}

// removeUnlessHeld removes the left-over at path, which was seen as info,
// unless a run has it locked.
func removeUnlessHeld(path string, info fs.FileInfo) error {
	f, err := os.OpenFile(path, os.O_RDONLY|noFollow, 0)
	if err != nil {
		return failure(path, "cannot be opened", err)
	}
	defer f.Close()
	now, err := f.Stat()
	if err != nil || !os.SameFile(now, info) {
		return &Error{Path: path, Reason: "changed while it was looked at", Err: ErrLocal}
	}
	if lock(f) != nil {
		return busy(path)
	}
	if err := os.Remove(path); err != nil {
		return failure(path, "cannot be removed", err)
	}
	return nil
}

// isOurs reports whether a file belongs to this user: in a directory that all
// may write to, somebody else may have put it there.
func isOurs(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(stat.Uid) == os.Geteuid()
}

// isInvalid reports the answer of file systems that cannot flush a directory.
func isInvalid(err error) bool { return errors.Is(err, syscall.EINVAL) }

// links is how many names a file has.
func links(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Nlink)
	}
	return 1
}
