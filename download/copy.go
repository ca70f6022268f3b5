package download

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"golang.org/x/time/rate"

	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/localfile"
)

// bufferSize is how many bytes are copied at a time if they do not go straight from the socket to the file.
const bufferSize = 256 << 10

// sink says where the bytes of a response go.
type sink struct {
	to    io.Writer
	path  string        // of to, for errors
	tee   io.Writer     // gets a copy, unless nil
	limit *rate.Limiter // nil means no limit
	most  int64         // bytes to read; -1 means to the end, which the server confirms
}

// pump copies from body. In the simple case, an unencrypted transfer into a file, bytes go straight there: see
// [ftpexec.Response].Body.
func (w sink) pump(ctx context.Context, body io.Reader) (int64, error) {
	if file, ok := w.to.(*os.File); ok && w.tee == nil && w.limit == nil && w.most < 0 {
		n, err := io.Copy(file, body)
		return n, inFile(err, w.path)
	}
	out := &writer{ctx: ctx, sink: w}
	if w.most < 0 && w.limit == nil {
		_, err := io.Copy(out, body)
		return out.n, err
	}
	if w.most >= 0 {
		body = io.LimitReader(body, w.most)
	}
	_, err := io.CopyBuffer(onlyWriter{out}, onlyReader{body}, make([]byte, w.step()))
	if err == nil && w.most >= 0 && out.n < w.most {
		err = io.ErrUnexpectedEOF // unlikely: a Body returns a better error
	}
	return out.n, err
}

// step returns the buffer size. Under a limit it is about a tenth of a second's bytes, so that data flows evenly.
func (w sink) step() int64 {
	if w.limit == nil {
		return bufferSize
	}
	return int64(min(bufferSize, max(512, w.limit.Limit()/10)))
}

type onlyWriter struct{ io.Writer }

type onlyReader struct{ io.Reader }

// writer writes to a sink, marks its errors as local, and keeps to the limit.
type writer struct {
	ctx context.Context // Write takes no context
	sink
	n int64
}

func (w *writer) Write(p []byte) (int, error) {
	if err := w.wait(len(p)); err != nil {
		return 0, err
	}
	n, err := w.to.Write(p)
	w.n += int64(n)
	if w.tee != nil {
		_, _ = w.tee.Write(p[:n]) // a hash never fails
	}
	if err != nil {
		err = partfile.Failure(w.path, "cannot be written", err)
	}
	return n, err
}

// wait waits until the limit allows n bytes. It returns when the context ends, or at once if the context's deadline would
// come first.
func (w *writer) wait(n int) error {
	for w.limit != nil && n > 0 {
		some := max(1, min(n, w.limit.Burst()))
		if w.limit.WaitN(w.ctx, some) != nil {
			return cmp.Or(context.Cause(w.ctx), context.DeadlineExceeded)
		}
		n -= some
	}
	return nil
}

// inFile marks the errors of writing to a file as local. If the data went straight to the file, the system's errors come
// unmarked.
func inFile(err error, path string) error {
	var server *ftpexec.Error
	var local *localfile.Error
	var system *fs.PathError
	if errors.As(err, &server) || errors.As(err, &local) || !errors.As(err, &system) {
		return err
	}
	return partfile.Failure(path, "cannot be written", err)
}
