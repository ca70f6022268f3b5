package download

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// takePart makes NAME.part, or takes the one that is there where it may.
func (r *retrieval) takePart() error {
	existing := r.o.Existing
	if r.o.Newer && r.t.info != nil {
		existing = Overwrite
	}
	r.ledger = &ledger{path: r.t.path + journalSuffix, state: state{url: journalURL(r.u), size: -1}}
	if err := checkJournal(r.ledger.path); err != nil {
		return err
	}
	taken, err := r.takeLeft(r.t.path+partSuffix, existing)
	if err == nil && !taken {
		err = r.newPart(existing)
	}
	if err == nil && r.o.fsync != nil {
		r.ledger.part.fsync = r.o.fsync
	}
	return err
}

// newPart makes a part. That the target may be replaced, as Newer says, does
// not mean that another program's part may be, too.
func (r *retrieval) newPart(existing Existing) error {
	p, err := createPart(r.t, r.o.Existing)
	if err != nil {
		return err
	}
	p.existing = existing
	r.ledger.part = p
	removeJournal(r.ledger.path) // of a part that is gone
	return nil
}

// takeLeft takes the part at path if it can be gone on with, or is ours to
// begin anew. Otherwise createPart has its rules.
func (r *retrieval) takeLeft(path string, existing Existing) (bool, error) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		r.missPart(path, err)
		return false, nil
	}
	if target, err := os.Lstat(r.t.path); err == nil && os.SameFile(info, target) {
		// A run was stopped between the two steps that give the file its name.
		return false, removeUnlessHeld(path, info)
	}
	journal, err := os.Lstat(r.ledger.path)
	journalled := err == nil
	if !journalled && (!r.o.Continue || info.Size() == 0) {
		return false, nil
	}
	if !isOurs(info) || journalled && !isOurs(journal) {
		return false, &Error{Path: path, Reason: "is in the way, and it or its journal belongs to another user", Err: ErrForeign}
	}
	if links(info) > 1 {
		return false, r.linked(path, info, journalled)
	}
	p, err := reopen(path, r.t, existing)
	if err != nil {
		return false, err
	}
	r.ledger.part = p
	if err := r.inherit(journalled); err != nil {
		p.close()
		return false, err
	}
	return true, nil
}

// missPart says so where octets were there and are gone.
func (r *retrieval) missPart(path string, err error) {
	if !errors.Is(err, fs.ErrNotExist) {
		return
	}
	if s, err := readJournal(r.ledger.path); err == nil && len(s.done) > 0 {
		r.o.notify(Event{Kind: Restarted, Text: path + ": is gone, only its journal is left: beginning anew"})
	}
}

// linked ends what the name at path says where the file has other names, too:
// a finished file, or somebody's copy. It is not to be written to.
func (r *retrieval) linked(path string, info fs.FileInfo, journalled bool) error {
	if !journalled {
		return &refusal{ErrResume, path + ": has other names, which would be written to as well"}
	}
	r.o.notify(Event{Kind: Restarted, Text: path + ": it has other names, which are left alone: beginning anew"})
	return removeUnlessHeld(path, info)
}

// reopen opens and locks a part that was left.
func reopen(path string, t target, existing Existing) (*part, error) {
	f, err := openRegular(path, os.O_RDWR)
	if err != nil {
		return nil, failure(path, "cannot be opened", err)
	}
	p := &part{f: f, path: path, target: t.path, existing: existing, fsync: (*os.File).Sync}
	if err := p.secure(t.info); err != nil {
		f.Close()
		return nil, err
	}
	if !p.ours() { // its run ended it before we had the lock
		f.Close()
		return nil, busy(path)
	}
	return p, nil
}

// inherit takes over what the journal says, or finds why it cannot be.
func (r *retrieval) inherit(journalled bool) error {
	l := r.ledger
	info, err := l.part.f.Stat()
	if err != nil {
		return failure(l.part.path, "cannot be looked at", err)
	}
	if !journalled {
		n := info.Size()
		l.state.done, l.state.adopted, l.high = spans{{0, n}}, n, n
		r.inherited, r.untouched = true, true
		return nil
	}
	s, err := readJournal(l.path)
	var system *fs.PathError
	if errors.As(err, &system) && !errors.Is(err, fs.ErrNotExist) {
		return failure(l.path, "cannot be read", err)
	}
	why := r.useless(s, info.Size(), err)
	if why != "" {
		r.stale = why
		return r.mayForget(s.adopted, why)
	}
	if len(s.done) == 0 {
		return l.reset() // nothing to say: it had brought nothing
	}
	l.state, l.high = s, s.done.octets()
	r.inherited, r.untouched = true, r.moved
	r.retry.reached.Store(true) // its octets came from there: the address is right
	return nil
}

// useless says why a part of has octets cannot be gone on with, or "".
func (r *retrieval) useless(s state, has int64, err error) string {
	path := r.ledger.part.path
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return path + ": its journal went away"
	case err != nil:
		return path + ": " + err.Error()
	case r.o.NoResume:
		return path + ": not resumed, as asked for"
	case s.url != r.ledger.state.url:
		return path + ": it is of another URL"
	case s.done.end() > has:
		return fmt.Sprintf("%s: it has %d octets, its journal says %d", path, has, s.done.end())
	case len(s.done) > 0 && r.text():
		return path + ": a text transfer (;type=a) cannot be resumed"
	}
	switch fits, err := s.fits(r.ledger.part.f); {
	case err != nil:
		return path + ": cannot be read: " + cause(err).Error()
	case !fits:
		return path + ": it does not hold what its journal was written for"
	}
	return ""
}

// mayForget refuses to give up octets that are no work of ours, unless that was
// asked for.
func (r *retrieval) mayForget(adopted int64, why string) error {
	if adopted == 0 || r.o.Existing == Overwrite || r.o.NoResume {
		return nil
	}
	return &refusal{ErrResume, r.t.path + ": " + why}
}

// leave ends a run that did not place its file: what can be gone on with
// stays. It returns how many octets that are.
func (r *retrieval) leave() (kept int64) {
	l := r.ledger
	if l.part.placed || r.untouched || r.stale != "" {
		l.part.close() // nothing of this run is in it
		return 0
	}
	s := l.snapshot()
	if !l.off && s.size >= 0 && len(s.done) > 0 && !r.text() {
		if l.health() == nil && l.checkpoint() == nil {
			kept = s.done.octets()
		}
		l.part.close()
		return kept
	}
	if l.part.ours() {
		removeJournal(l.path)
	}
	l.part.discard()
	return 0
}
