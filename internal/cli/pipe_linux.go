package cli

import (
	"io"
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// unblocked opens the pipe that w is once more, in non-blocking mode: bytes can
// go straight into such a one, and closing it ends a write. The mode of w itself
// is that of other processes too, and stays. What cannot be opened is returned
// as it is.
func unblocked(w io.Writer) (_ io.Writer, done func()) {
	f, ok := w.(*os.File)
	if !ok {
		return w, func() {}
	}
	if info, err := f.Stat(); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		return w, func() {}
	}
	again, err := os.OpenFile("/proc/self/fd/"+strconv.Itoa(int(f.Fd())), os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return w, func() {}
	}
	return again, func() { again.Close() }
}
