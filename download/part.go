package download

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

// part is NAME.part and its journal, which a run writes until the file is whole.
//
// The run that holds the lock on NAME.part owns both files. A run can tell its
// own kind of part from another program's file even if an earlier run was
// killed: no byte goes into a part before the journal names its inode, and the
// journal is removed last. The exception is an empty part, which anyone may
// remove. The lock is on the file, not on its name: it lasts while the part
// becomes the target, until the journal is gone.
type part struct {
	names
	f        *os.File
	info     fs.FileInfo  // of f when it was locked, to recognize it
	mode     *fs.FileMode // of the target; nil means the part's own
	placed   bool         // the file has another name now
	replaces *start       // with Continue: the target that the part has a copy of, or nil
	run      string       // what this run calls itself in its journals where there are no locks; "" means a lock
	begun    atomic.Bool  // this run has written a journal
}

// claimTries limits how often a run tries again if a part vanishes while it opens
// it.
const claimTries = 16

// claim opens or creates NAME.part and locks it.
func claim(n names) (*part, error) {
	for range claimTries {
		p, err := createPart(n)
		if errors.Is(err, errMoved) {
			p, err = openPart(n)
			if err == nil && p.run != "" && p.info.Size() == 0 { // another run may be about to write to it
				p, err = p.renew()
			}
		}
		if !errors.Is(err, errMoved) {
			return p, err
		}
	}
	return nil, busy(n.partial)
}

// openPart opens and locks an existing part. The error is errMoved if another run
// has renamed or removed it meanwhile.
func openPart(n names) (*part, error) {
	f, err := n.openRegular(n.partial, os.O_RDWR)
	if errors.Is(err, fs.ErrPermission) && giveRights(n) == nil {
		f, err = n.openRegular(n.partial, os.O_RDWR)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errMoved):
		return nil, errMoved
	case errors.Is(err, errNotRegular):
		return nil, &Error{Path: n.partial, Reason: "is in the way and is not a regular file", Err: ErrLocal}
	case err != nil:
		return nil, failure(n.partial, "cannot be opened", err)
	}
	return hold(n, f)
}

// giveRights lets this user write to a part again after a run was killed between
// part.restrict and naming it.
func giveRights(n names) error {
	info, err := n.lstat(n.partial)
	if err != nil || !info.Mode().IsRegular() || !owner.Ours(info) {
		return fs.ErrPermission
	}
	if s, err := n.readJournal(n.journal); err != nil || s.inode == "" || s.inode != inodeOf(info) {
		return fs.ErrPermission
	}
	return n.chmod(n.partial, info.Mode().Perm()|0o600)
}

// createPart creates an empty part with mode 0666 less umask. The error is errMoved
// if there is a part, or if its directory was missing and has been made.
func createPart(n names) (*part, error) {
	dir := filepath.Dir(n.partial)
	f, err := n.openFile(n.partial, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, errMoved
	case errors.Is(err, fs.ErrNotExist) && n.root != nil:
		return nil, cmp.Or(n.makeDir(dir), errMoved)
	case err != nil:
		return nil, cmp.Or(n.checkDir(dir), failure(n.partial, "cannot be created", err))
	}
	return hold(n, f)
}

