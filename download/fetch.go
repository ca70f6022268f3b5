package download

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/retry"
)

// accept compares what the server says about its file with what is known, before
// any byte is read. It returns gap with its end filled in. If the file is a
// different one the transfer starts over: with errAgain, unless the part was
// empty.
func (t *transfer) accept(resp *ftpexec.Response, gap span) (span, error) {
	s := t.arrivals.snapshot()
	if err := t.told(s, resp.Size, resp.ModTime); err != nil {
		return gap, err
	}
	why := t.differs(s, resp)
	if why != "" {
		if err := t.another(why); err != nil {
			return gap, err
		}
		gap = span{0, -1}
	}
	if err := t.mayTakeOver(resp); err != nil {
		return gap, err
	}
	if err := t.arrivals.compare(resp, t.arrivals.part.f, before(gap.start)); err != nil {
		return gap, err
	}
	if t.inherited {
		t.resumed = s.done.octets()
		t.responses.Add(1)
		t.o.notify(Event{Kind: Resumed, Done: t.resumed, Text: fmt.Sprintf("resuming from %d bytes", t.resumed)})
	}
	fresh := s.size < 0 || why != ""
	t.inherited, t.theirs = false, false
	t.arrivals.know(resp.Size, resp.ModTime)
	if gap.end < 0 {
		gap.end = resp.Size
	}
	if fresh || gap.end < 0 || t.arrivals.part.run != "" {
		return gap, t.arrivals.begin()
	}
	return gap, nil
}

// mayTakeOver refuses a part that another program left before the server's file
// was last changed.
func (t *transfer) mayTakeOver(resp *ftpexec.Response) error {
	if t.theirs && t.since != nil && resp.ModTime.After(t.since.ModTime()) {
		return &Error{Path: t.arrivals.part.partial, Reason: older, Err: ErrResume}
	}
	return nil
}

// told returns an error that may pass if the server no longer reports what it
// reported before: it may be busy. The second time told accepts that.
func (t *transfer) told(s state, size int64, modTime time.Time) error {
	if len(s.done) == 0 || !silent(s, size, modTime) || t.untold.Swap(true) {
		return nil
	}
	return &retry.Known{Err: errSilent, Passes: true}
}

// silent reports whether s has a size or time that the server now omits.
func silent(s state, size int64, modTime time.Time) bool {
	return size < 0 && s.size >= 0 || modTime.IsZero() && !s.modTime.IsZero()
}

var errSilent = &Error{Reason: "the server no longer reports the file's size and time, so nothing shows that it is the same file", Err: ftpexec.ErrChanged}

// another starts the transfer over because the server's file is no longer the
// same. If the part is empty it does so at once. Otherwise it returns errAgain,
// and the part is given up once the server has opened the file from its start.
func (t *transfer) another(why string) error {
	if t.restarts++; t.restarts > maxRestarts {
		return &Error{Reason: "the file changes on the server while it is read: " + why, Err: ftpexec.ErrChanged}
	}
	s := t.arrivals.snapshot()
	if len(s.done) == 0 {
		return t.restart(why)
	}
	t.stale = why
	return cmp.Or(t.mayForget(t.arrivals.part.path, s.adopted, why), errAgain)
}

// differs says why resp is not the file that s has bytes of, or "".
func (t *transfer) differs(s state, resp *ftpexec.Response) string {
	switch {
	case s.size < 0 && len(s.done) == 0:
		return ""
	case s.size < 0 && resp.Size < 0:
		return "the server does not report the file's size"
	case s.size < 0 && s.done.end() > resp.Size:
		return fmt.Sprintf("%d bytes are there, but the server's file has only %d", s.done.end(), resp.Size)
	case s.size < 0:
		return ""
	case s.size != resp.Size:
		return fmt.Sprintf("the server's file now has %s bytes, not %d", countOf(resp.Size), s.size)
	case !s.modTime.IsZero() && !resp.ModTime.IsZero() && !s.modTime.Equal(resp.ModTime):
		return "the server's file has been modified"
	case len(s.done) > 0 && (!t.dated(s.modTime) || !t.dated(resp.ModTime)):
		return undated
	}
	return ""
}

// same checks that a file that came in several pieces did not change: the server
// may replace it between its reply to MDTM and the data.
func (t *transfer) same(ctx context.Context) error {
	if t.responses.Load() < 2 {
		return nil
	}
	info, err := t.stat(ctx)
	if err != nil {
		return err
	}
	s := t.arrivals.snapshot()
	if info.Size == s.size && info.ModTime.Equal(s.modTime) {
		return nil
	}
	if err := t.told(s, info.Size, info.ModTime); err != nil {
		return err
	}
	if silent(s, info.Size, info.ModTime) {
		return errSilent
	}
	return t.another("the server's file has been modified")
}

func countOf(n int64) string {
	if n < 0 {
		return "an unknown number of"
	}
	return fmt.Sprint(n)
}

// fetch writes one span of the file and returns how many of its bytes count. If
// whole is true the bytes pass through the digest too. fetch reads the last span
// of the file until the server confirms the end.
func (t *transfer) fetch(ctx context.Context, resp *ftpexec.Response, x span, whole bool) (int64, error) {
	w := sink{path: t.arrivals.part.partial, limit: t.o.Limit, most: -1}
	if tail := x.end == resp.Size; !tail {
		w.most = x.len()
	}
	if t.check != nil && whole {
		if err := t.check.reach(ctx, t.arrivals.part.f, x.start); err != nil {
			return 0, err
		}
		w.tee = t.check
	}
	s, err := t.arrivals.open(x)
	if err != nil {
		return 0, err
	}
	w.to = s.f
	if _, err = w.pump(ctx, resp.Body); err == nil && w.most >= 0 {
		err = t.arrivals.compare(resp, t.arrivals.part.f, t.arrivals.after(x.end))
	}
	n, cerr := t.arrivals.close(s, err == nil)
	t.responses.Add(1)
	if err == nil || errors.Is(cerr, errAgain) {
		err = cerr
	}
	if err == nil && w.most < 0 {
		t.confirmed.Store(true)
	}
	return n, bodyError(err)
}

// bodyError turns the error of a copy that ended early into ErrTruncated.
func bodyError(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) && !errors.As(err, new(*ftpexec.Error)) {
		return ftpexec.ErrTruncated
	}
	return err
}
