package download

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// finish verifies the whole part and gives it its name.
func (r *retrieval) finish() (Result, error) {
	l := r.ledger
	s := l.snapshot()
	size := s.done.octets()
	result := Result{Path: r.t.path, Size: size, ModTime: s.modTime, Resumed: r.resumed, Text: r.text()}
	if want := r.o.Size; want != nil && size != *want && !r.text() {
		return Result{}, &refusal{ErrSize, fmt.Sprintf("%d octets came, not %d as expected", size, *want)}
	}
	if r.check != nil {
		if err := r.verify(size); err != nil {
			return Result{}, err
		}
		result.Verified = r.check.from
	}
	if !s.modTime.IsZero() && l.part.ours() {
		if err := os.Chtimes(l.part.path, time.Time{}, s.modTime); err != nil {
			r.o.note(l.part.path + ": cannot take the server's time: " + cause(err).Error())
		}
	}
	err := l.part.commit(size)
	if l.part.placed {
		l.removeJournal()
	}
	if r.o.Existing == Skip && errors.Is(err, ErrExists) {
		l.disown(0) // the part is not needed
		return skipped(r.t.path), nil
	}
	if err != nil {
		return Result{}, err
	}
	return result, nil
}

// verify compares the part's digest. One that differs is kept as NAME.bad: it
// is evidence, and nothing to go on from.
func (r *retrieval) verify(size int64) error {
	l := r.ledger
	if err := r.check.reach(l.part.f, size); err != nil {
		return failure(l.part.path, "cannot be read", err)
	}
	err := r.check.compare()
	if err == nil {
		return nil
	}
	bad, kept := l.part.keepAs(r.t.path + ".bad")
	l.removeJournal()
	if kept != nil {
		return &refusal{ErrDigest, err.Error() + "; " + kept.Error()}
	}
	return &refusal{ErrDigest, err.Error() + "; kept as " + bad}
}
