package ftpexec

import (
	"os"

	"golang.org/x/sys/unix"
)

// spins reports whether f is in blocking mode. If such a pipe is full, the standard library's splice polls it in a busy
// loop instead of waiting.
func spins(f *os.File) bool {
	flags := 0
	conn, err := f.SyscallConn()
	if err == nil {
		_ = conn.Control(func(fd uintptr) { flags, err = unix.FcntlInt(fd, unix.F_GETFL, 0) })
	}
	return err != nil || flags&unix.O_NONBLOCK == 0
}
