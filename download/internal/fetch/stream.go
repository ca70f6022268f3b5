package fetch

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
)

// To fetches the file of a job to w, which path names in errors, as its bytes arrive. It compares a digest at the end, when
// w has everything.
func To(ctx context.Context, from Job, w io.Writer, path string) (r Result, err error) {
	j := newJob(from)
	s := &stream{job: j, w: w}
	check, err := j.expected(ctx)
	if err == nil {
		s.out = sink{ctx: ctx, to: s, path: path, limit: j.Limit, check: check}
		err = s.run(ctx)
	}
	r = Result{Size: s.n.Load(), ModTime: s.modTime}
	if err == nil {
		err = j.sized("received", r.Size)
	}
	if err == nil && check != nil {
		err = check.compare(&r)
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
			now, err := s.ask(ctx)
			if err == nil {
				err = s.same(now.Size, now.Time)
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
	resp, err := s.Source.Do(ctx, &ftpexec.Request{URL: s.URL, Offset: begun - int64(len(s.lap)), More: s.Follows})
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
