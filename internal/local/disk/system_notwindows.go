//go:build !windows

package disk

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// noFollow makes open refuse a symbolic link and not wait for the other end of a FIFO. It also keeps package os from
// trying to poll the file, which takes four calls.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// held tries to lock f. taken means that another run has the lock, and locked that this run has it now. Both are false
// on a file system without locks.
func held(f *os.File, shared bool) (taken, locked bool) {
	how := syscall.LOCK_EX
	if shared {
		how = syscall.LOCK_SH
	}
	err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
	return errors.Is(err, syscall.EWOULDBLOCK), err == nil
}

// Unlock ends the lock. Close alone is not enough, because the kernel may keep a file that it has flushed, and its
// lock, for a moment.
func Unlock(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// Links returns how many names a file has.
func Links(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Nlink)
	}
	return 1
}

// NoWait makes open not wait for the other end of a FIFO.
const NoWait = syscall.O_NONBLOCK

// Ours reports whether a file belongs to this user. In a directory that others can write to, any user may have created
// it.
func Ours(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(stat.Uid) == os.Geteuid()
}

// Alone reports whether a file belongs to this user and no other may write to it.
func Alone(info fs.FileInfo) bool { return Ours(info) && info.Mode().Perm()&0o022 == 0 }

// identity identifies a file as long as it exists.
type identity struct{ device, number uint64 }

func identify(info fs.FileInfo) identity {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return identity{}
	}
	return identity{uint64(stat.Dev), uint64(stat.Ino)}
}

func (i identity) is(info fs.FileInfo) bool { return i == identify(info) }
