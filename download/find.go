package download

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"example.com/ftpfetch/internal/owner"
)

// found is what a run found beside its target and resumes from.
type found struct {
	part   *part
	state  state
	stale  string      // why to give up what the part holds; "" means not to
	theirs bool        // with Continue: the part has no bytes from this package yet
	since  fs.FileInfo // of a part that another program left, or nil
	copied bool        // with Continue: the part has the target's bytes
}

// find claims the part of t, or makes an empty one.
func (j *job) find(ctx context.Context, t target, c choice) (f *found, err error) {
	if err := j.mayClaim(t); err != nil {
		return nil, err
	}
	p, err := claim(t.names)
	if err != nil {
		return nil, err
	}
	f = &found{part: p, state: state{url: j.url, size: -1}}
	if err = f.unchanged(t); err == nil {
		err = j.read(ctx, f, c.start)
	}
	if err == nil && c.overwrite {
		err = f.part.like(t.info)
	}
	if err == nil && c.start != nil && f.stale != "" {
		err = unfinished(p.partial)
	}
	if err == nil && c.start != nil && len(f.state.done) == 0 {
		f.copied = true
		if err = c.start.copyTo(ctx, t, f.part); err != nil {
			f.part.discard()
			return nil, err
		}
		f.state = c.start.state
	}
	if err != nil {
		f.giveUp()
		return nil, err
	}
	return f, nil
}

// giveUp releases a part that this run has not written to, and removes it if it
// is empty. The journal stays: it may be about the target and belong to a run
// that is about to end.
func (f *found) giveUp() {
	defer f.part.close()
	if n, err := f.part.size(); err == nil && n == 0 && f.part.ours() && f.part.removable() == nil {
		_ = f.part.remove(f.part.partial)
	}
}

// unchanged checks that the target is still the one found before the part was
// locked: another run may have ended meanwhile.
func (f *found) unchanged(t target) error {
	now, err := t.lstat(t.path)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return failure(t.path, "cannot be examined", err)
	case (err == nil) != (t.info != nil), err == nil && !os.SameFile(now, t.info):
		return errMoved
	}
	return nil
}

// mayClaim refuses, without taking the lock, a journal that is none, a part that
// another program left, and a part or journal that belongs to another user: in a
// directory that everyone can write to, it may hold anything.
func (j *job) mayClaim(t target) error {
	journal, jerr := t.lstat(t.journal)
	if err := t.checkJournals(jerr); err != nil {
		return err
	}
	info, err := t.lstat(t.partial)
	switch {
	case jerr == nil && !owner.Ours(journal):
		return othersFile(t.journal)
	case jerr == nil && errors.Is(err, fs.ErrNotExist):
		j.missed(t)
	case err != nil || !info.Mode().IsRegular(): // claim finds out
	case jerr != nil && j.o.Existing == Overwrite && !owner.Ours(info):
		return failure(t.partial, "cannot be removed", t.remove(t.partial))
	case jerr != nil && info.Size() > 0 && !j.o.Continue && j.o.Existing != Overwrite:
		if t.withoutJournal(info) {
			return inTheWay(t.partial)
		}
	case !owner.Ours(info):
		return othersFile(t.partial)
	}
	return nil
}

// withoutJournal reports whether the part that info describes has no journal. A
// run removes the journal after the part is renamed, so the part must still be
// there afterwards.
func (t target) withoutJournal(info fs.FileInfo) bool {
	_, err := t.lstat(t.journal)
	again, aerr := t.lstat(t.partial)
	return errors.Is(err, fs.ErrNotExist) && aerr == nil && os.SameFile(again, info)
}

// missed reports that a part with bytes is gone.
func (j *job) missed(t target) {
	if s, err := t.readJournal(t.journal); err == nil && len(s.done) > 0 && !s.about(t.info) {
		j.o.restarted(t.partial, "it is gone, only its journal is left")
	}
}

// read finds out what the part holds.
func (j *job) read(ctx context.Context, f *found, from *start) error {
	has := f.part.info.Size()
	s, err := f.part.readJournal(f.part.journal)
	missing := errors.Is(err, fs.ErrNotExist)
	var system *fs.PathError
	if has == 0 && links(f.part.info) > 1 {
		if err := f.renew(); err != nil {
			return err
		}
	}
	switch {
	case from != nil && has > 0 && (err != nil || !s.about(f.part.info)):
		return inTheWay(f.part.partial)
	case from != nil && has > 0 && len(s.done) > 0 && (s.url != j.url || s.adopted != from.info.Size()):
		return unfinished(f.part.partial)
	case (missing || from != nil) && has == 0:
		return nil // it is new, or left by a run that received nothing
	case missing, err == nil && has > 0 && !s.about(f.part.info) && s.inode != "" && !s.agrees(diskReader{ctx, f.part.f}):
		return j.foreign(ctx, f)
	case errors.As(err, &system):
		return failure(f.part.journal, "cannot be read", err)
	case links(f.part.info) > 1:
		return j.linked(f)
	}
	return j.inherit(ctx, f, s, err)
}

