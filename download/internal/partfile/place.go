// Package partfile keeps the bytes of a file on the disk until it is whole. It knows of no server: who writes brings the
// bytes of spans in any order.
//
// A [Place] is a target with the names beside it. Place.Claim locks NAME.ftpfetch.part and finds out what is in it. The
// [Part] counts what arrives, writes the journal, and keeps what a later run can resume from. A [Group] gives files their
// names. docs/download.md has the rules.
package partfile

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"example.com/ftpfetch/internal/localfile"
)

// Place is where a file is to be. All its names are in one directory, which stays open.
type Place struct {
	Path   string      // the target, as messages show it
	Info   fs.FileInfo // of the target, not following links; nil if there is none
	Stream bool        // the target is a character device or FIFO

	group *Group
	root  *os.Root // below which the file is; nil: anywhere, and the target may be a link or device
	path  string   // of the directory, below root
	dir   *dir     // nil while there is none
	names
	alone bool     // the names are of this run alone: there are no locks
	made  []string // the directories that this run made, in order
}

// Find returns the place of the target at path: below root, or anywhere if that is nil. Close must be called.
func (g *Group) Find(root *os.Root, path string) (*Place, error) {
	p := &Place{group: g, root: root}
	switch {
	case path == "":
		return nil, refuse("", "no file name given", localfile.ErrName)
	case root != nil && !filepath.IsLocal(path):
		return nil, refuse(path, "leads out of "+root.Name()+": write a path relative to it, without \"..\"", localfile.ErrName)
	case os.IsPathSeparator(path[len(path)-1]):
		return nil, refuse(path, "names a directory, not a file", localfile.ErrName)
	}
	dir, name := filepath.Split(path)
	if root != nil {
		path = filepath.Clean(path)
		p.path, name = filepath.Dir(path), filepath.Base(path)
	} else if p.path = cmp.Or(dir, "."); name == "." || name == ".." {
		return nil, refuse(path, "is a directory", localfile.ErrName)
	}
	p.Path = filepath.Join(p.below(p.path), name)
	p.names = namesOf(name, "")
	if why := localfile.Own(name); why != "" {
		return nil, refuse(p.Path, why, localfile.ErrName)
	}
	if root == nil {
		if err := p.enter(); err != nil {
			return nil, noDirectory(filepath.Clean(dir), err)
		}
	}
	return p, nil
}

// enter opens the directory, unless it is open.
func (p *Place) enter() (err error) {
	if p.dir == nil {
		p.dir, err = p.group.enter(p.root, p.path)
	}
	return err
}

// leave closes the directory. gone means that it has lost its name.
func (p *Place) leave(gone bool) {
	if p.dir != nil {
		p.group.leave(p.dir, gone)
		p.dir = nil
	}
}

// Close ends the use of p. If the run failed, it removes the directories that it made, as far as they are empty.
func (p *Place) Close(failed bool) {
	p.leave(false)
	for _, dir := range slices.Backward(p.made) {
		if info, err := p.statDir(dir, p.root.Lstat); !failed || err != nil || !info.IsDir() || p.rmdir(dir) != nil {
			break
		}
	}
}

// Look examines the target. It refuses what no download can replace.
func (p *Place) Look() (err error) {
	if err = p.enter(); err == nil {
		p.Info, err = p.lstat(p.target)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p.Info = nil
		return nil // Claim finds out if the directory is missing too
	case err != nil:
		return p.obstacle(p.target, "cannot be examined", err)
	}
	if links(p.Info) > 1 { // a run was killed that gave the part its name by a hard link
		if part, err := p.lstat(p.partial); err == nil && os.SameFile(part, p.Info) {
			if err := p.removeIfThere(p.partial); err != nil {
				return Failure(p.shown(p.partial), "cannot be removed", err)
			}
		}
	}
	mode := p.Info.Mode() // a dangling link counts as a file
	if mode&fs.ModeSymlink != 0 {
		if followed, err := p.Stat(); err == nil {
			mode = followed.Mode()
		}
	}
	dir := filepath.Dir(p.Path)
	switch {
	case mode.IsDir():
		return refuse(p.Path, "is a directory", localfile.ErrName)
	case mode&(fs.ModeCharDevice|fs.ModeNamedPipe) != 0 && p.root == nil:
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

// shown returns a name as messages show it.
func (p *Place) shown(name string) string { return filepath.Join(filepath.Dir(p.Path), name) }

// below returns the path of a directory as messages show it.
func (p *Place) below(dir string) string {
	if p.root == nil {
		return dir
	}
	return filepath.Join(p.root.Name(), dir)
}

// obstacle says why a call for a name fails: perhaps its directory is none.
func (p *Place) obstacle(name, what string, err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		if err := p.checkDir(p.path); err != nil {
			return err
		}
	}
	return Failure(p.shown(name), what, err)
}

func (p *Place) checkDir(dir string) error {
	stat := os.Stat
	if p.root != nil {
		stat = p.root.Stat
	}
	info, err := p.statDir(dir, stat)
	if err == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	return noDirectory(p.below(dir), err)
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

// makeDir makes the directory, and what is missing between it and the root. The error is ErrMoved if another run has
// removed a directory meanwhile.
func (p *Place) makeDir() error {
	parent := "."
	for _, name := range strings.Split(p.path, string(filepath.Separator)) {
		dir := filepath.Join(parent, name)
		err := p.mkdir(dir)
		switch {
		case err == nil:
			p.made = append(p.made, dir)
			err = p.syncDir(parent)
		case errors.Is(err, fs.ErrExist): // another run has made it, or it is something else
			err = p.checkDir(dir)
			if _, lerr := p.statDir(dir, p.root.Lstat); errors.Is(lerr, fs.ErrNotExist) {
				err = ErrMoved
			}
		case errors.Is(err, fs.ErrNotExist) && parent != ".": // else the root itself has been removed
			err = ErrMoved
		default:
			err = Failure(p.below(dir), "cannot be created", err)
		}
		if err != nil {
			return err
		}
		parent = dir
	}
	return nil
}
