package download

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/time/rate"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/retry"
	"example.com/ftpfetch/urlparse"
)

// To retrieves the file that u names and writes it to w as it arrives: after an error w may hold the start of the file. It
// does not close w. o may be nil; its fields about local files do not apply. To retries a failure that may pass from the
// byte where it stopped, if the server can restart there. It compares a digest at the end, when w has everything.
func To(ctx context.Context, src Source, u *urlparse.URL, w io.Writer, o *Options) (Result, error) {
	if err := o.check(); err != nil {
		return Result{}, err
	}
	return newJob(src, u, o).to(ctx, w, "")
}

// to is [To]. path names w in errors.
func (j *job) to(ctx context.Context, w io.Writer, path string) (r Result, err error) {
	s := &stream{job: j, w: w}
	s.out = sink{ctx: ctx, to: s, path: path, limit: j.o.Limit}
	if s.out.check, err = j.expected(ctx); err == nil {
		err = s.run(ctx)
	}
	r = Result{Size: s.n.Load(), ModTime: s.modTime}
	if err == nil {
		err = j.sized("what arrived has", r.Size)
	}
	if err == nil && s.out.check != nil {
		err = s.out.check.compare(&r)
	}
	return r, err
}

// stream is a transfer that can resume but not start over.
type stream struct {
	*job
	w       io.Writer
	out     sink
	n       atomic.Int64 // bytes written
	lap     []byte       // the last of them
	size    atomic.Int64
	modTime time.Time
	pieces  int // responses
}

func (s *stream) run(ctx context.Context) error {
	defer func() { s.quiet() }()
	for {
		begun := s.n.Load()
		err := s.piece(ctx)
		switch {
		case err == nil && s.pieces == 1:
			return nil
		case err == nil:
			info, err := s.ask(ctx)
			if err == nil {
				err = s.same(info.Size, info.ModTime)
			}
			return err
		case s.n.Load() > 0 && (s.text() || s.size.Load() < 0 || !s.dated(s.modTime)):
			return err // it cannot be resumed
		}
		if err := s.retry.Again(ctx, err, s.n.Load()-begun); err != nil {
			return err
		}
	}
}

// same returns an error if a file of this size and time is not the one that w has the start of.
func (s *stream) same(size int64, modTime time.Time) error {
	if size == s.size.Load() && modTime.Equal(s.modTime) {
		return nil
	}
	return because(ftpexec.ErrChanged, "the file has changed on the server, and a part of it has already been written")
}

// piece writes what is missing, as far as one response brings it.
func (s *stream) piece(ctx context.Context) error {
	begun := s.n.Load()
	resp, err := s.src.Do(ctx, &ftpexec.Request{URL: s.u, Offset: begun - int64(len(s.lap))})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	s.retry.Reached.Store(true)
	err = s.sized("the server's file has", resp.Size)
	if err == nil && begun > 0 {
		err = s.same(resp.Size, resp.ModTime)
	}
	if err != nil {
		return err
	}
	s.pieces++
	s.size.Store(resp.Size)
	s.modTime = resp.ModTime
	s.report(func() (done, total int64) { return s.n.Load(), s.size.Load() })
	b, err := readLap(resp, int64(len(s.lap)))
	if err != nil {
		return err
	}
	if !bytes.Equal(b, s.lap) { // another connection may do better
		return &retry.Known{Err: because(ftpexec.ErrChanged, "%v", errMisplaced), Passes: true}
	}
	err = s.out.pump(resp.Body)
	n := s.n.Load()
	if err == nil && resp.Size >= 0 && n != resp.Size {
		err = fmt.Errorf("%w: %d of %d bytes", ftpexec.ErrTruncated, n, resp.Size)
	}
	if errors.Is(err, ftpexec.ErrTruncated) && resp.Size >= 0 && n >= resp.Size {
		return &retry.Known{Err: err} // everything or too much is written: a retry has nothing to do
	}
	return err
}

