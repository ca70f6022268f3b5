// Package partfile keeps the bytes of a file on the disk until it is whole. It knows of no server: who writes brings the
// bytes of spans in any order.
//
// A [Place] is a target with the names beside it. Place.Claim locks NAME.part and finds out what is in it. The [Part]
// counts what arrives, writes the journal, and gives the file its name or keeps what a later run can resume from.
// docs/download.md has the rules.
package partfile

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"example.com/ftpfetch/internal/localfile"
)

// Place is where a file is to be. All its names are below a root: the one that the caller gave, or the directory of the
// target.
type Place struct {
	Path   string      // the target, as messages show it
	Info   fs.FileInfo // of the target, not following links; nil if there is none
	Stream bool        // the target is a character device or FIFO

	root *os.Root
	lone bool // root is the target's directory, and the target may be a link or device anywhere
	names
	made []string // the directories that this run made, in order
}

// Find returns the place of the target at path: below root, or anywhere if that is nil. Then Close must be called.
func Find(root *os.Root, path string, hashed bool) (*Place, error) {
	p := &Place{root: root, lone: root == nil}
	switch {
	case path == "":
		return nil, refuse("", "no file name given", localfile.ErrName)
	case !p.lone && !filepath.IsLocal(path):
		return nil, refuse(path, "leads out of "+root.Name()+": write a path relative to it, without \"..\"", localfile.ErrName)
	case os.IsPathSeparator(path[len(path)-1]):
		return nil, refuse(path, "names a directory, not a file", localfile.ErrName)
	}
	dir, name := "", filepath.Clean(path)
	if p.lone {
		dir, name = filepath.Split(path)
		if name == "." || name == ".." {
			return nil, refuse(path, "is a directory", localfile.ErrName)
		}
		f, err := os.Open(cmp.Or(dir, ".")) // the runtime ends the process if it cannot open what it needs for its first file: the root takes one more
		if err == nil {
			f.Close()
			p.root, err = os.OpenRoot(cmp.Or(dir, "."))
		}
		if err != nil {
			return nil, noDirectory(filepath.Clean(dir), err)
		}
	}
	p.Path = filepath.Join(p.root.Name(), name)
	p.names = namesOf(name, hashed)
	if why := localfile.Own(filepath.Base(name)); why != "" {
		p.Close(false)
		return nil, refuse(p.Path, why, localfile.ErrName)
	}
	return p, nil
}

// Close ends the use of p. If the run failed, it removes the directories that it made, as far as they are empty.
func (p *Place) Close(failed bool) {
	for _, dir := range slices.Backward(p.made) {
		if info, err := p.lstat(dir); !failed || err != nil || !info.IsDir() || p.remove(dir) != nil {
			break
		}
	}
	if p.lone {
		_ = p.root.Close()
	}
}

// Look examines the target. It refuses what no download can replace.
func (p *Place) Look() (err error) {
	p.Info, err = p.lstat(p.target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // create finds out if the directory is missing too
	case err != nil:
		return p.obstacle(p.target, "cannot be examined", err)
	}
	mode := p.Info.Mode() // a dangling link counts as a file
	if followed, err := p.Stat(); err == nil {
		mode = followed.Mode()
	}
	dir := filepath.Dir(p.Path)
	switch {
	case mode.IsDir():
		return refuse(p.Path, "is a directory", localfile.ErrName)
	case mode&(fs.ModeCharDevice|fs.ModeNamedPipe) != 0 && p.lone:
		p.Stream = true
	case mode&(fs.ModeDevice|fs.ModeNamedPipe|fs.ModeSocket|fs.ModeIrregular) != 0:
		return refuse(p.Path, "is not a regular file", localfile.ErrName)
	case dir == "/dev/fd" || dir == "/proc/self/fd": // no other file can get such a name
		return refuse(p.Path, "is an open file, not the name of one", localfile.ErrName)
	}
	return nil
}

// Size returns the size of the target, or 0 if it is a link to nowhere.
func (p *Place) Size() int64 {
	info, err := p.Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}

// openTarget opens the target itself. The error is ErrMoved if it is another file than Look has found, or is no longer
// there.
func (p *Place) openTarget(flag int) (*os.File, error) {
	f, err := p.openRegular(p.target, flag)
	switch {
	case errors.Is(err, ErrMoved), errors.Is(err, fs.ErrNotExist):
		return nil, ErrMoved
	case err != nil:
		return nil, Failure(p.Path, "cannot be opened", err)
	}
	return f, nil
}

// Unchanged returns ErrMoved if the target is no longer the one that Look has found: another run has ended meanwhile.
func (p *Place) Unchanged() error {
	now, err := p.lstat(p.target)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return Failure(p.Path, "cannot be examined", err)
	case (err == nil) != (p.Info != nil), err == nil && !os.SameFile(now, p.Info):
		return ErrMoved
	}
	return nil
}

// shown returns a name as messages show it.
func (p *Place) shown(name string) string { return filepath.Join(p.root.Name(), name) }

// obstacle says why a call for a name fails: perhaps its directory is none.
func (p *Place) obstacle(name, what string, err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		if err := p.checkDir(filepath.Dir(name)); err != nil {
			return err
		}
	}
	return Failure(p.shown(name), what, err)
}

func (p *Place) checkDir(dir string) error {
	info, err := p.stat(dir)
	if err == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	return noDirectory(p.shown(dir), err)
}

// noDirectory says what is wrong with dir, or returns nil for nil.
func noDirectory(dir string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refuse(dir, "no such directory (create it first)", err)
	case errors.Is(err, syscall.ENOTDIR):
		return refuse(dir, "not a directory", err)
	}
	return Failure(dir, "cannot be examined", err)
}

// makeDir makes dir, which was missing, and what is missing between it and the root. The error is ErrMoved if another run
// has removed a directory meanwhile.
func (p *Place) makeDir(dir string) error {
	if dir == "." { // the root itself has been removed
		return cmp.Or(p.checkDir(dir), Failure(p.shown(dir), "cannot be written to", syscall.ENOENT))
	}
	parent := filepath.Dir(dir)
	err := p.mkdir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := p.makeDir(parent); err != nil {
			return err
		}
		err = p.mkdir(dir)
	}
	switch {
	case err == nil:
		p.made = append(p.made, dir)
		return p.syncDir(parent)
	case errors.Is(err, fs.ErrExist): // another run has made it, or it is something else
		err = p.checkDir(dir)
		if _, lerr := p.lstat(dir); errors.Is(lerr, fs.ErrNotExist) {
			err = ErrMoved
		}
		return err
	case errors.Is(err, fs.ErrNotExist):
		return ErrMoved
	}
	return Failure(p.shown(dir), "cannot be created", err)
}
