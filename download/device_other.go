//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package download

import (
	"os"
)

// openDevice opens a device for writing.
func openDevice(path string) (f *os.File, waits bool, err error) {
	f, err = os.OpenFile(path, os.O_WRONLY, 0)
	return f, false, err
}
