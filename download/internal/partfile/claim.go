package partfile

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"example.com/ftpfetch/internal/disk"
	"example.com/ftpfetch/internal/owner"
)

// Again calls f again while it returns ErrMoved, a few times: another run is at work.
func (p *Place) Again(f func() error) error {
	for range 16 {
		if err := f(); !errors.Is(err, ErrMoved) {
			return err
		}
	}
	return busy(p.shown(p.partial))
}

// Claim locks the part, or makes an empty one, for the bytes of url, and finds out what an earlier run has left in it.
// Leave must be called. The error is ErrMoved if the target is no longer the one that Look has found.
func (p *Place) Claim(url string) (*Part, error) {
	part := &Part{Place: p, state: State{URL: url, Size: -1}}
	err := p.Again(part.open)
	if err != nil {
		return nil, err
	}
	if err = p.unchanged(); err == nil {
		err = part.look()
	}
	switch {
	case err == nil:
		return part, nil
	case part.info.Size() == 0: // it is new, or another run that has made it does not get it any more
		part.Discard()
	}
	part.Close()
	return nil, err
}

// unchanged returns ErrMoved if the target is no longer the one that Look has found: another run has ended meanwhile.
func (p *Place) unchanged() error {
	now, err := p.dir.Lstat(p.target)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return failure(p.Path, "cannot be examined", err)
	case (err == nil) != (p.Info != nil), err == nil && !os.SameFile(now, p.Info):
		return ErrMoved
	}
	return nil
}

// open opens the part and locks it. The error is ErrMoved if that must be tried again, because another run has renamed or
// removed the part or its directory.
func (p *Part) open() (err error) {
	if err = p.enter(); err == nil {
		p.f, err = p.dir.Create(p.partial, os.O_RDWR, 0o666)
	}
	p.created = err == nil
	switch {
	case p.created:
	case errors.Is(err, fs.ErrExist):
		p.f, err = p.dir.Open(p.partial, os.O_RDWR)
	case errors.Is(err, fs.ErrNotExist) && p.root != nil:
		p.leave(true)
		made, err := p.group.Dirs.Make(p.root, p.path)
		p.made = append(p.made, made...)
		return cmp.Or(err, ErrMoved)
	case p.dir == nil:
		return err
	default:
		return failure(p.Name(), "cannot be created", err)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ErrMoved
	case errors.Is(err, disk.ErrNotRegular):
		return refuse(p.Name(), "is in the way, and is no regular file: remove it, or choose another place", nil)
	case err != nil && !errors.Is(err, ErrMoved):
		return failure(p.Name(), "cannot be opened", err)
	case err == nil:
		err = p.hold()
	}
	if err != nil {
		p.Close()
	}
	return err
}

// hold locks the opened part. It refuses what belongs to another user: that may hold anything. Where there are no locks the
// part gets a name of this run alone.
func (p *Part) hold() error {
	taken, locked := disk.Lock(p.f)
	if taken {
		return busy(p.Name())
	}
	var err error
	if p.info, err = disk.Stat(p.f); err != nil {
		return failure(p.Name(), "cannot be examined", err)
	}
	if !p.created || p.info.Size() > 0 || disk.Links(p.info) == 0 { // another run may have had it meanwhile
		err = p.ours()
	}
	switch {
	case errors.Is(err, errReplaced):
		return ErrMoved
	case err != nil:
		return err
	case !p.created && !owner.Ours(p.info):
		return refuse(p.Name(), "is in the way, and belongs to another user: remove it, or choose another place", nil)
	case disk.Links(p.info) > 1: // a killed run was about to give it its name
		return cmp.Or(failure(p.Name(), "cannot be removed", p.dir.Remove(p.partial)), ErrMoved)
	case !locked && !p.alone:
		if p.created {
			_ = p.dir.Remove(p.partial)
		}
		p.names, p.alone = namesOf(p.target, rand.Text()), true
		return ErrMoved
	}
	return nil
}

// look finds out what the part holds. Without a journal that is nothing.
func (p *Part) look() (err error) {
	p.Left, err = p.readJournal()
	missing := errors.Is(err, fs.ErrNotExist)
	if !missing && errors.As(err, new(*fs.PathError)) {
		return failure(p.shown(p.journal), "cannot be read", err)
	}
	p.journaled = !missing || !p.created // or a killed run may have begun to write one
	has, claims := p.info.Size(), p.Left.Done.End()
	switch {
	case !missing && err != nil:
		p.LeftErr = err
	case claims > has:
		p.LeftErr = fmt.Errorf("it has %d bytes, but its journal claims %d", has, claims)
	case claims == 0 && has > 0:
		return p.truncate()
	}
	return nil
}

// ours returns an error unless the part's name still refers to the open file.
func (p *Part) ours() error {
	info, err := p.dir.Lstat(p.partial)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(info, p.info) {
		return refuse(p.Name(), errReplaced.Error(), errReplaced)
	}
	return failure(p.Name(), "cannot be examined", err)
}

// Like gives the part the permissions of the file that it will replace, so that a private file stays private. Until the
// file has its name its owner can write to it: later runs open it again.
func (p *Part) Like(replaced fs.FileInfo) error {
	if replaced == nil || !replaced.Mode().IsRegular() {
		return nil
	}
	p.like = replaced
	return p.permit(replaced.Mode().Perm() | 0o600)
}

func (p *Part) permit(mode fs.FileMode) error {
	return failure(p.Name(), "cannot take the permissions of the file that it replaces", disk.Chmod(p.f, mode))
}
