package partfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"example.com/ftpfetch/internal/disk"
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
	size := s.Done.Octets()
	info, err := disk.Stat(p.f)
	switch {
	case err != nil:
		return failure(p.Name(), "cannot be examined", err)
	case info.Size() < size:
		return refuse(p.Name(), fmt.Sprintf("holds %d bytes, but %d were written: another program changed it", info.Size(), size), nil)
	case info.Size() > size:
		if err := disk.Truncate(p.f, size); err != nil {
			return failure(p.Name(), "cannot be resized", err)
		}
	}
	if n.time = s.ModTime; !n.time.IsZero() {
		if err := p.dir.SetTime(p.partial, n.time); err != nil {
			n.time = time.Time{}
			n.Note(p.Name() + ": cannot set the server's time: " + localfile.Cause(err).Error())
		}
	}
	if n.time.IsZero() {
		info, err := disk.Stat(p.f)
		if err != nil {
			return failure(p.Name(), "cannot be examined", err)
		}
		n.time = info.ModTime()
	}
	return p.flush()
}

// publish gives the settled part its final name, which may exist only with overwrite. The journal goes first, so that none
// is left beside the file.
func (p *Part) publish(overwrite bool) (err error) {
	if p.copied != nil {
		if now, err := p.dir.Lstat(p.target); err != nil || !same(now, p.copied) {
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
		err = p.dir.Rename(p.partial, p.target)
		p.placed = err == nil
	default:
		p.placed, err = p.dir.RenameNew(p.partial, p.target)
	}
	if errors.Is(err, fs.ErrExist) {
		return refuse(p.Path, "already exists", fs.ErrExist)
	}
	err = failure(p.Path, "cannot be moved into place", err)
	if err == nil && p.like != nil && p.like.Mode()&0o600 != 0o600 { // its owner could not have written to it
		err = p.permit(p.like.Mode().Perm())
	}
	return err
}

// KeepBad renames the part, because its digest is wrong, and returns the new name. One that an earlier run has kept makes
// room for it; same is called with that first.
func (p *Part) KeepBad(same func(f *os.File)) (kept string, err error) {
	if f, err := p.dir.Open(p.bad, os.O_RDONLY); err == nil {
		same(f)
		f.Close()
	}
	if err = p.ours(); err == nil {
		err = p.removeJournal()
	}
	if err == nil {
		err = failure(p.shown(p.bad), "cannot be moved into place", p.dir.Rename(p.partial, p.bad))
		p.placed = err == nil
	}
	return p.shown(p.bad), err
}
