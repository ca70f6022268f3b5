package download

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// part is NAME.part and its journal: what is written until the file is whole.
//
// Whoever holds the lock on NAME.part owns both files. So that a part is known
// for ours whenever a run is killed, bytes come into it only after the journal
// says which file it is about, and the journal goes last, except from a part
// that is empty: an empty part is never missed. The lock is on the file, not on
// its name: it holds while the part becomes the target, until the journal is
// gone.
type part struct {
	names
	f      *os.File
	info   fs.FileInfo  // of f, to recognise it by
	mode   *fs.FileMode // what the target gets; nil: as it is
	placed bool         // the file has another name now
}

// claimTries bounds how often a part vanishes while it is opened.
const claimTries = 16

// claim opens NAME.part, or makes it where there is none, and locks it.
func claim(n names) (*part, error) {
	for range claimTries {
		p, err := open(n)
		if errors.Is(err, fs.ErrNotExist) {
			p, err = create(n)
		}
		if !errors.Is(err, errMoved) {
			return p, err
		}
	}
	return nil, busy(n.part)
}

// open opens and locks a part that is there. The error is errMoved where
// another run ended it meanwhile.
func open(n names) (*part, error) {
	f, err := openRegular(n.part, os.O_RDWR)
	if errors.Is(err, fs.ErrPermission) && giveRights(n) == nil {
		f, err = openRegular(n.part, os.O_RDWR)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errMoved):
		return nil, err
	case errors.Is(err, errNotRegular):
		return nil, &Error{Path: n.part, Reason: "is in the way and is no regular file", Err: ErrLocal}
	case err != nil:
		return nil, failure(n.part, "cannot be opened", err)
	}
	return hold(n, f)
}

// giveRights lets this user write to a part that a run was about to name: see
// part.restrict.
func giveRights(n names) error {
	info, err := lstat(n.part)
	if err != nil || !info.Mode().IsRegular() || !isOurs(info) {
		return fs.ErrPermission
	}
	if s, err := readJournal(n.journal); err != nil || s.inode == "" || s.inode != inodeOf(info) {
		return fs.ErrPermission
	}
	return chmod(n.part, info.Mode().Perm()|0o600)
}

// create makes an empty part with the mode that umask leaves of 0666.
func create(n names) (*part, error) {
	f, err := openFile(n.part, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return nil, errMoved
	}
	if err != nil {
		return nil, failure(n.part, "cannot be created", err)
	}
	return hold(n, f)
}

