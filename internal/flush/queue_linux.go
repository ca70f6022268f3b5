package flush

import (
	"cmp"
	"encoding/binary"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// queue is one of the kernel's (io_setup(2)). No thread waits while the kernel works on it: a thread in fsync(2) keeps
// others of the Go runtime from their work.
type queue struct {
	context uintptr
	eventfd int      // counts the files that are on the disk
	done    *os.File // the same
}

const length = 256 // of the queue

var (
	busy sync.Mutex
	only = sync.OnceValues(func() (q queue, err error) {
		if q.eventfd, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
			return q, err
		}
		q.done = os.NewFile(uintptr(q.eventfd), "eventfd")
		if _, _, errno := unix.Syscall(unix.SYS_IO_SETUP, length, uintptr(unsafe.Pointer(&q.context)), 0); errno != 0 {
			err = errno
		}
		return q, err
	})
)

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

// queued flushes the first of files and returns how many: none if the queue is in use, or there is none. After a failure
// of the queue itself nobody uses it again.
func queued(files []*os.File, errs []error) int {
	if len(files) == 0 || !busy.TryLock() {
		return 0
	}
	q, err := only()
	if err != nil {
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
		busy.Unlock()
		return 0
	}
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
	busy.Unlock()
	for _, e := range ended {
		if e.result < 0 {
			errs[e.data] = &fs.PathError{Op: "fsync", Path: files[e.data].Name(), Err: syscall.Errno(-e.result)}
		}
	}
	return int(n)
}
