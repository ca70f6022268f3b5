// Package partfile keeps the bytes of a file on the disk until the file is whole. It knows nothing of servers: its
// callers write spans of bytes in any order.
//
// A [Place] is a target and the names of the files beside it. Place.Claim locks NAME.ftpfetch.part and reads its
// journal. The [Part] counts the bytes that arrive, writes the journal, and keeps what a later run can resume from. A
// [Group] gives files their names. docs/download.md has the rules.
package partfile

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/local/localfile"
)

// Callers distinguish these causes with errors.Is.
var (
	ErrBusy    = errors.New("another run is writing the file")
	ErrMoved   = disk.ErrMoved // the caller must look at the target again
	ErrDiffers = errors.New("other bytes than those that are there")
	ErrBeyond  = errors.New("more bytes than the span has")

	errReplaced = errors.New("another program replaced it: run the command again")
)

func failure(path, what string, err error) error { return localfile.Failure(path, what, err) }

func refuse(path, reason string, cause error) error {
	return &localfile.Error{Path: path, Reason: reason, Err: cause}
}

func changed(path, how string) error {
	return refuse(path, how+": another program changed it: run the command again", nil)
}

func busy(path string) error { return refuse(path, "another run is writing it", ErrBusy) }

// Place is a target and the names of the files beside it. They are all in one directory, which stays open.
type Place struct {
	Path string      // the target, as messages show it
	Info fs.FileInfo // of the target, without following links; nil if there is no target

	group *Group
	root  *os.Root  // the file is below root; nil: anywhere, and the target may be a link
	path  string    // the directory of the target, relative to root
	dir   *disk.Dir // nil if it is not open
	names
	run   string   // what makes the names unique to this run; "" if nothing does
	alone bool     // no other run uses the part's name, so the part needs no lock
	vain  int      // how often in a row makeDir has found the directory
	made  []string // the directories that this run made, in order
}

// Find returns the place of the target at path, after a call of Look. The path is relative to root; if root is nil, the
// target may be anywhere. The caller must call Close.
func (g *Group) Find(root *os.Root, path string) (*Place, error) {
	switch {
	case path == "":
		return nil, refuse("", "no file name given", localfile.ErrName)
	case root != nil && !filepath.IsLocal(path):
		why := "leads out of " + root.Name() + ": write a path relative to it, without \"..\""
		return nil, refuse(path, why, localfile.ErrName)
	case os.IsPathSeparator(path[len(path)-1]):
		return nil, refuse(path, "names a directory, not a file", localfile.ErrName)
	}
	dir, name := filepath.Split(path)
	dir = cmp.Or(dir, ".")
	ownIn := name
	if root != nil {
		ownIn = filepath.Clean(path)
		dir = filepath.Dir(path)
		name = filepath.Base(path)
	}
	p := &Place{group: g, root: root, path: dir, names: namesOf(name, g.Attempt, localfile.Beside), run: g.Attempt}
	p.Path = filepath.Join(disk.Below(root, dir), name)
	if name == "." || name == ".." {
		return nil, refuse(p.Path, "is a directory", localfile.ErrName)
	}
	if why := localfile.Own(ownIn); why != "" {
		return nil, refuse(p.Path, why, localfile.ErrName)
	}
	if err := p.Look(); err != nil {
		p.Close(false)
		return nil, err
	}
	return p, nil
}

// FlushName flushes the name of a target that stays to the disk.
func (p *Place) FlushName() error {
	err := p.enter() // a download that refused the target closed the directory
	if err == nil {
		p.group.Dirs.Rely(p.dir, p.target)
		err = p.dir.FlushRecent()
	}
	return err
}

// enter opens the directory unless it is open already.
func (p *Place) enter() (err error) {
	if p.dir == nil {
		p.dir, err = p.group.Dirs.Enter(p.root, p.path)
	}
	return err
}

// closeDir closes the directory. gone means that the directory was renamed or removed.
func (p *Place) closeDir(gone bool) {
	if p.dir != nil {
		p.group.Dirs.Leave(p.dir, gone)
		p.dir = nil
	}
}

// Close releases p. If the run failed, Close removes the directories that p made and that are empty.
func (p *Place) Close(failed bool) {
	p.closeDir(false)
	if failed {
		disk.Unmake(p.root, p.made)
	}
}

