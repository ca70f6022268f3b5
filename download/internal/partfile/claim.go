package partfile

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"

	"example.com/ftpfetch/internal/owner"
)

// claim is NAME.part and its journal, which a run writes until the file is whole.
//
// The run that holds the lock on NAME.part owns both files. A run can tell its own kind of part from another program's
// file even if an earlier run was killed: no byte goes into a part before the journal names its inode, and the journal is
// removed last. The exception is an empty part, which anyone may remove. The lock is on the file, not on its name: it
// lasts while the part becomes the target, until the journal is gone.
type claim struct {
	*Place
	f      *os.File
	info   fs.FileInfo  // of f when it was locked, to recognize it
	mode   *fs.FileMode // of the target; nil means the part's own
	placed bool         // the file has another name now
	run    string       // what this run calls itself in its journals where there are no locks; "" means a lock
	begun  atomic.Bool  // this run has written a journal
}

// claimTries limits how often a run tries again if a part vanishes while it opens it.
const claimTries = 16

// Again calls f again while it returns ErrMoved: another run is at work.
func (p *Place) Again(f func() error) error {
	for range claimTries {
		if err := f(); !errors.Is(err, ErrMoved) {
			return err
		}
	}
	return busy(p.shown(p.partial))
}

// check refuses, before it is opened, what belongs to another user: in a directory that everyone can write to, it may hold
// anything. It refuses a journal that is none. With replace it removes another user's part that has no journal, and
// without replace and adopt it refuses this user's.
func (p *Place) check(replace, adopt bool) error {
	journal, jerr := p.lstat(p.journal)
	if !errors.Is(jerr, fs.ErrNotExist) {
		if err := p.checkHead(p.journal); err != nil {
			return err
		}
	}
	if err := p.checkHead(p.fresh); err != nil {
		return err
	}
	info, err := p.lstat(p.partial)
	switch {
	case jerr == nil && !owner.Ours(journal):
		return othersFile(p.shown(p.journal))
	case err != nil || !info.Mode().IsRegular(): // open finds out
		return nil
	case owner.Ours(info):
		if errors.Is(jerr, fs.ErrNotExist) && !replace && !adopt && p.naked(info) {
			return naked(p.shown(p.partial))
		}
		return nil
	case jerr != nil && replace:
		return Failure(p.shown(p.partial), "cannot be removed", p.remove(p.partial))
	}
	return othersFile(p.shown(p.partial))
}

// naked reports whether the part, which info describes, has bytes and no journal. A run writes the journal while the part
// is empty, and removes it when the part is empty again or has its final name: so the part is looked at before and after.
func (p *Place) naked(info fs.FileInfo) bool {
	_, err := p.lstat(p.journal)
	now, nerr := p.lstat(p.partial)
	return info.Size() > 0 && errors.Is(err, fs.ErrNotExist) && nerr == nil && os.SameFile(now, info) && now.Size() > 0
}

// claim opens or creates NAME.part and locks it.
func (p *Place) claim() (c *claim, err error) {
	err = p.Again(func() error {
		if c, err = p.create(); !errors.Is(err, ErrMoved) {
			return err
		}
		if c, err = p.open(); err == nil && c.run != "" && c.info.Size() == 0 { // another run may be about to write to it
			err = c.renew()
		}
		return err
	})
	return c, err
}

// open opens and locks an existing part. The error is ErrMoved if another run has renamed or removed it meanwhile.
func (p *Place) open() (*claim, error) {
	f, err := p.openRegular(p.partial, os.O_RDWR)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, ErrMoved):
		return nil, ErrMoved
	case errors.Is(err, errNotRegular):
		return nil, refuse(p.shown(p.partial), "is in the way and is not a regular file", nil)
	case err != nil:
		return nil, Failure(p.shown(p.partial), "cannot be opened", err)
	}
	return p.hold(f)
}

// create creates an empty part with mode 0666 less umask. The error is ErrMoved if there is a part, or if its directory
// was missing and has been made.
func (p *Place) create() (*claim, error) {
	f, err := p.openFile(p.partial, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, ErrMoved
	case errors.Is(err, fs.ErrNotExist) && !p.lone:
		return nil, cmp.Or(p.makeDir(filepath.Dir(p.partial)), ErrMoved)
	case err != nil:
		return nil, p.obstacle(p.partial, "cannot be created", err)
	}
	return p.hold(f)
}

