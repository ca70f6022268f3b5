package partfile

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/local/localfile"
)

// Again calls f until it does not return ErrMoved, at most 16 times. ErrMoved means that another run changed the files.
func (p *Place) Again(f func() error) error {
	for range 16 {
		if err := f(); !errors.Is(err, ErrMoved) {
			return err
		}
	}
	return busy(p.shown(p.partial))
}

// Claim locks the part for the bytes of url, or creates an empty part, and reads the journal that an earlier run left.
// Without a journal it empties the part. Before that, it calls found, if that is not nil and the part was there. The
// caller must call Leave. The error is ErrMoved if the target is no longer the file that Look found.
func (p *Place) Claim(url string, found func(*Part) error) (*Part, error) {
	part := &Part{Place: p, state: State{URL: url, Size: -1}}
	err := p.Again(part.open)
	if err != nil {
		return nil, err
	}
	if err = p.unchanged(); err == nil && found != nil && !part.created {
		err = found(part)
	}
	if err == nil {
		err = part.look()
	}
	switch {
	case err == nil:
		return part, nil
	case part.info.Size() == 0: // an empty part is worth nothing, and this run holds its lock
		part.Discard()
	}
	part.Close()
	return nil, err
}

// unchanged returns ErrMoved if the target is no longer the file that Look found, because another run has ended
// meanwhile.
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

// open opens or creates the part and locks it. The error is ErrMoved if the caller must try again: the directory was
// just made, or another run renamed or removed the part or its directory.
func (p *Part) open() error {
	err := p.enter()
	if err == nil {
		err = p.fits(func() (err error) {
			p.f, err = p.dir.Create(p.partial, os.O_RDWR, 0o666)
			return err
		})
	}
	p.created = err == nil
	switch {
	case p.created:
	case errors.Is(err, fs.ErrExist):
		err = p.openExisting()
	case errors.Is(err, fs.ErrNotExist) && p.root != nil:
		err = p.makeDir(err)
	default:
		err = failure(p.Name(), "cannot be created", err)
	}
	if err != nil {
		return err
	}
	if err = p.hold(); err != nil {
		p.Close()
	}
	return err
}

// openExisting opens a part that another run created.
func (p *Part) openExisting() (err error) {
	p.f, err = p.dir.Open(p.partial, os.O_RDWR)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.EAGAIN): // EAGAIN: see disk.WatchOpens
		return ErrMoved
	case errors.Is(err, disk.ErrNotRegular):
		return p.inTheWay("is not a regular file")
	}
	return failure(p.Name(), "cannot be opened", err)
}

// makeDir makes the missing directory of the part and returns ErrMoved, so that the caller tries again. missing is the
// error of creating the part.
func (p *Part) makeDir(missing error) error {
	p.closeDir(true)
	made, err := p.group.Dirs.Make(p.root, p.path)
	p.made = append(p.made, made...)
	p.vain++
	if len(made) > 0 {
		p.vain = 0
	}
	if err == nil && p.vain > mostVain { // the directory takes no files, as /proc
		err = failure(p.Name(), "cannot be created", missing)
	}
	return cmp.Or(err, ErrMoved)
}

// mostVain is how often a part may be missing its directory although that is there: other files may fail meanwhile, and
// remove the directory, and others make it again.
const mostVain = 8

// hold locks the opened part. It refuses a part of another user, who may have written anything to it. If the system has
// no locks, or another attempt at the same file holds the lock, hold chooses a name that only this run uses and returns
// ErrMoved.
func (p *Part) hold() error {
	taken, locked := disk.Lock(p.f)
	switch {
	case taken && p.group.Attempt == "":
		return busy(p.Name())
	case !locked && !p.alone:
		p.renounce(taken)
		return ErrMoved
	}
	var err error
	p.info, err = p.stat()
	if err != nil {
		return err
	}
	if !p.created || p.info.Size() > 0 || disk.Links(p.info) == 0 { // another run may have used it first
		err = p.ours()
	}
	switch {
	case errors.Is(err, errReplaced):
		return ErrMoved
	case err != nil:
		return err
	case !p.created && !disk.Ours(p.info):
		return p.inTheWay("belongs to another user")
	case disk.Links(p.info) > 1: // a run was killed while it gave the part its name by a hard link
		return cmp.Or(failure(p.Name(), "cannot be removed", p.dir.Remove(p.partial)), ErrMoved)
	}
	return nil
}

// renounce replaces the names by ones that only this run uses. It removes the part if this run created it and no other
// attempt has locked it.
func (p *Part) renounce(taken bool) {
	if p.created && !taken {
		_ = p.dir.Remove(p.partial)
	}
	p.run = rand.Text()
	p.names = namesOf(p.target, p.run, localfile.Beside)
	p.alone = true
}

func (p *Part) inTheWay(why string) error {
	return refuse(p.Name(), "is in the way, and "+why+": remove it, or choose another place", nil)
}

// stat examines the open part.
func (p *Part) stat() (fs.FileInfo, error) {
	info, err := disk.Stat(p.f)
	return info, failure(p.Name(), "cannot be examined", err)
}

// look reads the journal. Without a journal it empties the part.
func (p *Part) look() (err error) {
	p.Left, err = p.readJournal()
	missing := errors.Is(err, fs.ErrNotExist)
	if !missing && errors.As(err, new(*fs.PathError)) {
		return failure(p.shown(p.journal), "cannot be read", err)
	}
	p.journaled = !missing || !p.created // a run may have been killed while it wrote one
	has := p.info.Size()
	claims := p.Left.Done.End()
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

// find examines the part by its name. It refuses a name that no longer refers to the open file.
func (p *Part) find() (fs.FileInfo, error) {
	info, err := p.dir.Lstat(p.partial)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(info, p.info) {
		return nil, refuse(p.Name(), errReplaced.Error(), errReplaced)
	}
	return info, failure(p.Name(), "cannot be examined", err)
}

// ours returns an error if the part's name no longer refers to the open file.
func (p *Part) ours() error {
	_, err := p.find()
	return err
}
