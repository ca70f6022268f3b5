package partfile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"example.com/ftpfetch/internal/localfile"
)

// Publish gives the whole part its final name, together with the others of its group, and removes the journal.
func (p *Part) Publish(f Finish) error { return p.group.join(&naming{Finish: f, part: p}) }

// settle flushes the part to disk, with its size and time.
func (p *Part) settle(n *naming) error {
	if err := p.Health(); err != nil { // a checkpoint may have failed at the end
		return err
	}
	s := p.Snapshot()
	size := s.Done.Octets()
	if err := p.cut(size); err != nil {
		return err
	}
	if n.time = s.ModTime; !n.time.IsZero() {
		err := p.ours()
		if err == nil {
			err = p.chtimes(p.partial, n.time)
		}
		if err != nil {
			n.time = time.Time{}
			n.Note(p.Name() + ": cannot set the server's time: " + localfile.Cause(err).Error())
		}
	}
	if n.time.IsZero() {
		info, err := fstat(p.f)
		if err != nil {
			return Failure(p.Name(), "cannot be examined", err)
		}
		n.time = info.ModTime()
	}
	if err := p.flush(); err != nil || p.bare() {
		return err
	}
	p.writing.Lock()
	s.Size, s.Done, s.Complete = size, p.blocks.spans(), true
	if p.run != "" {
		s.Done = Spans{}.Add(Span{0, size})
	}
	_ = p.write(s) // if the run is killed while it names the part, the next one knows that it is complete
	p.writing.Unlock()
	if p.run == "" {
		return nil
	}
	good, err := p.blocks.sound(Reader{context.Background(), p.f}) // without locks another run may have written there
	if err == nil && len(good) < len(p.blocks) {
		return replaced(p.Name())
	}
	return Failure(p.Name(), "cannot be read", err)
}

// publish gives the settled part its final name, which may exist only with overwrite, and removes the journal.
func (p *Part) publish(overwrite bool) error {
	if p.copied != nil {
		if now, err := p.lstat(p.target); err != nil || !same(now, p.copied) {
			return refuse(p.Path, ErrMoved.Error(), err)
		}
	}
	if err := p.name(p.target, overwrite); err != nil {
		return err
	}
	var err error
	if p.mode != nil && *p.mode != *p.mode|0o600 { // its owner could not have written to it
		err = p.permit(p.target, *p.mode)
	}
	return cmp.Or(err, p.removeJournal())
}

// name renames the part. Except on Windows, which cannot rename an open file, the part stays open and so locked.
func (p *Part) name(to string, overwrite bool) (err error) {
	if err := p.ours(); err != nil {
		return err
	}
	if err := p.removable(); err != nil {
		return err
	}
	if overwrite {
		err = Failure(p.shown(to), "cannot be moved into place", p.rename(p.partial, to))
		p.placed = err == nil
	} else {
		p.placed, err = p.moveToFree(p.partial, to)
	}
	if err != nil || p.run == "" {
		return err
	}
	info, err := p.lstat(to)
	if err == nil && os.SameFile(info, p.info) {
		return nil
	}
	if s, err := p.readJournal(p.journal); err == nil && s.about(info) && !s.Complete {
		_ = p.remove(to) // the unfinished part of another run
	}
	return replaced(p.Name())
}

// mostBad bounds the files with wrong digests that are kept of one target.
const mostBad = 9

// KeepBad renames the part to NAME.bad, or to NAME.bad.2 and so on if that exists, because its digest is wrong. If same
// reports that one of these has the same bytes, KeepBad removes the part in place of that.
func (p *Part) KeepBad(same func(f *os.File) bool) (kept string, before bool, err error) {
	for i := 1; i <= mostBad; i++ {
		to := p.bad + strings.TrimSuffix(fmt.Sprintf(".%d", i), ".1")
		if f, err := p.openRegular(to, os.O_RDONLY); err == nil {
			before = same(f)
			f.Close()
		}
		if before {
			p.Discard()
			p.placed = true // there is nothing left to resume from
			return p.shown(to), true, nil
		}
		if err = p.name(to, false); err == nil {
			_ = p.removeJournal()
		}
		if !errors.Is(err, fs.ErrExist) {
			return p.shown(to), false, err
		}
	}
	return "", false, refuse(p.shown(p.bad), fmt.Sprintf("exists, and so do all names up to .%d: remove them", mostBad), nil)
}

// Leave ends the use of a part: unless that has become a file, it keeps what a later run can resume from. The part is
// untouched if it holds only what it held before, which stays, and worthless if no run can resume from it. Leave
// returns how many bytes the next run resumes from.
func (p *Part) Leave(untouched, worthless bool) (kept int64) {
	defer p.Close()
	s := p.Snapshot()
	switch {
	case p.placed:
	case p.copied != nil && s.Done.Octets() <= s.Adopted:
		p.Discard() // the target still has them
	case untouched:
	case !p.Known() && len(s.Done) > 0:
		kept = p.claimed.Octets()
	case s.Size < 0 || len(s.Done) == 0 || worthless:
		p.Discard()
	case p.Health() == nil:
		kept = p.keep()
	case p.bare():
		p.Discard()
	}
	return kept
}

// GiveUp releases a part that this run has not written to, and removes it if it is empty. The journal stays: it may be
// about the target and belong to a run that is about to end.
func (p *Part) GiveUp() {
	defer p.Close()
	if n, err := p.size(); err == nil && n == 0 && p.ours() == nil && p.removable() == nil {
		_ = p.remove(p.partial)
	}
}

// Discard removes the part and its journal, unless the part has become a file. It empties the part first, so that a
// kill leaves nothing that a later run would keep.
func (p *Part) Discard() {
	defer p.Close()
	if p.placed {
		return
	}
	if p.ours() != nil {
		now, err := p.lstat(p.partial)
		gone := errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(now, p.info)
		if s, err := p.readJournal(p.journal); gone && err == nil && s.about(p.info) {
			_ = p.removeJournal()
		}
		return
	}
	if err := truncate(p.f, 0); err != nil && !errors.Is(err, fs.ErrClosed) || p.removeJournal() != nil {
		return
	}
	if p.removable() == nil {
		_ = p.remove(p.partial)
	}
}

// Close leaves the part as it is.
func (p *Part) Close() { _ = p.f.Close() }
