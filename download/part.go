package download

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
)

// partSuffix marks a file that is not whole yet.
const partSuffix = ".part"

// part is NAME.part: what is written until the file is whole. It is held by an
// advisory lock while it is open, so that another run does not take it for a
// left-over.
type part struct {
	f        *os.File
	info     fs.FileInfo // of f, to recognise it by
	path     string      // of the part
	target   string      // the final name
	existing Existing
	mode     fs.FileMode // to get in the end; 0: as it is
	fsync    func(*os.File) error
	placed   bool // the final name stands for the file now
}

// createPart makes NAME.part for t. It never opens a file that stands there.
//
// A left-over NAME.part is replaced only where nothing can be lost: a regular
// file that no run holds open, and that is empty or that the caller allowed to
// overwrite. Otherwise it may be another program's, or the head of a transfer
// that somebody wants to keep, and is refused with [ErrPart].
func createPart(t target, existing Existing) (*part, error) {
	p := &part{path: t.path + partSuffix, target: t.path, existing: existing, fsync: (*os.File).Sync}
	err := p.create()
	if errors.Is(err, fs.ErrExist) {
		if err := removeLeftover(p.path, existing); err != nil {
			return nil, err
		}
		err = p.create()
	}
	if err != nil {
		return nil, failure(p.path, "cannot be created", err)
	}
	if err := p.secure(t.info); err != nil {
		p.discard()
		return nil, err
	}
	return p, nil
}

// create opens a new file with the mode that umask leaves of 0666.
func (p *part) create() (err error) {
	p.f, err = os.OpenFile(p.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	return err
}

// handle opens the part once more, with an offset of its own.
func (p *part) handle() (*os.File, error) {
	f, err := openRegular(p.path, os.O_WRONLY)
	if err != nil {
		return nil, failure(p.path, "cannot be opened", err)
	}
	info, err := f.Stat()
	if err != nil || !os.SameFile(info, p.info) {
		f.Close()
		return nil, replaced(p.path)
	}
	return f, nil
}

func replaced(path string) error {
	return &Error{Path: path, Reason: "was replaced while it was written", Err: ErrLocal}
}

// secure locks the new part. Where it is to replace a file, it gets that
// file's permissions: what was private does not become public.
func (p *part) secure(replaced fs.FileInfo) (err error) {
	if p.info, err = p.f.Stat(); err != nil {
		return failure(p.path, "cannot be looked at", err)
	}
	if err := lock(p.f); err != nil {
		return busy(p.path)
	}
	if replaced != nil && replaced.Mode().IsRegular() {
		p.mode = replaced.Mode().Perm()
		if err := p.f.Chmod(p.mode | 0o600); err != nil { // it is opened again, by each connection and later runs
			return failure(p.path, "cannot take the permissions of "+p.target, err)
		}
	}
	return nil
}

func busy(path string) error {
	return &Error{Path: path, Reason: "is being written by another run", Err: ErrLocal}
}

// removeLeftover clears the way for a new part; see createPart for the rule.
func removeLeftover(path string, existing Existing) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return failure(path, "cannot be looked at", err)
	case !info.Mode().IsRegular():
		return &Error{Path: path, Reason: "is in the way and is no regular file", Err: ErrLocal}
	case info.Size() > 0 && existing != Overwrite:
		reason := "is in the way: left by a run that was killed, or another program's"
		return &Error{Path: path, Reason: reason, Err: ErrPart}
	}
	return removeUnlessHeld(path, info)
}

// commit gives the finished file its final name. n is the number of octets
// that were written to it.
func (p *part) commit(n int64) error {
	if err := p.flush(n); err != nil {
		return err
	}
	return p.publish()
}

// publish gives the file, which must have been flushed, its final name.
func (p *part) publish() error {
	// Windows neither renames nor removes an open file. Elsewhere the file
	// stays open, and so locked, until it has its name.
	if runtime.GOOS == "windows" {
		if err := p.f.Close(); err != nil {
			return failure(p.path, "cannot be closed", err)
		}
	}
	if err := p.place(); err != nil {
		return err
	}
	if err := p.restrict(); err != nil {
		return err
	}
	_ = p.f.Close() // everything reached the disk in flush
	return syncDir(dirOf(p.target))
}

