package download

import (
	"context"
	"errors"
	"fmt"
	"io"

	"example.com/ftpfetch/ftpexec"
)

// errNoRestart is a server without REST, found out on the way.
var errNoRestart = fmt.Errorf("%w: no restart", errAnew)

// refusal is one of the sentinels with what it is about.
type refusal struct {
	err  error
	text string
}

func (e *refusal) Error() string { return e.text }
func (e *refusal) Unwrap() error { return e.err }

// rightSize compares what the server tells with what the caller expects.
func (r *retrieval) rightSize(resp *ftpexec.Response) error {
	if want := r.o.Size; want != nil && resp.Size >= 0 && resp.Size != *want {
		return &refusal{ErrSize, fmt.Sprintf("the server's file has %d octets, not %d as expected", resp.Size, *want)}
	}
	return nil
}

// accept compares what the server tells of its file with what is known, before
// any octet is taken. It returns gap with its end. Where the file is another
// one everything begins anew: errAnew, unless nothing was there yet.
func (r *retrieval) accept(resp *ftpexec.Response, gap span) (span, error) {
	s := r.ledger.snapshot()
	why := r.differs(s, resp)
	if why != "" {
		if err := r.another(why); err != nil {
			return gap, err
		}
		if len(s.done) > 0 {
			return gap, errAnew
		}
		gap = span{0, -1}
	}
	if r.inherited {
		r.resumed = s.done.octets()
		r.responses.Add(1)
		r.o.notify(Event{Kind: Resumed, Offset: r.resumed, Text: fmt.Sprintf("going on from %d octets", r.resumed)})
	}
	fresh := s.size < 0 || why != ""
	r.inherited, r.untouched = false, false
	r.ledger.know(resp.Size, resp.ModTime)
	if gap.end < 0 {
		gap.end = resp.Size
	}
	if fresh || gap.end < 0 {
		return gap, r.ledger.begin()
	}
	return gap, nil
}

// another begins anew because the server's file is not the one begun with.
func (r *retrieval) another(why string) error {
	if r.restarts++; r.restarts > maxRestarts {
		return &refusal{ErrChanged, "the file changes on the server while it is read: " + why}
	}
	return r.anew(why)
}

// differs says why resp is not the file that s has octets of, or "". Within a
// run a server that never tells the time is believed by the size; over runs
// that takes Continue.
func (r *retrieval) differs(s state, resp *ftpexec.Response) string {
	known, had := !resp.ModTime.IsZero(), !s.modTime.IsZero()
	switch {
	case s.size < 0 && len(s.done) == 0:
		return ""
	case s.size < 0 && resp.Size < 0:
		return "the server does not tell the file's size"
	case s.size < 0 && s.done.end() > resp.Size:
		return fmt.Sprintf("%d octets are there, but the server's file has only %d", s.done.end(), resp.Size)
	case s.size < 0:
		return ""
	case s.size != resp.Size:
		return fmt.Sprintf("the server's file now has %s octets, not %d", number(resp.Size), s.size)
	case known && had && !s.modTime.Equal(resp.ModTime):
		return "the server's file has been modified"
	case known && had, len(s.done) == 0, r.inherited && r.o.Continue:
		return ""
	case r.inherited, known != had:
		return "the server does not always tell the file's time, so it may be another file"
	}
	return ""
}

// same makes sure that a file that came in several pieces was the same one all
// the time: between the answer about its time and the data it may be replaced.
func (r *retrieval) same(ctx context.Context) error {
	if r.responses.Load() < 2 {
		return nil
	}
	info, err := r.src.Stat(ctx, r.u)
	if err != nil {
		return err
	}
	s := r.ledger.snapshot()
	if info.Size == s.size && info.ModTime.Equal(s.modTime) {
		return nil
	}
	if err := r.another("the server's file has been modified"); err != nil {
		return err
	}
	return errAnew
}

func number(n int64) string {
	if n < 0 {
		return "an unknown number of"
	}
	return fmt.Sprint(n)
}

// fetch writes one span of the file and returns how many of its octets count;
// whole says that they may pass by the digest on their way. The span that ends
// the file is read until the server confirms the end.
func (r *retrieval) fetch(ctx context.Context, resp *ftpexec.Response, x span, whole bool) (int64, error) {
	w := way{path: r.ledger.part.path, limit: r.o.Limit, most: -1}
	if tail := x.end == resp.Size; !tail {
		w.most = x.len()
	}
	if r.check != nil && whole {
		if err := r.check.reach(ctx, r.ledger.part.f, x.start, w.path); err != nil {
			return 0, err
		}
		w.tee = r.check
	}
	s, err := r.ledger.open(x)
	if err != nil {
		return 0, err
	}
	w.to = s.f
	_, err = w.pump(ctx, resp.Body)
	n, cerr := r.ledger.close(s)
	r.responses.Add(1)
	if err == nil && cerr != nil {
		err = failure(w.path, "cannot be closed", cerr)
	}
	if err == nil && w.most < 0 {
		r.confirmed.Store(true)
	}
	return n, bodyError(err)
}

// bodyError makes sure that a copy that failed is not taken for one that ended.
func bodyError(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return ftpexec.ErrTruncated
	}
	return err
}
