package cli

import (
	"io"
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// unblocked reopens the pipe w in non-blocking mode. Bytes can go straight from
// a socket into such a pipe, and closing it ends a write. The mode of w itself
// does not change: other processes share it. If w is not a pipe or cannot be
// reopened, unblocked returns w.
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
