package download

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"time"

	"golang.org/x/time/rate"

	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/retry"
)

// bufferSize is how many bytes are copied at a time if they do not go straight
// from the socket to the file.
const bufferSize = 256 << 10

// sink says where the bytes of a response go.
type sink struct {
	to    io.Writer
	path  string    // of to, for errors
	tee   io.Writer // gets a copy, unless nil
	limit *Limiter  // nil means no limit
	most  int64     // bytes to read; -1 means to the end, which the server confirms
}

// pump copies from body. In the simple case, an unencrypted transfer into a file,
// bytes go straight there: see [ftpexec.Response].Body.
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

// step returns the buffer size. Under a limit it is about a tenth of a second's
// bytes, so that data flows evenly.
func (w sink) step() int64 {
	if w.limit == nil {
		return bufferSize
	}
	return min(bufferSize, max(leastBurst, int64(w.limit.tokens.Limit()/10)))
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

// wait waits until the limit allows n bytes. It returns when the context ends, or
// at once if the context's deadline would come first.
func (w *writer) wait(n int) error {
	for w.limit != nil && n > 0 {
		some := min(n, w.limit.tokens.Burst())
		turn := w.limit.tokens.ReserveN(time.Now(), some)
		err := context.DeadlineExceeded
		if end, ok := w.ctx.Deadline(); w.ctx.Err() != nil || !ok || turn.Delay() <= time.Until(end) {
			err = retry.Sleep(w.ctx, turn.Delay())
		}
		if err != nil {
			turn.Cancel()
			return err
		}
		n -= some
	}
	return nil
}

// inFile marks the errors of writing to a file as local. If the data went
// straight to the file, the system's errors come unmarked.
func inFile(err error, path string) error {
	var server *ftpexec.Error
	var local *partfile.Error
	var system *fs.PathError
	if errors.As(err, &server) || errors.As(err, &local) || !errors.As(err, &system) {
		return err
	}
	return partfile.Failure(path, "cannot be written", err)
}

// Limiter limits the bytes per second of all downloads that share it; see
// Options.Limit. It is safe for concurrent use.
type Limiter struct{ tokens *rate.Limiter }

// leastBurst is how many bytes are read at once at the lowest rates.
const leastBurst = 512

// NewLimiter returns a Limiter for a number of bytes per second. It returns nil,
// which means no limit, if that is not more than 0.
func NewLimiter(bytesPerSecond int64) *Limiter { return newLimiter(bytesPerSecond, time.Now()) }

// newLimiter returns a Limiter whose burst is the bytes of an eighth of a second,
// so that a transfer does not shoot ahead after a pause. It starts empty: at no
// time have the downloads received more than the rate times its age.
func newLimiter(limit int64, now time.Time) *Limiter {
	if limit <= 0 {
		return nil
	}
	burst := min(max(limit/8, leastBurst), math.MaxInt32)
	l := rate.NewLimiter(rate.Limit(limit), int(burst))
	l.AllowN(now, int(burst))
	return &Limiter{l}
}