// restrict takes back the rights that the part had to have, where the file that
// was replaced did not have them. Only then is a part never one that cannot be
// gone on with.
func (p *part) restrict() error {
	if p.mode == 0 || p.mode == p.mode|0o600 {
		return nil
	}
	err := error(nil)
	if runtime.GOOS == "windows" {
		err = os.Chmod(p.target, p.mode)
	} else {
		err = p.f.Chmod(p.mode)
	}
	if err != nil {
		return failure(p.target, "cannot take the permissions of the file that it replaced", err)
	}
	return nil
}

// flush checks that the file holds what was written and brings it to the disk.
func (p *part) flush(n int64) error {
	info, err := p.f.Stat()
	if err != nil {
		return failure(p.path, "cannot be looked at", err)
	}
	if info.Size() != n {
		reason := fmt.Sprintf("holds %d octets, but %d were written", info.Size(), n)
		return &Error{Path: p.path, Reason: reason, Err: ErrLocal}
	}
	return p.sync()
}

// sync brings the part to the disk.
func (p *part) sync() error {
	if err := p.fsync(p.f); err != nil {
		return failure(p.path, "cannot be brought to the disk", err)
	}
	return nil
}

// place moves the part to the final name, never over a file that appeared
// there meanwhile, unless overwriting was asked for.
func (p *part) place() error {
	if !p.ours() {
		return replaced(p.path)
	}
	if p.existing == Overwrite {
		return p.rename()
	}
	err := moveToFree(p.path, p.target)
	if err == nil || isPlaced(err) {
		p.placed = true
	}
	return err
}

func (p *part) rename() error {
	if err := os.Rename(p.path, p.target); err != nil {
		return failure(p.target, "cannot be put in place", err)
	}
	p.placed = true
	return nil
}

// cut takes off what stands behind size octets: never more than was announced counts.
func (p *part) cut(size int64) error {
	info, err := p.f.Stat()
	if err == nil && info.Size() > size {
		err = p.f.Truncate(size)
	}
	if err != nil {
		return failure(p.path, "cannot be shortened", err)
	}
	return nil
}

// ours reports whether the part's name still stands for the file written.
func (p *part) ours() bool {
	info, err := os.Lstat(p.path)
	return err == nil && os.SameFile(info, p.info)
}

// extend makes the part at least size octets long, so that it can be written in
// any order. What is not written takes no room on most file systems.
func (p *part) extend(size int64) error {
	info, err := p.f.Stat()
	if err == nil && info.Size() < size {
		err = p.f.Truncate(size)
	}
	if err != nil {
		return failure(p.path, "cannot be extended", err)
	}
	return nil
}

// close leaves the part as it is.
func (p *part) close() { _ = p.f.Close() }

// keepAs renames the part to name, or to name.2 and so on where that is taken.
func (p *part) keepAs(name string) (string, error) {
	if !p.ours() {
		return "", replaced(p.path)
	}
	if runtime.GOOS == "windows" {
		p.close()
	}
	for i := 1; i < 1000; i++ {
		to := name
		if i > 1 {
			to = fmt.Sprintf("%s.%d", name, i)
		}
		err := moveToFree(p.path, to)
		if errors.Is(err, ErrExists) {
			continue
		}
		p.placed = err == nil || isPlaced(err)
		return to, err
	}
	return "", &Error{Path: name, Reason: "exists too often", Err: ErrLocal}
}

// discard removes a part that did not become a file. After commit it does
// nothing.
func (p *part) discard() {
	if !p.placed && p.ours() {
		if runtime.GOOS == "windows" {
			_ = p.f.Close()
		}
		_ = os.Remove(p.path)
	}
	_ = p.f.Close()
}