// hold locks f, the opened part.
func hold(n names, f *os.File) (*part, error) {
	p := &part{names: n, f: f}
	locked, err := lock(f)
	if !locked {
		p.run = rand.Text()
	}
	if err == nil {
		if p.info, err = fstat(f); err != nil {
			err = failure(n.partial, "cannot be examined", err)
		} else if !p.ours() {
			err = errMoved
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return p, nil
}

// like gives the part the permissions of the file that it will replace, so that a
// private file stays private. The owner can write to the part until restrict.
func (p *part) like(replaced fs.FileInfo) error {
	if replaced == nil || !replaced.Mode().IsRegular() {
		return nil
	}
	mode := replaced.Mode().Perm()
	p.mode = &mode
	if err := p.chmod(p.partial, mode|0o600); err != nil { // each connection and later runs open it again
		return failure(p.partial, "cannot take the permissions of "+p.path, err)
	}
	return nil
}

// renew replaces the part by a new, empty one. A part that has other names (hard
// links) keeps its bytes under those.
func (p *part) renew() (*part, error) {
	defer p.f.Close()
	if err := p.removable(); err != nil {
		return nil, err
	}
	if err := p.remove(p.partial); err != nil {
		return nil, failure(p.partial, "cannot be removed", err)
	}
	fresh, err := createPart(p.names)
	if errors.Is(err, errMoved) {
		err = busy(p.partial)
	}
	return fresh, err
}

// removable closes the part on systems that cannot rename or remove an open file.
func (p *part) removable() error {
	if runtime.GOOS != "windows" {
		return nil
	}
	if err := p.f.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return failure(p.partial, "cannot be closed", err)
	}
	return nil
}

// handle opens the part again, with an offset of its own.
func (p *part) handle() (*os.File, error) {
	f, err := p.openRegular(p.partial, os.O_WRONLY)
	if err != nil {
		return nil, failure(p.partial, "cannot be opened", err)
	}
	info, err := fstat(f)
	if err != nil || !os.SameFile(info, p.info) {
		f.Close()
		return nil, replaced(p.partial)
	}
	return f, nil
}

// ours reports whether the part's name still refers to the open file and, without
// locks, no other run has taken it over.
func (p *part) ours() bool {
	info, err := p.lstat(p.partial)
	if err != nil || !os.SameFile(info, p.info) {
		return false
	}
	if p.run == "" || !p.begun.Load() {
		return true
	}
	s, err := p.readJournal(p.journal)
	return err == nil && s.run == p.run
}

// size returns how long the part is.
func (p *part) size() (int64, error) {
	info, err := fstat(p.f)
	if err != nil {
		return 0, failure(p.partial, "cannot be examined", err)
	}
	return info.Size(), nil
}

// fit cuts off what the part has beyond its first n bytes. It is an error if the
// part has fewer.
func (p *part) fit(n int64) error {
	has, err := p.size()
	switch {
	case err != nil:
		return err
	case has < n:
		return &Error{Path: p.partial, Reason: fmt.Sprintf("holds %d bytes, but %d were written", has, n), Err: ErrLocal}
	case has == n:
		return nil
	}
	return failure(p.partial, "cannot be resized", truncate(p.f, n))
}

// resize makes the part size bytes long: with grow only if it is shorter, without
// grow only if it is longer. On most file systems the new bytes take no space.
func (p *part) resize(size int64, grow bool) error {
	has, err := p.size()
	if err != nil || has == size || grow != (has < size) {
		return err
	}
	if err := truncate(p.f, size); err != nil {
		return failure(p.partial, "cannot be resized", err)
	}
	return nil
}

// empty removes all bytes from the part. Without locks another run may still write
// to it, so a new file takes its place: only runs that resume share one, and they
// write the same bytes.
func (p *part) empty() error {
	if n, err := p.size(); p.run != "" && (err != nil || n > 0) {
		fresh, err := p.renew()
		if err != nil {
			return err
		}
		if p.f, p.info = fresh.f, fresh.info; p.mode == nil {
			return nil
		}
		return failure(p.partial, "cannot take the permissions of "+p.path, p.chmod(p.partial, *p.mode|0o600))
	}
	if err := truncate(p.f, 0); err != nil {
		return failure(p.partial, "cannot be emptied", err)
	}
	return nil
}

// write replaces the journal.
func (p *part) write(s state, sync bool) error {
	if !p.ours() {
		return replaced(p.partial)
	}
	s.inode, s.run = inodeOf(p.info), p.run
	if err := p.writeJournal(s, sync); err != nil {
		return failure(p.journal, "cannot be written", err)
	}
	p.begun.Store(true)
	return nil
}

// sync flushes the part to disk.
func (p *part) sync() error {
	if err := fsync(p.f); err != nil {
		return failure(p.partial, "cannot be flushed to disk", err)
	}
	return nil
}

// publish gives the flushed part its final name, which may exist only with
// overwrite, and removes the journal.
func (p *part) publish(overwrite bool) error {
	if err := p.restrict(); err != nil {
		return err
	}
	if p.replaces != nil && !p.replaces.unchanged(p.lstat(p.path)) {
		return &Error{Path: p.path, Reason: errMoved.Error(), Err: ErrLocal}
	}
	if err := p.moveTo(p.path, overwrite); err != nil {
		return err
	}
	err := p.removeJournal()
	p.close()
	if serr := p.syncDir(filepath.Dir(p.path)); serr != nil {
		return serr
	}
	if err != nil {
		return failure(p.journal, "cannot be removed", err)
	}
	return nil
}

// restrict sets the permissions of the file that the part replaces, if the part
// needed more until now.
func (p *part) restrict() error {
	if p.mode == nil || *p.mode == *p.mode|0o600 {
		return nil
	}
	if err := p.chmod(p.partial, *p.mode); err != nil {
		return failure(p.partial, "cannot take the permissions of "+p.path, err)
	}
	return nil
}

// moveTo renames the part. Except on Windows, which cannot rename an open file,
// the part stays open and so locked.
func (p *part) moveTo(to string, overwrite bool) error {
	if !p.ours() {
		return replaced(p.partial)
	}
	if err := p.removable(); err != nil {
		return err
	}
	if !overwrite {
		err := p.moveToFree(p.partial, to)
		p.placed = err == nil || errors.Is(err, errHalfMoved)
		if err != nil {
			return err
		}
		return p.named(to)
	}
	if err := p.rename(p.partial, to); err != nil {
		return failure(to, "cannot be moved into place", err)
	}
	p.placed = true
	return p.named(to)
}

// named checks without locks that to is the part, and removes it if it is the
// unfinished one of another run.
func (p *part) named(to string) error {
	if p.run == "" {
		return nil
	}
	info, err := p.lstat(to)
	if err == nil && os.SameFile(info, p.info) {
		return nil
	}
	if s, err := p.readJournal(p.journal); err == nil && s.about(info) && !s.complete {
		_ = p.remove(to)
	}
	return replaced(p.partial)
}

// mostBad bounds the files with wrong digests that are kept of one target.
const mostBad = 9

// keepBad renames the part to NAME.bad, or to NAME.bad.2 and so on if that
// exists, because its digest is wrong. If same reports that one of these has the
// same bytes, keepBad removes the part in place of that.
func (p *part) keepBad(same func(path string) bool) (kept string, before bool, err error) {
	for i := 1; i <= mostBad; i++ {
		to := p.bad
		if i > 1 {
			to = fmt.Sprintf("%s.%d", to, i)
		}
		if same(to) {
			p.discard()
			p.placed = true // there is nothing left to resume from
			return to, true, nil
		}
		err := p.moveTo(to, false)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil {
			_ = p.removeJournal()
		}
		return to, false, err
	}
	return "", false, &Error{Path: p.bad, Reason: fmt.Sprintf("exists, and so do all names up to .%d: remove them", mostBad), Err: ErrLocal}
}

// discard removes the part and its journal, unless the part has become a file.
// It empties the part first, so that a kill leaves nothing that a later run
// would keep.
func (p *part) discard() {
	defer p.close()
	if p.placed {
		return
	}
	if !p.ours() {
		now, err := p.lstat(p.partial)
		if s, jerr := p.readJournal(p.journal); jerr == nil && s.about(p.info) && (err == nil && !os.SameFile(now, p.info) || errors.Is(err, fs.ErrNotExist)) {
			_ = p.removeJournal() // another file has taken the part's place
		}
		return
	}
	if err := truncate(p.f, 0); err != nil && !errors.Is(err, fs.ErrClosed) || p.removeJournal() != nil {
		return
	}
	if p.removable() == nil {
		_ = p.remove(p.partial)
	}
}

// close leaves the part as it is.
func (p *part) close() { _ = p.f.Close() }
