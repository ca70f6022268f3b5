package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// StartFlush has the system start to write a file to the disk. It does not wait, and promises nothing.
func StartFlush(f *os.File) {
	if raw, err := f.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = unix.SyncFileRange(int(fd), 0, 0, unix.SYNC_FILE_RANGE_WRITE) })
	}
}
