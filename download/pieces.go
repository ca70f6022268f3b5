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
	"example.com/ftpfetch/ftpexec/retry"
)

// unlike returns an error if a file of this size and time is not the file that s describes. If the server omits what it
// reported before, it may be busy: the first time, the error is one that may pass.
func (t *transfer) unlike(s partfile.State, size int64, modTime time.Time) error {
	why := ""
	omits := size < 0 && s.Size >= 0 || modTime.IsZero() && !s.ModTime.IsZero()
	switch {
	case s.Size < 0:
	case omits && !t.server.omitted.Swap(true):
		return &retry.Judged{Err: errOmitted, Passes: true}
	case size < 0:
		why = errOmitted.Error()
	case s.Size != size:
		why = fmt.Sprintf("the server's file now has %d bytes, not %d", size, s.Size)
	case !omits && !s.ModTime.IsZero() && !s.ModTime.Equal(modTime):
		why = "the server's file has been modified"
	case !t.mayJoin(s.ModTime) || !t.mayJoin(modTime):
		why = undated
	}
	if why == "" {
		return nil
	}
	return &redo{why, true}
}

// errOmitted means that the server no longer reports enough to tell whether the file has changed.
var errOmitted = errorf(ftpexec.ErrChanged,
	"the server no longer reports the file's size and time, so nothing shows that it is the same file")

// compare reads the bytes of an overlap from the body of a response. The part compares them with its own as soon as
// it has them.
func (t *transfer) compare(body io.Reader, lap partfile.Span) error {
	b, err := readOverlap(body, lap.Len())
	if err != nil {
		return err
	}
	return misplaced(t.part.Expect(lap.Start, b))
}

// readOverlap reads n bytes. The error is ErrTruncated if there are fewer.
func readOverlap(body io.Reader, n int64) ([]byte, error) {
	b := make([]byte, n)
	_, err := io.ReadFull(body, b)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = ftpexec.ErrTruncated
	}
	return b, err
}

// misplaced translates errors of the part into errors of the transfer.
func misplaced(err error) error {
	switch {
	case errors.Is(err, partfile.ErrDiffers):
		return errMisplaced
	case errors.Is(err, partfile.ErrBeyond):
		return errBeyond
	}
	return err
}

// checkUnchanged returns an error if a file that came in pieces has changed. The server may have replaced it between
// MDTM and the data.
func (t *transfer) checkUnchanged(ctx context.Context) error {
	if t.responses < 2 {
		return nil
	}
	now, err := t.ask(ctx)
	if err != nil {
		return err
	}
	s := t.part.Snapshot()
	err = t.unlike(s, now.Size, now.Time)
	_, over := err.(*redo)
	if over && (now.Size < 0 || now.Time.IsZero() && !s.ModTime.IsZero()) {
		return errOmitted // keep the bytes: a later run may find that they are right
	}
	return err
}

// asListed compares the number of bytes that arrived with the size in the directory listing, if the server does not
// report the file's size. Even a transfer that the server confirms may be cut short. If the numbers differ, the file
// may have changed since the listing, so asListed lists it again first.
func (t *transfer) asListed(ctx context.Context) error {
	s := t.part.Snapshot()
	got := s.Done.Octets()
	if !t.inTree || t.text() || s.Size >= 0 {
		return nil
	}
	size := t.listed.Size
	if size >= 0 && size != got {
		var err error
		size, err = t.caller.relist(ctx)
		if err != nil {
			return err
		}
	}
	if size < 0 || size == got {
		return nil
	}
	if hasBlankEnd(t.url.Name) {
		return errBlanks(got, size)
	}
	why := fmt.Sprintf("%d bytes came, but the listing of its directory says %d", got, size)
	return &redo{why, true}
}

// copySpan writes one span of the file to the part and returns how many of its bytes count. If check is not nil, it
// gets the bytes too. For the last span of the file, copySpan reads until the server confirms the end.
func (t *transfer) copySpan(ctx context.Context, resp *ftpexec.Response, x partfile.Span, check *check) (int64, error) {
	s, err := t.part.Write(x)
	if err != nil {
		return 0, err
	}
	tail := x.End == resp.Size
	var body io.Reader = resp.Body
	if !tail {
		body = io.LimitReader(body, x.Len())
	}
	if check != nil {
		check.sync(t.part)
		err = check.reach(ctx, t.part.File(), x.Start)
	}
	if err == nil {
		out := sink{ctx: ctx, to: s.To, path: t.part.Name(), check: check, limit: t.Limit}
		err = out.copy(body)
	}
	if err == nil && !tail {
		err = t.compare(resp.Body, t.part.After(x.End, overlapSize))
	}
	n, ended := t.part.End(s, err == nil)
	err = cmp.Or(misplaced(ended), err)
	if err == nil && n < x.Len() { // unlikely, because Body returns a better error
		err = ftpexec.ErrTruncated
	}
	t.responded(err == nil && tail)
	return n, err
}

// responded counts a response. confirmed reports whether the server has confirmed the end of the file with it.
func (t *transfer) responded(confirmed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.responses++
	t.confirmed = t.confirmed || confirmed
}
