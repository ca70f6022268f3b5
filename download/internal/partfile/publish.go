package partfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/local/localfile"
)

// Publish gives the complete part its final name, together with the other parts of its group.
func (p *Part) Publish(f Finish) error {
	n := &naming{Finish: f, group: p.group, part: p, size: p.Snapshot().Done.Octets()}
	if err := p.prepare(n); err != nil {
		return err
	}
	return p.group.process(n)
}

// prepare sets the part's size and time.
func (p *Part) prepare(n *naming) error {
	if err := p.Health(); err != nil { // a checkpoint may have failed at the end
		return err
	}
	refused := p.setTime(n)
	info, err := p.stat()
	if err == nil && info.Size() > n.size {
		if err = failure(p.Name(), "cannot be resized", disk.Truncate(p.f, n.size)); err == nil {
			refused = p.setTime(n)
			info, err = p.stat()
		}
	}
	if err != nil {
		return err
	}
	n.time = info.ModTime()
	p.timed(n, refused)
	// If the target has the same size and time, the record would match the target too. So it is written after the
	// rename.
	was := p.Info
	n.late = was != nil && was.Size() == n.size && localfile.SameTime(was.ModTime(), n.time) ||
		n.Remembered && p.alone
	return nil
}

// setTime gives the part the server's time, if it is known.
func (p *Part) setTime(n *naming) error {
	if n.ModTime.IsZero() {
		return nil
	}
	return p.dir.SetTime(p.partial, n.ModTime)
}

// timed sets n.time to the server's time if the disk has kept it, and otherwise notes why the part does not have it.
func (p *Part) timed(n *naming, refused error) {
	switch off := n.time.Sub(n.ModTime).Abs(); {
	case n.ModTime.IsZero():
	case refused != nil:
		n.Note(p.Name() + ": cannot set the server's time: " + localfile.Cause(refused).Error())
	case off <= localfile.Slack:
		n.time = n.ModTime
	case off > coarsest:
		n.Note(fmt.Sprintf("%s: the disk cannot keep the server's time %s: it makes %s of it",
			p.Path, n.ModTime.UTC().Format(time.RFC3339), n.time.UTC().Format(time.RFC3339)))
	}
}

// coarsest is the unit of times on FAT.
const coarsest = 2 * time.Second

// TryTime returns what the disk makes of a time. In a dry run it does not find out.
func (p *Place) TryTime(modTime time.Time) (time.Time, error) {
	if p.group.Dry {
		return modTime, nil
	}
	err := p.enter()
	if err != nil {
		return modTime, err
	}
	return p.dir.TryTime(modTime)
}

// publish removes the journal and gives the prepared part its final name. Without Overwrite it fails if that name
// exists.
func (p *Part) publish(n *naming) error {
	if p.copied != nil {
		if now, err := p.dir.Lstat(p.target); err != nil || !unchanged(now, p.copied) {
			return refuse(p.Path, ErrMoved.Error(), err)
		}
	}
	info, err := p.find()
	switch {
	case errors.Is(err, errReplaced) && p.group.Attempt != "": // another attempt has placed the file
		return ErrMoved
	case err != nil:
		return err
	case info.Size() != n.size:
		how := fmt.Sprintf("holds %d bytes, but %d were written", info.Size(), n.size)
		return changed(p.Name(), how)
	}
	if err = p.removeJournal(); err != nil {
		return err
	}
	if n.Overwrite {
		err = p.dir.Rename(p.partial, p.target)
		p.placed = err == nil
	} else {
		p.placed, err = p.dir.RenameNew(p.partial, p.target)
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return refuse(p.Path, "already exists", fs.ErrExist)
	case err == nil && p.like != nil && p.like.Mode()&ownerWrites != ownerWrites:
		return p.permit(p.like.Mode().Perm())
	}
	return failure(p.Path, "cannot be moved into place", err)
}

// KeepBad renames a part whose digest is wrong, and returns the new name. If an earlier run left a file of that name,
// KeepBad calls same with it and then replaces it.
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

// Finish says how a part becomes a file.
type Finish struct {
	Overwrite bool         // the name may exist
	ModTime   time.Time    // the server's time; if zero, the file has the time at which its last byte arrived
	Note      func(string) // called if the server's time cannot be set
	// Commit, if not nil, records the file. The file is on the disk and has modTime.
	Commit func(modTime time.Time) error
	// Remembered means that the record would count although the file is gone. So it must not be written before the name
	// if the next run would not find the part.
	Remembered bool
	// Announce, if not nil, is called before the file gets its name, if Commit is called only after it.
	Announce func() error
}
