package partfile

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"

	"example.com/ftpfetch/internal/owner"
)

// Tidy cleans up after a run that was killed after it named the target but before it removed the journal. whole reports
// that the target has all that the journal says and that accept, if there is one, takes that for the file.
func (p *Place) Tidy(ctx context.Context, accept func(State) (bool, error)) (whole bool, err error) {
	if !p.named() {
		return false, nil
	}
	f, err := p.openTarget(os.O_RDONLY)
	if errors.Is(err, fs.ErrPermission) { // it can be locked, but not compared
		f, err = p.openTarget(os.O_WRONLY)
	}
	if err == nil {
		defer f.Close()
		if _, err = lock(f); err == nil && !p.named() {
			err = ErrMoved // the other run has ended meanwhile
		}
		if err == nil && accept != nil {
			whole, err = p.intact(ctx, f, accept)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return false, err
	}
	if info, err := p.lstat(p.partial); err == nil && os.SameFile(info, p.Info) {
		if err := p.remove(p.partial); err != nil {
			return false, Failure(p.shown(p.partial), "cannot be removed", err)
		}
	}
	if err := p.removeJournal(); err != nil {
		return false, err
	}
	p.Info, err = p.lstat(p.target)
	return whole, Failure(p.Path, "cannot be examined", err)
}

// named reports whether this user's journal is about the target, or without a journal its part is the target.
func (p *Place) named() bool {
	if p.Info == nil || !owner.Ours(p.Info) {
		return false
	}
	s, err := p.readJournal(p.journal)
	if errors.Is(err, fs.ErrNotExist) && p.own && links(p.Info) > 1 {
		info, err := p.lstat(p.partial)
		return err == nil && os.SameFile(info, p.Info)
	}
	return err == nil && s.about(p.Info)
}

// intact reports whether f, the target, has what its journal says and accept takes that for the file.
func (p *Place) intact(ctx context.Context, f *os.File, accept func(State) (bool, error)) (bool, error) {
	s, err := p.readJournal(p.journal)
	if err != nil || !s.Complete || s.Size != p.Info.Size() {
		return false, nil
	}
	good, err := s.Blocks.sound(Reader{ctx, f})
	if err != nil || len(good) < len(s.Blocks) {
		return false, Failure(p.Path, "cannot be read", err)
	}
	return accept(s)
}

// Copy copies the target to w.
func (p *Place) Copy(ctx context.Context, w io.Writer) error {
	f, err := p.openRegular(p.target, os.O_RDONLY)
	if err != nil {
		return Failure(p.Path, "cannot be opened", err)
	}
	defer f.Close()
	_, err = io.Copy(w, io.NewSectionReader(Reader{ctx, f}, 0, math.MaxInt64))
	return Failure(p.Path, "cannot be read", err)
}
