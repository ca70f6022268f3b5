package download

import (
	"context"
	"errors"
	"io/fs"

	"example.com/ftpfetch/internal/localfile"
)

// finish checks the complete part and gives it its final name.
func (t *transfer) finish(ctx context.Context, overwrite bool) (Result, error) {
	l := t.arrivals
	s := l.snapshot()
	size := s.done.octets()
	result := Result{Path: l.part.given, Size: size, ModTime: s.modTime, Resumed: t.resumed, Text: t.text()}
	if err := t.arrived(size); err != nil {
		return Result{}, err
	}
	if t.check != nil {
		if err := t.verify(ctx, size, &result); err != nil {
			return Result{}, err
		}
	}
	if err := t.settle(ctx, size, s); err != nil {
		return Result{}, err
	}
	if result.ModTime.IsZero() && t.o.Commit != nil {
		info, err := fstat(l.part.f)
		if err != nil {
			return Result{}, failure(l.part.partial, "cannot be examined", err)
		}
		result.Written = info.ModTime()
	}
	if err := t.o.commit(result); err != nil {
		return Result{}, err
	}
	err := l.part.publish(overwrite)
	if t.o.Existing == Skip && errors.Is(err, fs.ErrExist) {
		l.disown(0) // so that leave discards the part
		return l.part.skipped(ReasonExists), nil
	}
	if err != nil {
		return Result{}, err
	}
	return result, nil
}

// settle flushes the complete part to disk, with its size and time.
func (t *transfer) settle(ctx context.Context, size int64, s state) error {
	l := t.arrivals
	if err := l.health(); err != nil { // a checkpoint may have failed at the end
		return err
	}
	if err := l.part.fit(size); err != nil {
		return err
	}
	if !s.modTime.IsZero() && l.part.ours() {
		if err := l.part.chtimes(l.part.partial, s.modTime); err != nil {
			t.o.note(l.part.partial + ": cannot set the server's time: " + localfile.Cause(err).Error())
		}
	}
	if err := l.part.sync(); err != nil {
		l.fail(err)
		return err
	}
	l.complete(size)
	if l.part.run == "" {
		return nil
	}
	good, err := l.blocks.sound(diskReader{ctx, l.part.f}) // without locks another run may have written there
	if err == nil && len(good) < len(l.blocks) {
		return replaced(l.part.partial)
	}
	return failure(l.part.partial, "cannot be read", err)
}

// verify compares the part's digest and writes it to r. If it differs, the part becomes NAME.bad,
// as evidence: no run resumes from it.
func (t *transfer) verify(ctx context.Context, size int64, r *Result) error {
	p := t.arrivals.part
	if err := t.check.reach(ctx, p.f, size); err != nil {
		return err
	}
	err := t.check.compare(r)
	if err == nil {
		return nil
	}
	bad, before, failed := p.keepBad(func(path string) bool { return t.check.same(ctx, p, path, size) })
	switch {
	case failed != nil:
		return &Error{Reason: err.Error() + "; " + failed.Error(), Err: ErrDigest}
	case before:
		return &Error{Reason: err.Error() + "; the same bytes came before, see " + bad + ": the digest or the server's file is wrong", Err: ErrDigest}
	}
	return &Error{Reason: err.Error() + "; kept as " + bad, Err: ErrDigest}
}
