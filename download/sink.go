package download

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/localfile"
)

// bufferSize is how many bytes are copied at a time if the kernel does not copy from the socket to the file.
const bufferSize = 256 << 10

var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// sink is where the bytes of a response go. Its errors are about the local side.
type sink struct {
	ctx   context.Context // Write takes no context
	to    io.Writer
	path  string  // the name of to in errors
	check *check  // gets the bytes too; may be nil
	limit limiter // nil means no limit
}

// limiter limits the bytes per second: see Options.Limit.
type limiter interface {
	WaitN(ctx context.Context, n int) error
}

// mostAtOnce returns the most bytes to ask of a limiter in one call.
func mostAtOnce(l limiter) int {
	if l, ok := l.(interface{ Burst() int }); ok {
		return max(1, min(bufferSize, l.Burst()))
	}
	return 32 << 10
}

// copy copies body to its end. Without a digest or limit, io.Copy lets the kernel copy all of an unencrypted response
// to a file: see [ftpexec.Response].Body.
func (w *sink) copy(body io.Reader) error {
	_, whole := body.(io.WriterTo)
	file, isFile := w.to.(*os.File)
	if whole && isFile && w.check == nil && w.limit == nil {
		_, err := io.Copy(file, body)
		return w.local(err)
	}
	size := bufferSize
	if w.limit != nil { // small reads make the data flow evenly
		size = max(512, mostAtOnce(w.limit))
	}
	buffer := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buffer)
	_, err := io.CopyBuffer(w, struct{ io.Reader }{body}, buffer[:size])
	return err
}

// local marks err as an error about the local side if the file has caused it.
func (w *sink) local(err error) error {
	_, system := errors.AsType[*fs.PathError](err)
	_, server := errors.AsType[*ftpexec.Error](err)
	if system && !server {
		return localfile.Failure(w.path, "cannot be written", err)
	}
	return err
}

// Write waits until the limit allows p, and then writes p. If the context ends, or its deadline would come first, it
// returns an error. A limiter reports the latter by an error of its own.
func (w *sink) Write(p []byte) (int, error) {
	for left := len(p); w.limit != nil && left > 0; {
		some := min(left, mostAtOnce(w.limit))
		if err := w.limit.WaitN(w.ctx, some); err != nil {
			if _, bounded := w.ctx.Deadline(); bounded {
				err = fmt.Errorf("%w: %w", context.DeadlineExceeded, err)
			}
			return 0, cmp.Or(context.Cause(w.ctx), err)
		}
		left -= some
	}
	n, err := w.to.Write(p)
	if w.check != nil {
		_, _ = w.check.Write(p[:n]) // a hash never fails
	}
	return n, localfile.Failure(w.path, "cannot be written", err)
}
