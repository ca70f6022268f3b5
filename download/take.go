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
	if r.o.Newer {
		existing = Overwrite
	}
	path, journal := r.t.path+partSuffix, r.t.path+journalSuffix
	r.ledger = &ledger{path: journal, state: state{url: journalURL(r.u), size: -1}}
	if taken, err := r.takeLeft(path, existing); taken || err != nil {
		return err
	}
	p, err := createPart(r.t, existing)
	if err != nil {
		return err
	}
	r.ledger.part = p
	r.ledger.removeJournal() // of a part that is gone
	return nil
}

// takeLeft takes the part at path if it can be gone on with, or is ours to
// begin anew. Otherwise createPart has its rules.
func (r *retrieval) takeLeft(path string, existing Existing) (bool, error) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false, nil
	}
	if target, err := os.Lstat(r.t.path); err == nil && os.SameFile(info, target) {
		// A run was stopped between the two steps that give the file its name.
		if err := os.Remove(path); err != nil {
			return false, failure(path, "cannot be removed", err)
		}
		return false, nil
	}
	journal, err := os.Lstat(r.ledger.path)
	journalled := err == nil
	if !journalled && (!r.o.Continue || info.Size() == 0) {
		return false, nil
	}
	if !isOurs(info) || journalled && !isOurs(journal) {
		return false, &Error{Path: path, Reason: "is in the way, and it or its journal belongs to another user", Err: ErrPart}
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

// reopen opens and locks a part that was left.
func reopen(path string, t target, existing Existing) (*part, error) {
	f, err := openRegular(path, os.O_RDWR)
	if err != nil {
		return nil, failure(path, "cannot be opened", err)
	}
	p := &part{f: f, path: path, target: t.path, existing: existing}
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

// inherit takes over what the journal says, or begins anew and says why.
func (r *retrieval) inherit(journalled bool) error {
	l := r.ledger
	info, err := l.part.f.Stat()
	if err != nil {
		return failure(l.part.path, "cannot be looked at", err)
	}
	if !journalled {
		l.state.done = l.state.done.add(span{0, info.Size()})
		r.inherited, r.adopted, l.high = true, true, info.Size()
		return nil
	}
	s, err := readJournal(l.path)
	if why := r.useless(s, info.Size(), err); why != "" {
		return r.anew(why)
	}
	if len(s.done) == 0 {
		return l.reset() // nothing to say: it had brought nothing
	}
	l.state, l.high = s, s.done.octets()
	r.inherited, r.adopted = true, r.borrowed > 0
	r.retry.reached = true // its octets came from there: the address is right
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
	return ""
}

// leave ends a run that did not place its file: what can be gone on with
// stays.
func (r *retrieval) leave() {
	l := r.ledger
	if l.part.placed {
		l.part.close()
		return
	}
	if r.adopted {
		l.part.close() // nothing of ours is in it
		return
	}
	s := l.snapshot()
	if !l.off && s.size >= 0 && len(s.done) > 0 && !r.text() {
		if l.health() == nil {
			_ = l.checkpoint()
		}
		l.part.close()
		return
	}
	if l.part.ours() {
		l.removeJournal()
	}
	l.part.discard()
}
