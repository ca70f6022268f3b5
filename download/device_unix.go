//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package download

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// openDevice opens a device or FIFO for writing. waits reports that a FIFO has
// no reader yet.
func openDevice(path string) (f *os.File, waits bool, err error) {
	flag := os.O_WRONLY
	if info, err := os.Stat(path); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		flag |= syscall.O_NONBLOCK
	}
	f, err = os.OpenFile(path, flag, 0)
	return f, flag != os.O_WRONLY && errors.Is(err, syscall.ENXIO), err
}
