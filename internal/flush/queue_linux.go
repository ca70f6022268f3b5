package flush

import (
	"cmp"
	"encoding/binary"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// queue is one of the kernel's (io_setup(2)). No thread waits while the kernel works on it: a thread in fsync(2) keeps
// others of the Go runtime from their work.
type queue struct {
	files   atomic.Int64 // so far
	busy    sync.Mutex   // for good after a failure of the queue
	context uintptr
	eventfd int      // counts the files that are on the disk
	done    *os.File // the same; nil: there is no queue yet
}

// The queue has room for length files. enough is how many make it worthwhile: the kernel takes 20 ms to end it, for which the
// end of the process waits.
const length, enough = 256, 16

func (q *queue) open() bool {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	q.eventfd, q.done = fd, os.NewFile(uintptr(fd), "eventfd")
	_, _, errno := unix.Syscall(unix.SYS_IO_SETUP, length, uintptr(unsafe.Pointer(&q.context)), 0)
	return err == nil && errno == 0
}

// control is a struct iocb, and event a struct io_event (linux/aio_abi.h).
type control struct {
	data           uint64
	_, _           uint32
	opcode, _      uint16
	fd             uint32
	_, _, _, _     uint64
	flags, eventfd uint32
}

type event struct {
	data, _   uint64
	result, _ int64
}

// flush flushes the first of files and returns how many: none if the queue is in use, or there is none. After a failure
// of the queue itself nobody uses it again.
func (q *queue) flush(files []*os.File, errs []error) int {
	if q.files.Add(int64(len(files))) < enough || len(files) == 0 || !q.busy.TryLock() || q.done == nil && !q.open() {
		return 0
	}
	each := make([]control, min(len(files), length))
	all := make([]*control, len(each))
	for i := range each {
		const fsync, notify = 2, 1 // IOCB_CMD_FSYNC, IOCB_FLAG_RESFD
		each[i] = control{data: uint64(i), opcode: fsync, fd: uint32(files[i].Fd()), flags: notify, eventfd: uint32(q.eventfd)}
		all[i] = &each[i]
	}
	n, _, errno := unix.Syscall(unix.SYS_IO_SUBMIT, q.context, uintptr(len(all)), uintptr(unsafe.Pointer(&all[0])))
	if errno != 0 {
		q.busy.Unlock()
		return 0
	}
	var err error
	var count [8]byte
	for left := uint64(n); left > 0 && err == nil; left -= binary.NativeEndian.Uint64(count[:]) {
		_, err = q.done.Read(count[:])
	}
	ended := make([]event, n)
	_, _, errno = unix.Syscall6(unix.SYS_IO_GETEVENTS, q.context, n, n, uintptr(unsafe.Pointer(&ended[0])), 0, 0)
	if err != nil || errno != 0 {
		for i := range n {
			errs[i] = cmp.Or(err, error(errno))
		}
		return int(n)
	}
	q.busy.Unlock()
	for _, e := range ended {
		if e.result < 0 {
			errs[e.data] = &fs.PathError{Op: "fsync", Path: files[e.data].Name(), Err: syscall.Errno(-e.result)}
		}
	}
	return int(n)
}