// hold locks f, the opened part.
func (p *Place) hold(f *os.File) (*claim, error) {
	c := &claim{Place: p, f: f}
	locked, err := lock(f)
	if !locked {
		c.run = rand.Text()
	}
	if err == nil {
		if c.info, err = fstat(f); err != nil {
			err = Failure(p.shown(p.partial), "cannot be examined", err)
		} else if err = c.ours(); errors.Is(err, errReplaced) {
			err = ErrMoved
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return c, nil
}

// Like gives the part the permissions of the file that it will replace, so that a private file stays private. Until the
// file has its name its owner can write to it: each connection and later runs open it again.
func (c *claim) Like(replaced fs.FileInfo) error {
	if replaced == nil || !replaced.Mode().IsRegular() {
		return nil
	}
	mode := replaced.Mode().Perm()
	c.mode = &mode
	return c.permit(c.partial, mode|0o600)
}

func (c *claim) permit(name string, mode fs.FileMode) error {
	return Failure(c.shown(name), "cannot take the permissions of the file that it replaces", c.chmod(name, mode))
}

// renew puts a new, empty file in the part's place. A part that has other names (hard links) keeps its bytes under those.
func (c *claim) renew() error {
	defer c.f.Close()
	if err := c.removable(); err != nil {
		return err
	}
	if err := c.remove(c.partial); err != nil {
		return Failure(c.shown(c.partial), "cannot be removed", err)
	}
	fresh, err := c.create()
	switch {
	case errors.Is(err, ErrMoved):
		return busy(c.shown(c.partial))
	case err != nil:
		return err
	}
	if c.f, c.info = fresh.f, fresh.info; c.mode == nil {
		return nil
	}
	return c.permit(c.partial, *c.mode|0o600)
}

// removable closes the part on systems that cannot rename or remove an open file.
func (c *claim) removable() error {
	if runtime.GOOS != "windows" {
		return nil
	}
	if err := c.f.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return Failure(c.shown(c.partial), "cannot be closed", err)
	}
	return nil
}

// handle opens the part again, with an offset of its own.
func (c *claim) handle() (*os.File, error) {
	f, err := c.openRegular(c.partial, os.O_WRONLY)
	if err != nil {
		return nil, Failure(c.shown(c.partial), "cannot be opened", err)
	}
	info, err := fstat(f)
	if err == nil && os.SameFile(info, c.info) {
		return f, nil
	}
	f.Close()
	return nil, cmp.Or(Failure(c.shown(c.partial), "cannot be examined", err), replaced(c.shown(c.partial)))
}

// ours returns an error unless the part's name still refers to the open file and, without locks, no other run has taken it
// over: then it is errReplaced.
func (c *claim) ours() error {
	info, err := c.lstat(c.partial)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !os.SameFile(info, c.info):
		return replaced(c.shown(c.partial))
	case err != nil:
		return Failure(c.shown(c.partial), "cannot be examined", err)
	case c.run == "" || !c.begun.Load():
		return nil
	}
	if s, err := c.readJournal(); err != nil || s.Run != c.run {
		return replaced(c.shown(c.partial))
	}
	return nil
}

// size returns how long the part is.
func (c *claim) size() (int64, error) {
	info, err := fstat(c.f)
	if err != nil {
		return 0, Failure(c.shown(c.partial), "cannot be examined", err)
	}
	return info.Size(), nil
}

// cut cuts off what the part has beyond its first n bytes. It is an error if the part has fewer.
func (c *claim) cut(n int64) error {
	has, err := c.size()
	switch {
	case err != nil || has == n:
		return err
	case has < n:
		return refuse(c.shown(c.partial), fmt.Sprintf("holds %d bytes, but %d were written", has, n), nil)
	}
	return Failure(c.shown(c.partial), "cannot be resized", truncate(c.f, n))
}

// Grow makes the part at least size bytes long. On most file systems the new bytes take no space.
func (c *claim) Grow(size int64) error {
	has, err := c.size()
	if err != nil || has >= size {
		return err
	}
	return Failure(c.shown(c.partial), "cannot be resized", truncate(c.f, size))
}

// empty removes all bytes from the part. Without locks another run may still write to it, so a new file takes its place:
// only runs that resume share one, and they write the same bytes.
func (c *claim) empty() error {
	if n, err := c.size(); c.run != "" && (err != nil || n > 0) {
		return c.renew()
	}
	return Failure(c.shown(c.partial), "cannot be emptied", truncate(c.f, 0))
}

// record replaces the journal.
func (c *claim) record(s State, sync bool) error {
	if err := c.ours(); err != nil {
		return err
	}
	s.Inode, s.Run = inodeOf(c.info), c.run
	if err := c.writeJournal(s, sync); err != nil {
		return Failure(c.shown(c.journal), "cannot be written", err)
	}
	c.begun.Store(true)
	return nil
}

// flush flushes the part to disk.
func (c *claim) flush() error {
	return Failure(c.shown(c.partial), "cannot be flushed to disk", fsync(c.f))
}