// hold locks f, which was opened as the part.
func hold(n names, f *os.File) (*part, error) {
	p := &part{names: n, f: f}
	var err error
	if p.info, err = fstat(f); err != nil {
		err = failure(n.part, "cannot be looked at", err)
	} else if err = lock(f); err == nil && !p.ours() {
		err = errMoved
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return p, nil
}

// like gives the part the permissions of the file that it is to replace: what
// was private does not become public.
func (p *part) like(replaced fs.FileInfo) error {
	if replaced == nil || !replaced.Mode().IsRegular() {
		return nil
	}
	mode := replaced.Mode().Perm()
	p.mode = &mode
	if err := chmod(p.part, mode|0o600); err != nil { // it is opened again, by each connection and by later runs
		return failure(p.part, "cannot take the permissions of "+p.path, err)
	}
	return nil
}

// renew puts an empty part in the place of what stands there, which keeps its
// bytes where it has other names.
func (p *part) renew() (*part, error) {
	defer p.f.Close()
	if err := p.removable(); err != nil {
		return nil, err
	}
	if err := remove(p.part); err != nil {
		return nil, failure(p.part, "cannot be removed", err)
	}
	fresh, err := create(p.names)
	if errors.Is(err, errMoved) {
		err = busy(p.part)
	}
	return fresh, err
}

// removable closes the part where the system removes no open file.
func (p *part) removable() error {
	if runtime.GOOS != "windows" {
		return nil
	}
	if err := p.f.Close(); err != nil {
		return failure(p.part, "cannot be closed", err)
	}
	return nil
}

// handle opens the part once more, with an offset of its own.
func (p *part) handle() (*os.File, error) {
	f, err := openRegular(p.part, os.O_WRONLY)
	if err != nil {
		return nil, failure(p.part, "cannot be opened", err)
	}
	info, err := fstat(f)
	if err != nil || !os.SameFile(info, p.info) {
		f.Close()
		return nil, replaced(p.part)
	}
	return f, nil
}

// ours reports whether the part's name still stands for the file written.
func (p *part) ours() bool {
	info, err := lstat(p.part)
	return err == nil && os.SameFile(info, p.info)
}

// size returns how long the part is.
func (p *part) size() (int64, error) {
	info, err := fstat(p.f)
	if err != nil {
		return 0, failure(p.part, "cannot be looked at", err)
	}
	return info.Size(), nil
}

// resize makes the part size bytes long, where it is shorter (grow) or longer
// (not grow). What was not written takes no room on most file systems.
func (p *part) resize(size int64, grow bool) error {
	has, err := p.size()
	if err != nil || has == size || grow != (has < size) {
		return err
	}
	if err := truncate(p.f, size); err != nil {
		return failure(p.part, "cannot be resized", err)
	}
	return nil
}

// empty forgets what the part holds.
func (p *part) empty() error {
	if err := truncate(p.f, 0); err != nil {
		return failure(p.part, "cannot be emptied", err)
	}
	return nil
}

// write replaces the journal.
func (p *part) write(s state, sync bool) error {
	if !p.ours() {
		return replaced(p.part)
	}
	s.inode = inodeOf(p.info)
	return failure(p.journal, "cannot be written", writeJournal(p.names, s, sync))
}

// flush checks that the part holds n bytes and brings it to the disk.
func (p *part) flush(n int64) error {
	has, err := p.size()
	if err != nil {
		return err
	}
	if has != n {
		return &Error{Path: p.part, Reason: fmt.Sprintf("holds %d bytes, but %d were written", has, n), Err: ErrLocal}
	}
	return p.sync()
}

// sync brings the part to the disk.
func (p *part) sync() error {
	if err := fsync(p.f); err != nil {
		return failure(p.part, "cannot be brought to the disk", err)
	}
	return nil
}

// publish gives the part, which must have been flushed, its final name: over
// what stands there only with overwrite. Then the journal goes.
func (p *part) publish(overwrite bool) error {
	if err := p.restrict(); err != nil {
		return err
	}
	if err := p.moveTo(p.path, overwrite); err != nil {
		return err
	}
	err := removeJournal(p.names)
	p.close()
	if serr := syncDir(filepath.Dir(p.path)); serr != nil {
		return serr
	}
	if err != nil {
		return failure(p.journal, "cannot be removed", err)
	}
	return nil
}

// restrict takes back the rights that the part had to have, where the file that
// it replaces does not have them.
func (p *part) restrict() error {
	if p.mode == nil || *p.mode == *p.mode|0o600 {
		return nil
	}
	if err := chmod(p.part, *p.mode); err != nil {
		return failure(p.part, "cannot take the permissions of "+p.path, err)
	}
	return nil
}

// moveTo gives the part another name. Windows renames no open file; elsewhere
// the file stays open, and so locked.
func (p *part) moveTo(to string, overwrite bool) error {
	if !p.ours() {
		return replaced(p.part)
	}
	if err := p.removable(); err != nil {
		return err
	}
	if !overwrite {
		err := moveToFree(p.part, to)
		p.placed = err == nil || errors.Is(err, errHalfMoved)
		return err
	}
	if err := rename(p.part, to); err != nil {
		return failure(to, "cannot be put in place", err)
	}
	p.placed = true
	return nil
}

// keepBad names the part as one whose digest was wrong: NAME.bad, or NAME.bad.2
// and so on where that is taken.
func (p *part) keepBad() (string, error) {
	for i := 1; i < 1000; i++ {
		to := p.bad
		if i > 1 {
			to = fmt.Sprintf("%s.%d", to, i)
		}
		err := p.moveTo(to, false)
		if errors.Is(err, ErrExists) {
			continue
		}
		if err == nil {
			_ = removeJournal(p.names)
		}
		return to, err
	}
	return "", &Error{Path: p.bad, Reason: "exists too often", Err: ErrLocal}
}

// discard removes a part that did not become a file, and its journal. It is
// emptied first: whatever a kill leaves then is nobody's loss.
func (p *part) discard() {
	defer p.close()
	if p.placed {
		return
	}
	if !p.ours() {
		if s, err := readJournal(p.journal); err == nil && s.about(p.info) {
			_ = removeJournal(p.names)
		}
		return
	}
	if truncate(p.f, 0) != nil || removeJournal(p.names) != nil {
		return
	}
	if p.removable() == nil {
		_ = remove(p.part)
	}
}

// close leaves the part as it is.
func (p *part) close() { _ = p.f.Close() }

// lent is a target that becomes the part once the server has opened the
// transfer of the rest. It is locked.
type lent struct {
	f     *os.File
	info  fs.FileInfo
	state state // what its journal will say
}

// adopt makes the target the part, whose place an empty one has held so far.
// The journal comes first: without it the part would not be known for what it
// is, while without the part it is about the target.
func (p *part) adopt(l *lent) error {
	now, err := lstat(p.path)
	if err != nil || !os.SameFile(now, l.info) || now.Size() != l.info.Size() || !now.ModTime().Equal(l.info.ModTime()) {
		return &Error{Path: p.path, Reason: "changed while it was looked at", Err: ErrLocal}
	}
	s := l.state
	s.inode = inodeOf(l.info)
	if err := writeJournal(p.names, s, true); err != nil {
		return failure(p.journal, "cannot be written", err)
	}
	if !p.ours() {
		return replaced(p.part)
	}
	if runtime.GOOS == "windows" { // which renames no open file
		p.f.Close()
		l.f.Close()
	}
	if err := rename(p.path, p.part); err != nil {
		_ = removeJournal(p.names)
		return failure(p.path, "cannot be renamed", err)
	}
	if runtime.GOOS == "windows" {
		if l.f, err = openRegular(p.part, os.O_RDWR); err != nil {
			return failure(p.part, "cannot be opened", err)
		}
	}
	p.f.Close()
	p.f, p.info = l.f, l.info
	return nil
}

// putBack undoes adopt.
func (p *part) putBack(l *lent) {
	defer p.close()
	if !p.ours() || p.resize(l.info.Size(), false) != nil {
		return
	}
	if now, err := fstat(p.f); err == nil && !now.ModTime().Equal(l.info.ModTime()) {
		_ = chtimes(p.part, l.info.ModTime())
	}
	if p.moveTo(p.path, false) == nil {
		_ = removeJournal(p.names)
	}
}
