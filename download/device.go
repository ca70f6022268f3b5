package download

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/internal/owner"
	"example.com/ftpfetch/internal/retry"
)

// standard returns the standard stream that path names, or nil. Opening the name again would write from the file's first
// byte.
func standard(path string) *os.File {
	switch filepath.Clean(path) {
	case "/dev/stdout":
		return os.Stdout
	case "/dev/stderr":
		return os.Stderr
	}
	return nil
}

// saveStream writes to a device or FIFO: there is no file to protect or rename. The end of ctx ends the wait for a FIFO's
// reader.
func (j *job) saveStream(ctx context.Context, path string) (r Result, err error) {
	f, own := standard(path), false
	if f == nil {
		own = true
		if f, err = openStream(ctx, path); err != nil {
			return Result{}, err
		}
	}
	stop := context.AfterFunc(ctx, func() { _ = f.SetWriteDeadline(time.Unix(1, 0)) })
	r, err = j.to(ctx, f, path)
	if stop(); ctx.Err() != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		err = context.Cause(ctx)
	}
	if own {
		err = cmp.Or(err, partfile.Failure(path, "cannot be closed", f.Close()))
	}
	if err != nil {
		return Result{}, err
	}
	return Result{Size: r.Size}, nil
}

// readerInterval is the time between two checks whether a FIFO has a reader.
const readerInterval = 20 * time.Millisecond

// openStream opens a device, or a FIFO once it has a reader.
func openStream(ctx context.Context, path string) (*os.File, error) {
	flag := os.O_WRONLY
	if info, err := os.Stat(path); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		flag |= owner.NoWait
	}
	for {
		f, err := os.OpenFile(path, flag, 0)
		switch {
		case err == nil:
			return f, nil
		case flag == os.O_WRONLY || !errors.Is(err, syscall.ENXIO):
			return nil, partfile.Failure(path, "cannot be opened", err)
		}
		if err := retry.Sleep(ctx, readerInterval); err != nil {
			return nil, err
		}
	}
}
