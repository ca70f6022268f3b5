package disk

import (
	"errors"
	"io/fs"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

const noFollow, NoWait = 0, 0

// Ours and Alone return true, because the owner is unknown on Windows.
func Ours(fs.FileInfo) bool  { return true }
func Alone(fs.FileInfo) bool { return true }

// Unlock does nothing, because Close ends a lock.
func Unlock(*os.File) {}

// Links returns 1, because the number is unknown on Windows.
func Links(fs.FileInfo) uint64 { return 1 }

// held tries to lock f. taken means that another run has the lock, and locked that this run has it now. The lock covers
// one byte far beyond the end of any file, because it denies other handles access to the locked bytes.
func held(f *os.File, shared bool) (taken, locked bool) {
	at := windows.Overlapped{Offset: math.MaxUint32, OffsetHigh: math.MaxInt32}
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if !shared {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &at)
	return errors.Is(err, windows.ERROR_LOCK_VIOLATION), err == nil
}

// identity identifies a file as long as it exists.
type identity struct{ info fs.FileInfo }

func identify(info fs.FileInfo) identity { return identity{info} }

func (i identity) is(info fs.FileInfo) bool { return os.SameFile(i.info, info) }
