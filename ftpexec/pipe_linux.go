package ftpexec

import (
	"os"

	"golang.org/x/sys/unix"
)

// spins reports whether f is in blocking mode. The standard library's splice into such a pipe asks again and again
// whether it has room, instead of waiting for it.
func spins(f *os.File) bool {
	flags := 0
	conn, err := f.SyscallConn()
	if err == nil {
		_ = conn.Control(func(fd uintptr) { flags, err = unix.FcntlInt(fd, unix.F_GETFL, 0) })
	}
	return err != nil || flags&unix.O_NONBLOCK == 0
}
