package partfile

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"

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

// naked reports whether the part, which info describes, has bytes and no journal. A run writes the journal while the part
// is empty, and removes it when the part is empty again or has its final name: so the part is looked at before and after.
func (p *Place) naked(info fs.FileInfo) bool {
	_, err := p.lstat(p.journal)
	now, nerr := p.lstat(p.partial)
	return info.Size() > 0 && errors.Is(err, fs.ErrNotExist) && nerr == nil && os.SameFile(now, info) && now.Size() > 0
}

// Claim locks NAME.part, for the bytes of url, or makes an empty one, and finds out what it holds. With replace it removes
// another user's part that has no journal. Without replace and adopt it refuses such a part of this user without taking
// the lock, which another run may need.
func (p *Place) Claim(ctx context.Context, url string, replace, adopt bool) (*Part, error) {
	part := &Part{Place: p, state: State{URL: url, Size: -1}}
	err := p.Again(func() error {
		if err := p.enter(); errors.Is(err, fs.ErrNotExist) {
			return cmp.Or(p.makeDir(), ErrMoved)
		} else if err != nil {
			return p.obstacle(p.partial, "cannot be created", err)
		}
		err := part.create()
		if errors.Is(err, ErrMoved) {
			if err = part.open(replace, adopt); err == nil && part.run != "" && part.info.Size() == 0 { // another run may be about to write to it
				err = part.Renew()
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if err = p.Unchanged(); err == nil {
		err = part.look(ctx)
	}
	if err != nil {
		part.GiveUp()
		return nil, err
	}
	return part, nil
}

// open opens and locks an existing part. The error is ErrMoved if another run has renamed or removed it meanwhile. It
// refuses what belongs to another user: in a directory that everyone can write to, it may hold anything.
func (p *Part) open(replace, adopt bool) error {
	info, err := p.lstat(p.partial)
	switch regular := err == nil && info.Mode().IsRegular(); {
	case regular && owner.Ours(info) && !replace && !adopt && !p.own && p.naked(info):
		return p.Naked()
	case regular && !owner.Ours(info):
		if _, err := p.lstat(p.journal); replace && errors.Is(err, fs.ErrNotExist) {
			return cmp.Or(Failure(p.Name(), "cannot be removed", p.remove(p.partial)), ErrMoved)
		}
		return othersFile(p.Name())
	}
	f, err := p.openRegular(p.partial, os.O_RDWR)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, ErrMoved):
		return ErrMoved
	case errors.Is(err, errNotRegular):
		return refuse(p.Name(), "is in the way and is not a regular file", nil)
	case err != nil:
		return Failure(p.Name(), "cannot be opened", err)
	}
	return p.hold(f)
}

// create creates an empty part with mode 0666 less umask. The error is ErrMoved if there is a part, or if its directory
// was missing and has been made.
func (p *Part) create() error {
	f, err := p.openFile(p.partial, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	switch {
	case errors.Is(err, fs.ErrExist):
		return ErrMoved
	case errors.Is(err, fs.ErrNotExist) && p.root != nil: // its directory has been removed
		p.leave(true)
		return cmp.Or(p.makeDir(), ErrMoved)
	case err != nil:
		return p.obstacle(p.partial, "cannot be created", err)
	}
	return p.hold(f)
}

// hold locks f, the opened part.
func (p *Part) hold(f *os.File) error {
	locked, err := lock(f)
	if !locked && p.run == "" {
		p.run = rand.Text()
	}
	if err == nil {
		p.f = f
		if p.info, err = fstat(f); err != nil {
			err = Failure(p.Name(), "cannot be examined", err)
		} else if err = p.ours(); errors.Is(err, errReplaced) {
			err = ErrMoved
		}
	}
	if err != nil {
		f.Close()
	}
	return err
}

// Like gives the part the permissions of the file that it will replace, so that a private file stays private. Until the
// file has its name its owner can write to it: later runs open it again.
func (p *Part) Like(replaced fs.FileInfo) error {
	if replaced == nil || !replaced.Mode().IsRegular() {
		return nil
	}
	mode := replaced.Mode().Perm()
	p.mode = &mode
	return p.permit(p.partial, mode|0o600)
}

func (p *Part) permit(name string, mode fs.FileMode) error {
	return Failure(p.shown(name), "cannot take the permissions of the file that it replaces", p.chmod(name, mode))
}

// Renew puts a new, empty file in the part's place. A part that has other names (hard links) keeps its bytes under those.
func (p *Part) Renew() error {
	defer p.f.Close() // the old one
	if err := p.removable(); err != nil {
		return err
	}
	if err := p.remove(p.partial); err != nil {
		return Failure(p.Name(), "cannot be removed", err)
	}
	err := p.create()
	switch {
	case errors.Is(err, ErrMoved):
		return busy(p.Name())
	case err != nil || p.mode == nil:
		return err
	}
	return p.permit(p.partial, *p.mode|0o600)
}

// removable closes the part on systems that cannot rename or remove an open file.
func (p *Part) removable() error {
	if runtime.GOOS != "windows" {
		return nil
	}
	if err := p.f.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return Failure(p.Name(), "cannot be closed", err)
	}
	return nil
}

// ours returns an error unless the part's name still refers to the open file and, without locks, no other run has taken it
// over: then it is errReplaced.
func (p *Part) ours() error {
	info, err := p.lstat(p.partial)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !os.SameFile(info, p.info):
		return replaced(p.Name())
	case err != nil:
		return Failure(p.Name(), "cannot be examined", err)
	case p.run == "" || !p.begun.Load():
		return nil
	}
	if s, err := p.readJournal(p.journal); err != nil || s.Run != p.run {
		return replaced(p.Name())
	}
	return nil
}

func (p *Part) size() (int64, error) {
	info, err := fstat(p.f)
	if err != nil {
		return 0, Failure(p.Name(), "cannot be examined", err)
	}
	return info.Size(), nil
}

// cut cuts off what the part has beyond its first n bytes. It is an error if the part has fewer.
func (p *Part) cut(n int64) error {
	has, err := p.size()
	switch {
	case err != nil || has == n:
		return err
	case has < n:
		return refuse(p.Name(), fmt.Sprintf("holds %d bytes, but %d were written", has, n), nil)
	}
	return Failure(p.Name(), "cannot be resized", truncate(p.f, n))
}

// Empty removes all bytes from the part. Without locks another run may still write to it, so a new file takes its place:
// only runs that resume share one, and they write the same bytes.
func (p *Part) Empty() error {
	if n, err := p.size(); p.run != "" && (err != nil || n > 0) {
		return p.Renew()
	}
	return Failure(p.Name(), "cannot be emptied", truncate(p.f, 0))
}

// record replaces the journal.
func (p *Part) record(s State) error {
	if err := p.ours(); err != nil {
		return err
	}
	s.Inode, s.Run = inodeOf(p.info), p.run
	if err := p.writeJournal(s); err != nil {
		return Failure(p.shown(p.journal), "cannot be written", err)
	}
	if p.begun.Swap(true) || p.own {
		return nil
	}
	return p.dir.flush() // only the journal shows whose the part is, after a crash too
}

// flush flushes the part to disk. An error is the part's health from then on: bytes may be missing on the disk although
// they can still be read, and the system reports that only once.
func (p *Part) flush() error {
	err := Failure(p.Name(), "cannot be flushed to disk", fsync(p.f))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = cmp.Or(p.failed, err)
	return err
}
