package download

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/retry"
)

// accept compares what the server says about its file with what is known, before any byte is read. It returns gap with its
// end filled in. If the file is a different one the transfer starts over: with errAgain, unless the part was empty.
func (t *transfer) accept(resp *ftpexec.Response, gap partfile.Span) (partfile.Span, error) {
	s := t.part.Snapshot()
	if err := t.told(s, resp.Size, resp.ModTime); err != nil {
		return gap, err
	}
	if why := t.differs(s, resp); why != "" {
		if err := t.another(why); err != nil {
			return gap, err
		}
		gap = partfile.Span{Start: 0, End: -1}
	}
	earlier := len(s.Done) > 0 && !t.part.Known() // what is there has not been compared yet
	if _, since := t.part.Found(); earlier && s.Size < 0 && resp.ModTime.After(since) {
		return gap, because(ErrResume, "%s: %s", t.part.Name(), older)
	}
	if err := t.compare(resp, before(gap.Start), gap.Start); err != nil {
		return gap, err
	}
	if earlier {
		t.resumed = s.Done.Octets()
		t.responses.Add(1)
		t.o.note(fmt.Sprintf("resuming from %d bytes", t.resumed))
	}
	if gap.End < 0 {
		gap.End = resp.Size
	}
	return gap, t.part.Know(resp.Size, resp.ModTime)
}

// compare reads the bytes from start to end from resp, to compare them with others.
func (t *transfer) compare(resp *ftpexec.Response, start, end int64) error {
	b := make([]byte, max(0, end-start))
	if _, err := io.ReadFull(resp.Body, b); err != nil {
		return bodyError(err)
	}
	return misplaced(t.part.Expect(start, b))
}

// misplaced turns what package partfile says of bytes into why there is no restart.
func misplaced(err error) error {
	switch {
	case errors.Is(err, partfile.ErrDiffers):
		return errMisplaced
	case errors.Is(err, partfile.ErrBeyond):
		return errBeyond
	}
	return err
}

// told returns an error that may pass if the server no longer reports what it reported before: it may be busy. The second
// time told accepts that.
func (t *transfer) told(s partfile.State, size int64, modTime time.Time) error {
	if len(s.Done) == 0 || !silent(s, size, modTime) || t.untold.Swap(true) {
		return nil
	}
	return &retry.Known{Err: errSilent, Passes: true}
}

// silent reports whether s has a size or time that the server now omits.
func silent(s partfile.State, size int64, modTime time.Time) bool {
	return size < 0 && s.Size >= 0 || modTime.IsZero() && !s.ModTime.IsZero()
}

var errSilent = because(ftpexec.ErrChanged, "the server no longer reports the file's size and time, so nothing shows that it is the same file")

// another starts the transfer over because the server's file is no longer the same. If the part is empty it does so at
// once. Otherwise it returns errAgain, and the part is given up once the server has opened the file from its start.
func (t *transfer) another(why string) error {
	if t.restarts++; t.restarts > maxRestarts {
		return because(ftpexec.ErrChanged, "the file changes on the server while it is read: %s", why)
	}
	s := t.part.Snapshot()
	if len(s.Done) == 0 {
		return t.restart(why)
	}
	t.stale = why
	return cmp.Or(t.mayForget(s.Adopted, why), errAgain)
}

// differs says why resp is not the file that s has bytes of, or "".
func (t *transfer) differs(s partfile.State, resp *ftpexec.Response) string {
	switch {
	case s.Size < 0 && len(s.Done) == 0:
		return ""
	case s.Size < 0 && resp.Size < 0:
		return "the server does not report the file's size"
	case s.Size < 0 && s.Done.End() > resp.Size:
		return fmt.Sprintf("%d bytes are there, but the server's file has only %d", s.Done.End(), resp.Size)
	case s.Size < 0:
		return ""
	case s.Size != resp.Size:
		return fmt.Sprintf("the server's file now has %s bytes, not %d", countOf(resp.Size), s.Size)
	case !s.ModTime.IsZero() && !resp.ModTime.IsZero() && !s.ModTime.Equal(resp.ModTime):
		return "the server's file has been modified"
	case len(s.Done) > 0 && (!t.dated(s.ModTime) || !t.dated(resp.ModTime)):
		return undated
	}
	return ""
}

// same checks that a file that came in several pieces did not change: the server may replace it between its reply to MDTM
// and the data.
func (t *transfer) same(ctx context.Context) error {
	if t.responses.Load() < 2 {
		return nil
	}
	info, err := t.stat(ctx)
	if err != nil {
		return err
	}
	s := t.part.Snapshot()
	if info.Size == s.Size && info.ModTime.Equal(s.ModTime) {
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

// fetch writes one span of the file and returns how many of its bytes count. If whole is true the bytes pass through the
// digest too. fetch reads the last span of the file until the server confirms the end.
func (t *transfer) fetch(ctx context.Context, resp *ftpexec.Response, x partfile.Span, whole bool) (int64, error) {
	w := sink{path: t.part.Name(), limit: t.o.Limit, most: -1}
	if tail := x.End == resp.Size; !tail {
		w.most = x.Len()
	}
	s, err := t.part.Write(x)
	if err != nil {
		return 0, err
	}
	w.to = s.F
	if t.check != nil && whole {
		w.tee = t.check
		err = t.check.reach(ctx, s.F, x.Start)
	}
	if err == nil {
		_, err = w.pump(ctx, resp.Body)
	}
	if err == nil && w.most >= 0 {
		lap := t.part.After(x.End, lapSize)
		err = t.compare(resp, lap.Start, lap.End)
	}
	n, ended := t.part.End(s, err == nil)
	t.responses.Add(1)
	if ended = misplaced(ended); err == nil || errors.Is(ended, errAgain) {
		err = ended
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
