package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/timing"
)

// standard returns the standard stream that path names, or nil. If the command opened the path anew, it would write
// from the first byte.
func standard(path string) *os.File {
	switch filepath.Clean(path) {
	case "/dev/stdout":
		return os.Stdout
	case "/dev/stderr":
		return os.Stderr
	}
	return nil
}

// device is a standard stream, a device or a FIFO. It has no file to protect or rename.
type device struct {
	*os.File
	ctx context.Context // its end ends a write that nobody reads
}

func (d *device) Write(p []byte) (int, error) {
	n, err := d.File.Write(p)
	if d.ctx.Err() != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		err = context.Cause(d.ctx)
	}
	return n, err
}

// openDevice opens path if it names a device or a FIFO; for a FIFO it waits until there is a reader. For anything else
// it returns nil. done closes the device, unless it is a standard stream.
func openDevice(ctx context.Context, path string) (d *device, done func() error, err error) {
	f := standard(path)
	closes := f == nil
	if closes {
		f, err = openSpecial(ctx, path)
		if f == nil {
			return nil, nil, localfile.Failure(path, "cannot be opened", err)
		}
	}
	stop := context.AfterFunc(ctx, func() { _ = f.SetWriteDeadline(time.Unix(1, 0)) })
	done = func() error {
		stop()
		if !closes {
			return nil
		}
		return localfile.Failure(path, "cannot be closed", f.Close())
	}
	return &device{f, ctx}, done, nil
}

// readerInterval is the time between two checks for a reader of a FIFO.
const readerInterval = 20 * time.Millisecond

// openSpecial opens a device, or a FIFO once it has a reader. It returns nil if path names neither.
func openSpecial(ctx context.Context, path string) (*os.File, error) {
	info, err := os.Stat(path)
	flag := os.O_WRONLY
	switch {
	case err != nil: // the download reports the error
		return nil, nil
	case info.Mode()&fs.ModeNamedPipe != 0:
		flag |= disk.NoWait
	case info.Mode()&fs.ModeCharDevice == 0:
		return nil, nil
	}
	for {
		f, err := os.OpenFile(path, flag, 0)
		if err == nil || flag == os.O_WRONLY || !errors.Is(err, syscall.ENXIO) {
			return f, err
		}
		if err := timing.Sleep(ctx, readerInterval); err != nil {
			return nil, err
		}
	}
}
