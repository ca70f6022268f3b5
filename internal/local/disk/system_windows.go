package disk

import (
	"errors"
	"io/fs"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

const noFollow, NoWait = 0, 0

// Ours and Alone return true: the owner is unknown here.
func Ours(fs.FileInfo) bool  { return true }
func Alone(fs.FileInfo) bool { return true }

// Unlock does nothing: Close ends a lock.
func Unlock(*os.File) {}

// Links returns 1: the number is unknown here.
func Links(fs.FileInfo) uint64 { return 1 }

// held locks f, and reports whether another run has it locked already, or else whether it is locked now. The lock is on
// one byte that no file reaches, because it keeps other handles from that byte.
func held(f *os.File, shared bool) (taken, locked bool) {
	at := windows.Overlapped{Offset: math.MaxUint32, OffsetHigh: math.MaxInt32}
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if !shared {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &at)
	return errors.Is(err, windows.ERROR_LOCK_VIOLATION), err == nil
}
