package download

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"example.com/ftpfetch/ftpexec"
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
func (j *job) to(ctx context.Context, w io.Writer, path string) (Result, error) {
	s := &streaming{job: j, w: w, path: path, size: -1}
	var err error
	if s.check, err = s.expected(ctx); err != nil {
		return Result{}, err
	}
	if err = s.run(ctx); err == nil {
		err = s.arrived(s.n.Load())
	}
	r := Result{Size: s.n.Load(), ModTime: s.modTime}
	if err == nil && s.check != nil {
		err = s.check.compare(&r)
	}
	return r, err
}

// streaming is a transfer that can resume but not restart.
type streaming struct {
	*job
	check *digestCheck
	w     io.Writer
	path  string

	n       atomic.Int64 // bytes written
	lap     []byte       // the last of them
	size    int64
	modTime time.Time
	live    atomic.Pointer[ftpexec.Response]
}

func (s *streaming) run(ctx context.Context) error {
	stop := func() {}
	defer func() { stop() }()
	pieces := 0
	for {
		before := s.n.Load()
		resp, err := s.src.Do(ctx, &ftpexec.Request{URL: s.u, Offset: before - int64(len(s.lap))})
		if err == nil {
			s.retry.Reached.Store(true)
			s.live.Store(resp)
			if pieces++; pieces == 1 {
				stop = s.o.report(s.count)
			}
			err = s.copy(ctx, resp)
		}
		if err == nil {
			return s.same(ctx, pieces)
		}
		if s.n.Load() > 0 && (s.text() || s.size < 0 || !s.dated(s.modTime)) {
			return err // it cannot be resumed
		}
		if err := s.retry.Again(ctx, err, s.n.Load() > before); err != nil {
			return err
		}
	}
}

// count serves Progress events.
func (s *streaming) count() (done, total int64) { return s.n.Load(), s.live.Load().Size }

// Write writes to w and counts. It keeps the last bytes, because w cannot tell them.
func (s *streaming) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	s.n.Add(int64(n))
	s.lap = append(s.lap, p[max(0, n-lapSize):n]...)
	s.lap = s.lap[max(0, len(s.lap)-lapSize):]
	return n, err
}

// same checks that a file that came in several pieces did not change.
func (s *streaming) same(ctx context.Context, pieces int) error {
	if pieces < 2 {
		return nil
	}
	return s.retry.Do(ctx, func() error {
		info, err := s.stat(ctx)
		if err == nil && (info.Size != s.size || !info.ModTime.Equal(s.modTime)) {
			err = changed
		}
		return err
	})
}

var changed = because(ftpexec.ErrChanged, "the file has changed on the server, and a part of it has already been written")

func (s *streaming) copy(ctx context.Context, resp *ftpexec.Response) error {
	defer resp.Body.Close()
	if err := s.rightSize(resp); err != nil {
		return err
	}
	if s.n.Load() > 0 && (resp.Size != s.size || !resp.ModTime.Equal(s.modTime)) {
		return changed
	}
	s.size, s.modTime = resp.Size, resp.ModTime
	b := make([]byte, len(s.lap))
	if _, err := io.ReadFull(resp.Body, b); err != nil {
		return bodyError(err)
	}
	if !bytes.Equal(b, s.lap) { // another connection may do better
		return &retry.Known{Err: because(ftpexec.ErrChanged, string(errMisplaced)), Passes: true}
	}
	w := sink{to: s, path: s.path, limit: s.o.Limit, most: -1}
	if s.check != nil {
		w.tee = s.check
	}
	_, err := w.pump(ctx, resp.Body)
	n := s.n.Load()
	if err == nil && s.size >= 0 && n != s.size {
		err = fmt.Errorf("%w: %d of %d bytes", ftpexec.ErrTruncated, n, s.size)
	}
	if errors.Is(err, ftpexec.ErrTruncated) && s.size >= 0 && n >= s.size {
		return &retry.Known{Err: err} // everything or too much is written: a retry has nothing to do
	}
	return err
}
