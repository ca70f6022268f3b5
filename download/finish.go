package download

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"example.com/ftpfetch/download/internal/partfile"
)

// finish checks the complete part and gives it its final name.
func (t *transfer) finish(ctx context.Context, to *partfile.Place, overwrite bool) (Result, error) {
	s := t.part.Snapshot()
	size := s.Done.Octets()
	result := Result{Size: size, ModTime: s.ModTime, Resumed: t.resumed}
	if err := t.sized("what arrived has", size); err != nil {
		return Result{}, err
	}
	if t.check != nil {
		if err := t.verify(ctx, size, &result); err != nil {
			return Result{}, err
		}
	}
	last := partfile.Finish{Overwrite: overwrite, Note: t.o.note}
	if t.o.Commit != nil {
		last.Commit = func() (err error) {
			if result.ModTime.IsZero() {
				result.ModTime, err = t.part.Written()
			}
			if err == nil {
				err = t.o.Commit(result)
			}
			return err
		}
	}
	err := t.part.Publish(last)
	if t.o.Skip && errors.Is(err, fs.ErrExist) {
		t.part.Discard()
		return skipped(to, leftExists), nil
	}
	if err != nil {
		return Result{}, err
	}
	return result, nil
}

// verify compares the part's digest and writes it to r. If it differs, the part becomes NAME.bad, as evidence: no run
// resumes from it.
func (t *transfer) verify(ctx context.Context, size int64, r *Result) error {
	if err := t.check.reach(ctx, t.part.File(), size); err != nil {
		return err
	}
	err := t.check.compare(r)
	if err == nil {
		return nil
	}
	bad, before, failed := t.part.KeepBad(func(f *os.File) bool { return t.check.same(ctx, f, size) })
	switch {
	case failed != nil:
		return because(ErrDigest, "%v; %v", err, failed)
	case before:
		return because(ErrDigest, "%v; the same bytes came before, see %s: the digest or the server's file is wrong", err, bad)
	}
	return because(ErrDigest, "%v; kept as %s", err, bad)
}
