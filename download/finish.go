package download

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// finish verifies the whole part and gives it its name.
func (r *retrieval) finish(ctx context.Context) (Result, error) {
	l := r.ledger
	s := l.snapshot()
	size := s.done.octets()
	result := Result{Path: r.t.path, Size: size, ModTime: s.modTime, Resumed: r.resumed, Text: r.text()}
	if want := r.o.Size; want != nil && size != *want && !r.text() {
		return Result{}, &refusal{ErrSize, fmt.Sprintf("%d octets came, not %d as expected", size, *want)}
	}
	if r.check != nil {
		if err := r.verify(ctx, size); err != nil {
			return Result{}, err
		}
		result.Verified = r.check.from
	}
	err := r.settle(size, s.modTime)
	if err == nil {
		err = l.part.publish()
	}
	if l.part.placed {
		removeJournal(l.path)
	}
	if r.o.Existing == Skip && errors.Is(err, ErrExists) {
		l.disown(0) // the part is not needed
		return skipped(r.t.path, ReasonExists), nil
	}
	if err != nil {
		return Result{}, err
	}
	return result, nil
}

// settle brings the whole part to the disk, with its size and time.
func (r *retrieval) settle(size int64, modTime time.Time) error {
	l := r.ledger
	if err := l.health(); err != nil { // of the checkpoint that was under way at the end
		return err
	}
	if err := l.part.cut(size); err != nil {
		return err
	}
	if !modTime.IsZero() && l.part.ours() {
		if err := os.Chtimes(l.part.path, time.Time{}, modTime); err != nil {
			r.o.note(l.part.path + ": cannot take the server's time: " + cause(err).Error())
		}
	}
	err := l.part.flush(size)
	if err != nil {
		l.fail(err)
	}
	return err
}

// verify compares the part's digest. One that differs is kept as NAME.bad: it
// is evidence, and nothing to go on from.
func (r *retrieval) verify(ctx context.Context, size int64) error {
	l := r.ledger
	if err := r.check.reach(ctx, l.part.f, size, l.part.path); err != nil {
		return err
	}
	err := r.check.compare()
	if err == nil {
		return nil
	}
	bad, kept := l.part.keepAs(r.t.path + ".bad")
	if l.part.placed {
		removeJournal(l.path)
	}
	if kept != nil {
		return &refusal{ErrDigest, err.Error() + "; " + kept.Error()}
	}
	return &refusal{ErrDigest, err.Error() + "; kept as " + bad}
}
