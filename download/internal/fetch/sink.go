package fetch

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

// bufferSize is how many bytes are copied at a time if they do not go straight from the socket to the file.
const bufferSize = 256 << 10

var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// sink is where the bytes of a response go. Its errors are local.
type sink struct {
	ctx   context.Context // Write takes no context
	to    io.Writer
	path  string // of to, for errors
	check *check // gets a copy, unless nil
	limit Limit  // nil means no limit
}

// Limit limits bytes: see download.Options.
type Limit interface {
	WaitN(ctx context.Context, n int) error
}

// atOnce returns how many bytes a Limit is asked for at once.
func atOnce(l Limit) int {
	if l, ok := l.(interface{ Burst() int }); ok {
		return max(1, min(bufferSize, l.Burst()))
	}
	return 32 << 10
}

// pump copies body to its end. In the simple case, all of an unencrypted response into a file, bytes go straight there: see
// [ftpexec.Response].Body.
func (w *sink) pump(body io.Reader) error {
	_, whole := body.(io.WriterTo)
	file, isFile := w.to.(*os.File)
	if whole && isFile && w.check == nil && w.limit == nil {
		_, err := io.Copy(file, body)
		_, system := errors.AsType[*fs.PathError](err)
		_, server := errors.AsType[*ftpexec.Error](err)
		if system && !server { // the file's own error, not yet marked
			err = localfile.Failure(w.path, "cannot be written", err)
		}
		return err
	}
	size := bufferSize
	if w.limit != nil { // so that data flows evenly
		size = max(512, atOnce(w.limit))
	}
	buffer := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buffer)
	_, err := io.CopyBuffer(w, struct{ io.Reader }{body}, buffer[:size])
	return err
}

// Write waits until the limit allows p. It returns when the context ends, or at once if its deadline would come first, which
// a limiter reports as an error of its own.
func (w *sink) Write(p []byte) (int, error) {
	for left := len(p); w.limit != nil && left > 0; {
		some := min(left, atOnce(w.limit))
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
