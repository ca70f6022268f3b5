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

// flushAll flushes the file system that has all of the files. It does so only if that takes less time than to flush many
// files one by one: if little waits in memory, because what other programs have written is flushed too. And only if its
// result can be trusted: a network does not flush on the server, and an older Linux does not tell of every error.
func flushAll(files []*os.File) error {
	var fs unix.Statfs_t
	first := int(files[0].Fd())
	if err := unix.Fstatfs(first, &fs); err != nil {
		return err
	}
	if !together(files) {
		return errors.ErrUnsupported
	}
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil || unwritten(text) > mostUnwritten || !local[uint32(fs.Type)] || !tellsErrors() {
		return cmp.Or(err, errors.ErrUnsupported)
	}
	return unix.Syncfs(first)
}

// together reports whether all files are in one file system: another one may be mounted in the midst of a tree.
func together(files []*os.File) bool {
	var first, other unix.Stat_t
	err := unix.Fstat(int(files[0].Fd()), &first)
	for _, f := range files {
		err = cmp.Or(err, unix.Fstat(int(f.Fd()), &other))
		if other.Dev != first.Dev {
			return false
		}
	}
	return err == nil
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