// Write writes to w and counts. It keeps the last bytes, because w cannot tell them.
func (s *stream) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	s.n.Add(int64(n))
	s.lap = append(s.lap, p[max(0, n-lapSize):n]...)
	s.lap = s.lap[max(0, len(s.lap)-lapSize):]
	return n, err
}

// standard returns the standard stream that path names, or nil. Opening the name again would write from the first byte.
func standard(path string) *os.File {
	switch filepath.Clean(path) {
	case "/dev/stdout":
		return os.Stdout
	case "/dev/stderr":
		return os.Stderr
	}
	return nil
}

// saveStream writes to a device or FIFO: there is no file to protect or rename. ctx bounds the wait for a FIFO's reader.
func (j *job) saveStream(ctx context.Context, path string) (r Result, err error) {
	f := standard(path)
	if f == nil {
		if f, err = openStream(ctx, path); err != nil {
			return Result{}, err
		}
		defer func() { err = cmp.Or(err, localfile.Failure(path, "cannot be closed", f.Close())) }()
	}
	stop := context.AfterFunc(ctx, func() { _ = f.SetWriteDeadline(time.Unix(1, 0)) })
	r, err = j.to(ctx, f, path)
	if stop(); ctx.Err() != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		err = context.Cause(ctx)
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
		flag |= disk.NoWait
	}
	for {
		f, err := os.OpenFile(path, flag, 0)
		switch {
		case err == nil:
			return f, nil
		case flag == os.O_WRONLY || !errors.Is(err, syscall.ENXIO):
			return nil, localfile.Failure(path, "cannot be opened", err)
		}
		if err := retry.Sleep(ctx, readerInterval); err != nil {
			return nil, err
		}
	}
}

// bufferSize is how many bytes are copied at a time if they do not go straight from the socket to the file.
const bufferSize = 256 << 10

var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// sink is where the bytes of a response go. Its errors are local.
type sink struct {
	ctx   context.Context // Write takes no context
	to    io.Writer
	path  string        // of to, for errors
	check *digestCheck  // gets a copy, unless nil
	limit *rate.Limiter // nil means no limit
}

// pump copies body to its end. In the simple case, all of an unencrypted response into a file, bytes go straight there: see
// [ftpexec.Response].Body.
func (w *sink) pump(body io.Reader) (err error) {
	if _, whole := body.(io.WriterTo); whole && w.limit == nil {
		if file, ok := w.to.(*os.File); ok && w.check == nil {
			_, err = io.Copy(file, body)
			_, system := errors.AsType[*fs.PathError](err)
			if _, server := errors.AsType[*ftpexec.Error](err); system && !server { // the file's own error, not yet marked
				err = localfile.Failure(w.path, "cannot be written", err)
			}
			return err
		}
		_, err = io.Copy(w, body) // with a buffer of the body's
		return err
	}
	size := float64(bufferSize)
	if w.limit != nil { // bytes of a tenth of a second, so that data flows evenly
		size = min(size, max(512, float64(w.limit.Limit()/10)))
	}
	buffer := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buffer)
	_, err = io.CopyBuffer(w, struct{ io.Reader }{body}, buffer[:int(size)])
	return err
}

// Write waits until the limit allows p. It returns when the context ends, or at once if its deadline would come first.
func (w *sink) Write(p []byte) (int, error) {
	for left := len(p); w.limit != nil && left > 0; {
		some := max(1, min(left, w.limit.Burst()))
		if w.limit.WaitN(w.ctx, some) != nil {
			return 0, cmp.Or(context.Cause(w.ctx), context.DeadlineExceeded)
		}
		left -= some
	}
	n, err := w.to.Write(p)
	if w.check != nil {
		_, _ = w.check.Write(p[:n]) // a hash never fails
	}
	return n, localfile.Failure(w.path, "cannot be written", err)
}
