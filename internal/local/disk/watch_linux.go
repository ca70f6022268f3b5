package disk

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// local are file systems of which the kernel knows everything: who opens a file, and what is on the disk.
var local = map[uint32]bool{
	unix.EXT4_SUPER_MAGIC: true, unix.XFS_SUPER_MAGIC: true, unix.BTRFS_SUPER_MAGIC: true,
	unix.F2FS_SUPER_MAGIC: true, unix.TMPFS_MAGIC: true,
}

// WatchOpens starts to watch a file that this process has open for writing. It returns nil if another process has the
// file open too, and if the system cannot tell.
func WatchOpens(f *os.File) (w *Watch) {
	raw, err := f.SyscallConn()
	if err == nil {
		_ = raw.Control(func(fd uintptr) { w = watchOpens(int(fd)) })
	}
	return w
}

func watchOpens(fd int) *Watch {
	var fs unix.Statfs_t
	if unix.Fstatfs(fd, &fs) != nil || !local[uint32(fs.Type)] {
		return nil
	}
	events, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil
	}
	w := &Watch{os.NewFile(uintptr(events), "inotify")}
	_, err = unix.InotifyAddWatch(events, fmt.Sprintf("/proc/self/fd/%d", fd), unix.IN_OPEN)
	if err != nil || !onlyOpener(fd) {
		w.Close()
		return nil
	}
	return w
}

// onlyOpener reports whether no other process has the file open: only then does the kernel grant a lease for writing.
// For the moment until the lease ends again, a process that opens the file waits, or gets EAGAIN if it does not want to
// wait. The kernel would tell of it with SIGIO, which ends programs that do not expect it; every Go program gets and
// ignores SIGURG.
func onlyOpener(fd int) bool {
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETSIG, int(unix.SIGURG)); err != nil {
		return false
	}
	_, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_WRLCK)
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_UNLCK)
	}
	return err == nil
}

// opened reports whether there is an event.
func (w *Watch) opened() bool {
	raw, err := w.events.SyscallConn()
	if err == nil {
		_ = raw.Control(func(fd uintptr) {
			var event [unix.SizeofInotifyEvent]byte
			_, err = unix.Read(int(fd), event[:])
		})
	}
	return err != unix.EAGAIN
}

// Dense reports whether every byte of a file of this size has been written: a byte that was cut off, and is in the file
// again because bytes after it were written, has not.
func Dense(f *os.File, size int64) bool {
	hole, err := unix.Seek(int(f.Fd()), 0, unix.SEEK_HOLE)
	return err == nil && hole >= size
}
