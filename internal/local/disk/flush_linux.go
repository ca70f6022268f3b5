package disk

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// StartFlush has the system start to write a file to the disk. It does not wait, and promises nothing.
func StartFlush(f *os.File) {
	if raw, err := f.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = unix.SyncFileRange(int(fd), 0, 0, unix.SYNC_FILE_RANGE_WRITE) })
	}
}

// flushAll flushes the file system of f. It does so only if that takes less time than to flush many files one by one: if
// little waits in memory, because what other programs have written is flushed too. And only if its result can be
// trusted: a network does not flush on the server, and an older Linux does not tell of every error.
func flushAll(f *os.File) error {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &fs); err != nil {
		return err
	}
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil || unwritten(text) > mostUnwritten || !local[uint32(fs.Type)] || !tellsErrors() {
		return cmp.Or(err, errors.ErrUnsupported)
	}
	return unix.Syncfs(int(f.Fd()))
}

// flushed returns the error, if any, with which the system has written a file in flushAll or before.
func flushed(f *os.File) error {
	return unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WAIT_BEFORE)
}

// tellsErrors reports whether this is Linux 5.17 or later.
var tellsErrors = sync.OnceValue(func() bool {
	var name unix.Utsname
	var major, minor int
	err := unix.Uname(&name)
	_, malformed := fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &major, &minor)
	return err == nil && malformed == nil && (major > 5 || major == 5 && minor >= 17)
})

// mostUnwritten is how many KiB may wait in memory for flushAll.
const mostUnwritten = 64 << 10

// unwritten returns how many KiB wait in memory for all disks, as the text of /proc/meminfo says.
func unwritten(meminfo []byte) (kib int) {
	for line := range bytes.Lines(meminfo) {
		words := bytes.Fields(line)
		if len(words) > 1 && (string(words[0]) == "Dirty:" || string(words[0]) == "Writeback:") {
			n, _ := strconv.Atoi(string(words[1])) // the kernel writes numbers
			kib += n
		}
	}
	return kib
}
