package download

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"example.com/ftpfetch/download/internal/decide"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/ftpexec/retry"
	"example.com/ftpfetch/internal/guard"
)

// fetchTo fetches a file and writes it to w as it arrives. It compares a digest at the end, when w has all bytes.
// path is the name of w in errors.
func fetchTo(ctx context.Context, f *fetch, w io.Writer, path string) (r Result, err error) {
	s := &stream{fetch: f, w: w}
	check, err := f.expected(ctx)
	if err == nil {
		s.out = sink{ctx: ctx, to: s, path: path, limit: f.Limit, check: check}
		err = s.run(ctx)
	}
	r = Result{Size: s.n.Load(), ModTime: s.has.Time, Retries: int(f.retries.Load())}
	if err == nil {
		err = f.checkSize("received", r.Size)
	}
	if err == nil && check != nil {
		err = check.compare(&r)
	}
	return r, guard.Ended(ctx, err)
}

// stream is a fetch that can resume but not start over.
type stream struct {
	*fetch
	w      io.Writer
	out    sink
	n      atomic.Int64 // bytes written
	lap    []byte       // the last overlapSize bytes written
	has    decide.Stamp // size and time of the server's file
	pieces int          // number of responses
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
			return cmp.Or(err, s.checkUnchanged(now))
		case s.n.Load() > 0 && (s.text() || s.has.Size < 0 || !s.mayJoin(s.has.Time)):
			return err // it cannot be resumed
		}
		if err := s.retry.Again(ctx, err, s.n.Load()-begun); err != nil {
			return err
		}
	}
}

// checkUnchanged returns an error if the server's file is not the file whose start was written to w.
func (s *stream) checkUnchanged(now decide.Stamp) error {
	if now.Size == s.has.Size && now.Time.Equal(s.has.Time) {
		return nil
	}
	return errorf(ftpexec.ErrChanged,
		"the file has changed on the server, and a part of it has already been written")
}

// piece writes the bytes of one response that w lacks.
func (s *stream) piece(ctx context.Context) error {
	from := s.n.Load() - int64(len(s.lap))
	resp, err := s.src.Do(ctx, &ftpexec.Request{URL: s.url, Offset: from, Unproven: true, More: s.caller.follows})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	s.retry.Reached.Store(true)
	now := decide.Stamp{Size: resp.Size, Time: resp.ModTime}
	err = s.checkSize("the server's file has", now.Size)
	if err == nil && s.lap != nil {
		err = s.checkUnchanged(now)
	}
	if err != nil {
		return err
	}
	s.pieces++
	s.has = now
	s.report(func() (done, total int64) { return s.n.Load(), now.Size })
	b, err := readOverlap(resp.Body, int64(len(s.lap)))
	if err != nil {
		return err
	}
	if !bytes.Equal(b, s.lap) { // another connection may start at the right byte, so this one is not used again
		resp.Body.Close()
		s.src.CloseIdleConnections()
		return &retry.Judged{Err: errorf(ftpexec.ErrChanged, "%v", errMisplaced), Passes: true}
	}
	err = s.out.copy(resp.Body)
	n := s.n.Load()
	if err == nil && now.Size >= 0 && n != now.Size {
		err = fmt.Errorf("%w: %d of %d bytes", ftpexec.ErrTruncated, n, now.Size)
	}
	if errors.Is(err, ftpexec.ErrTruncated) && now.Size >= 0 && n >= now.Size {
		return &retry.Judged{Err: err} // all bytes are written, so a retry has nothing to do
	}
	return err
}

// Write writes to w and counts the bytes. It keeps the last ones, because they cannot be read from w.
func (s *stream) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	s.n.Add(int64(n))
	s.lap = append(s.lap, p[max(0, n-overlapSize):n]...)
	s.lap = s.lap[max(0, len(s.lap)-overlapSize):]
	return n, err
}
