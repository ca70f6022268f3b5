package download

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"
)

// standard is the open file that path names, where the system has such names:
// opening it anew would begin at its first octet again.
func standard(path string) *os.File {
	switch filepath.Clean(path) {
	case "/dev/stdout":
		return os.Stdout
	case "/dev/stderr":
		return os.Stderr
	}
	return nil
}

// isDescriptor reports the names of this process's open files, under which
// nothing can be replaced.
func isDescriptor(path string) bool {
	dir := filepath.Dir(path)
	return dir == "/dev/fd" || dir == "/proc/self/fd"
}

// saveStream writes to a device or FIFO, where there is nothing to protect and
// nothing to rename. Waiting for a FIFO's reader ends with ctx.
func saveStream(ctx context.Context, path string, fill func(*os.File) (int64, error)) (Result, error) {
	f, done := standard(path), func() error { return nil }
	if f == nil {
		var err error
		if f, err = openStream(ctx, path); err != nil {
			return Result{}, err
		}
		done = f.Close
	}
	stop := context.AfterFunc(ctx, func() { _ = f.SetWriteDeadline(time.Unix(1, 0)) })
	n, err := fill(f)
	if stop(); ctx.Err() != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		err = context.Cause(ctx)
	}
	if closing := done(); err == nil && closing != nil {
		err = failure(path, "cannot be closed", closing)
	}
	if err != nil {
		return Result{}, err
	}
	return Result{Path: path, Size: n}, nil
}

// readerInterval is how often it is looked whether a FIFO has a reader.
const readerInterval = 20 * time.Millisecond

// openStream opens a device, or a FIFO once it has a reader.
func openStream(ctx context.Context, path string) (*os.File, error) {
	for {
		f, waits, err := openDevice(path)
		switch {
		case err == nil:
			return f, nil
		case !waits:
			return nil, failure(path, "cannot be opened", err)
		}
		if err := sleep(ctx, readerInterval); err != nil {
			return nil, err
		}
	}
}