// Look examines the target. It refuses what no download can replace.
func (p *Place) Look() error {
	p.Info = nil
	err := p.enter()
	switch {
	case err == nil:
	case p.root != nil && errors.Is(err, fs.ErrNotExist):
		return nil // Claim makes the directory
	default:
		return err
	}
	info, err := p.dir.Lstat(p.target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return failure(p.Path, "cannot be examined", err)
	}
	p.Info = info
	if disk.Links(info) > 1 && !p.group.Dry {
		err = p.separate()
	}
	return cmp.Or(err, p.replaceable())
}

// replaceable refuses a target that no download can replace.
func (p *Place) replaceable() error {
	mode := p.Info.Mode() // of a dangling link, which a download can replace
	if mode&fs.ModeSymlink != 0 {
		if followed, err := p.Stat(); err == nil {
			mode = followed.Mode()
		}
	}
	dir := filepath.Dir(p.Path)
	switch {
	case mode.IsDir():
		return refuse(p.Path, "is a directory", localfile.ErrName)
	case mode&(fs.ModeDevice|fs.ModeNamedPipe|fs.ModeSocket|fs.ModeIrregular) != 0:
		return refuse(p.Path, "is not a regular file", localfile.ErrName)
	case dir == "/dev/fd" || dir == "/proc/self/fd": // no file can be renamed to such a name
		return refuse(p.Path, "is an open file, not the name of one", localfile.ErrName)
	}
	return nil
}

// separate removes the part's name if part and target are the same file. A run that gives a file its name by a hard
// link leaves both names if it is killed.
func (p *Place) separate() error {
	var f *os.File
	err := p.fits(func() (err error) {
		f, err = p.dir.Open(p.partial, os.O_RDONLY)
		return err
	})
	if err != nil {
		return nil
	}
	defer f.Close()
	part, err := disk.Stat(f)
	if taken, _ := disk.Lock(f); taken || err != nil || !os.SameFile(part, p.Info) {
		return nil
	}
	return failure(p.Path, "keeps its other name "+p.partial, p.dir.RemoveIfThere(p.partial))
}

// Stat examines the target and follows links, but not out of root.
func (p *Place) Stat() (fs.FileInfo, error) {
	return disk.Call("stat", p.Path, func() (fs.FileInfo, error) {
		if p.root == nil {
			return os.Stat(p.Path)
		}
		return p.root.Stat(filepath.Join(p.path, p.target))
	})
}

// Open opens the target for reading and follows links.
func (p *Place) Open() (*os.File, error) {
	f, err := disk.Call("open", p.Path, func() (*os.File, error) {
		if p.root == nil {
			return os.Open(p.Path)
		}
		return p.root.Open(filepath.Join(p.path, p.target))
	})
	return f, failure(p.Path, "cannot be opened", err)
}

// Peek returns the state in the part's journal. It locks nothing and changes nothing.
func (p *Place) Peek() (State, error) {
	if err := p.enter(); err != nil {
		return State{}, err
	}
	var s State
	err := p.fits(func() (err error) {
		s, err = p.readJournal()
		return err
	})
	if err != nil {
		return State{}, err
	}
	part, err := p.dir.Lstat(p.partial)
	if err == nil && part.Size() < s.Done.End() {
		err = errJournal
	}
	return s, err
}

func (p *Place) shown(name string) string { return filepath.Join(filepath.Dir(p.Path), name) }

// These are the suffixes of the files beside a target. Other programs do not use them, and Find refuses a target with
// such a name.
const (
	partSuffix    = ".ftpfetch.part"
	journalSuffix = ".ftpfetch.json"
	freshSuffix   = ".ftpfetch.next" // no longer than the part's: where the part fits, all fit
	badSuffix     = ".ftpfetch.bad"
)

// names are the names of a target and of the files beside it, in its directory.
type names struct {
	target  string
	partial string // the bytes so far
	journal string // which bytes the part has
	fresh   string // the next journal, until it replaces the journal
	bad     string // a file whose digest was wrong
}

// namesOf returns the names for a target. If run is not "", it makes the names unique to that run. stem is
// localfile.Beside, or ShortBeside if the disk takes no names as long as that.
func namesOf(name, run string, stem func(name, who string) string) names {
	beside := stem(name, run)
	return names{
		target: name, partial: beside + partSuffix, journal: beside + journalSuffix, fresh: beside + freshSuffix,
		bad: stem(name, "") + badSuffix,
	}
}

// fits calls f, and once more with shorter names beside the target if the disk finds the usual ones too long.
func (p *Place) fits(f func() error) error {
	err := f()
	if errors.Is(err, syscall.ENAMETOOLONG) {
		if short := namesOf(p.target, p.run, localfile.ShortBeside); short != p.names {
			p.names = short
			err = f()
		}
	}
	return err
}