// foreign decides what to do about a part that another program left.
func (j *job) foreign(ctx context.Context, f *found) error {
	switch {
	case j.o.Existing == Overwrite:
		return f.renew()
	case !j.o.Continue:
		return inTheWay(f.part.partial)
	case links(f.part.info) > 1:
		return &Error{Path: f.part.partial, Reason: "cannot be resumed: it has other names (hard links), which would change too", Err: ErrResume}
	}
	f.theirs, f.since = true, f.part.info
	f.state.adopted = f.part.info.Size()
	j.o.reading(f.part.partial, f.state.adopted)
	return failure(f.part.partial, "cannot be read", f.state.has(diskReader{ctx, f.part.f}, f.state.adopted))
}

// linked gives up a part that has other names (hard links), which keep its bytes.
func (j *job) linked(f *found) error {
	j.o.restarted(f.part.partial, "it has other names (hard links), which are left alone")
	return f.renew()
}

// renew replaces the part by an empty one.
func (f *found) renew() error {
	fresh, err := f.part.renew()
	if err == nil {
		f.part = fresh
	}
	return err
}

// inherit resumes from the part if its journal s allows that. jerr is the error
// of reading the journal.
func (j *job) inherit(ctx context.Context, f *found, s state, jerr error) error {
	why, err := j.useless(ctx, f.part, &s, jerr)
	switch {
	case err != nil:
		return err
	case why != "":
		f.stale = f.part.partial + ": " + why
		if f.part.info.Size() == 0 { // there is nothing to give up
			return nil
		}
		return j.mayForget(f.part.path, s.adopted, f.stale)
	case len(s.done) == 0:
		return f.part.empty() // the journal claims no bytes
	}
	f.state = s
	if s.inode != inodeOf(f.part.info) { // part and journal are copies
		if err := f.part.write(s, false); err != nil {
			return err
		}
	}
	j.retry.Reached.Store(true) // the bytes came from the server, so the address is right
	return nil
}

// useless says why a run cannot resume from the part, or "". It removes damaged
// blocks from s.
func (j *job) useless(ctx context.Context, p *part, s *state, jerr error) (why string, err error) {
	has := p.info.Size()
	switch {
	case jerr != nil:
		return jerr.Error(), nil
	case len(s.done) == 0:
		return "", nil
	case j.o.NoResume:
		return "not resumed, as requested", nil
	case s.adopted > 0 && j.o.Existing == Overwrite:
		return "it starts with bytes that another program left", nil
	case s.url != j.url:
		return "it belongs to another URL", nil
	case s.done.end() > has:
		return fmt.Sprintf("it has %d bytes, but its journal claims %d", has, s.done.end()), nil
	case j.text():
		return cannotResumeText, nil
	}
	return j.repair(ctx, p, s)
}

// repair reads the part once and removes from s the blocks that do not match
// their checksums.
func (j *job) repair(ctx context.Context, p *part, s *state) (why string, err error) {
	j.o.reading(p.partial, s.done.octets())
	good, err := s.blocks.sound(diskReader{ctx, p.f})
	bad := len(s.blocks) - len(good)
	if err != nil || bad == 0 {
		return "", failure(p.partial, "cannot be read", err)
	}
	j.o.note(fmt.Sprintf("%s: %d of %d blocks are damaged: fetching them again", p.partial, bad, len(s.blocks)))
	if s.blocks, s.done = good, good.spans(); len(good) == 0 {
		return "it does not match its journal", nil
	}
	if s.done.head() < s.adopted {
		return "", j.mayForget(p.path, s.adopted, p.partial+": the file that -c resumed has changed since")
	}
	return "", nil
}

// mayForget refuses to give up bytes that another program left, unless Overwrite
// or NoResume allow it.
func (j *job) mayForget(path string, adopted int64, why string) error {
	if adopted == 0 || j.o.Existing == Overwrite || j.o.NoResume {
		return nil
	}
	return &Error{Path: path, Reason: why, Err: ErrResume}
}
