package partfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"example.com/ftpfetch/internal/localfile"
)

// Publish gives the whole part its final name, together with the others of its group.
func (p *Part) Publish(f Finish) error { return p.group.join(&naming{Finish: f, part: p}) }

// settle flushes the part to disk, with its size and time.
func (p *Part) settle(n *naming) error {
	if err := p.Health(); err != nil { // a checkpoint may have failed at the end
		return err
	}
	s := p.Snapshot()
	if err := p.cut(s.Done.Octets()); err != nil {
		return err
	}
	if n.time = s.ModTime; !n.time.IsZero() {
		if err := p.chtimes(p.partial, n.time); err != nil {
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
	return p.flush()
}

// cut cuts off what the part has beyond its first n bytes.
func (p *Part) cut(n int64) error {
	info, err := fstat(p.f)
	switch {
	case err != nil:
		return Failure(p.Name(), "cannot be examined", err)
	case info.Size() < n:
		return refuse(p.Name(), fmt.Sprintf("holds %d bytes, but %d were written", info.Size(), n), nil)
	case info.Size() > n:
		return Failure(p.Name(), "cannot be resized", truncate(p.f, n))
	}
	return nil
}

// publish gives the settled part its final name, which may exist only with overwrite. The journal goes first, so that none
// is left beside the file.
func (p *Part) publish(overwrite bool) (err error) {
	if p.copied != nil {
		if now, err := p.lstat(p.target); err != nil || !same(now, p.copied) {
			return refuse(p.Path, ErrMoved.Error(), err)
		}
	}
	if err = p.ours(); err == nil {
		err = p.removeJournal()
	}
	switch {
	case err != nil:
		return err
	case overwrite:
		err = Failure(p.Path, "cannot be moved into place", p.rename(p.partial, p.target))
		p.placed = err == nil
	default:
		p.placed, err = p.moveToFree(p.partial, p.target)
	}
	if err == nil && p.like != nil && p.like.Mode()&0o600 != 0o600 { // its owner could not have written to it
		err = p.permit(p.like.Mode().Perm())
	}
	return err
}

// KeepBad renames the part, because its digest is wrong, and returns the new name. One that an earlier run has kept makes
// room for it; same is called with that first.
func (p *Part) KeepBad(same func(f *os.File)) (kept string, err error) {
	if f, err := p.openRegular(p.bad, os.O_RDONLY); err == nil {
		same(f)
		f.Close()
	}
	if err = p.ours(); err == nil {
		err = p.removeJournal()
	}
	if err == nil {
		err = Failure(p.shown(p.bad), "cannot be moved into place", p.rename(p.partial, p.bad))
		p.placed = err == nil
	}
	return p.shown(p.bad), err
}

// moveToFree renames a file to a free name. The error is fs.ErrExist if the name is taken: renameat2 and a hard link can
// tell. moved reports whether the file has the new name, with an error besides the old one.
func (p *Place) moveToFree(from, to string) (moved bool, err error) {
	err = p.renameNew(from, to)
	if err != nil && !errors.Is(err, fs.ErrExist) { // not here, perhaps
		if err = p.link(from, to); err == nil {
			return true, Failure(p.shown(from), "cannot be removed", p.removeIfThere(from))
		}
	}
	if err == nil {
		return true, nil
	}
	if _, lerr := p.lstat(to); lerr == nil || errors.Is(err, fs.ErrExist) {
		return false, refuse(p.shown(to), "already exists", fs.ErrExist)
	}
	err = p.rename(from, to) // there are no hard links (FAT): a file that appears in between is lost
	return err == nil, Failure(p.shown(to), "cannot be moved into place", err)
}
