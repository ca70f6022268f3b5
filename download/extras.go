package download

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/urlparse"
)

// extras are the files here that a run with Check finds in no listing.
type extras struct {
	mu    sync.Mutex
	found []extra
	// met has the hashes of the paths of the run that the server has. It is nil if the run is one tree.
	met      map[uint64]bool
	unlisted []string // the paths of the directories that were not listed whole
}

// extra is a file that a listing lacks.
type extra struct {
	in   *job   // the directory
	name string // path below it
	why  string
	size int64
}

// meet records a path that the server has.
func (b *engine) meet(file string) {
	if b.Check && b.paths != nil {
		b.extras.mu.Lock()
		defer b.extras.mu.Unlock()
		if b.extras.met == nil {
			b.extras.met = make(map[uint64]bool)
		}
		b.extras.met[keyOf(file)] = true
	}
}

// unknown records a directory about whose files nothing is known.
func (b *engine) unknown(dir string) {
	b.extras.mu.Lock()
	defer b.extras.mu.Unlock()
	b.extras.unlisted = append(b.extras.unlisted, dir)
}

// findExtras looks for local files that the listing of j lacks.
func (b *engine) findExtras(j *job, found contents) {
	if !b.Check {
		return
	}
	if len(found.odd) > 0 { // a line that cannot be read may be any file's
		b.unknown(j.Path)
		return
	}
	for _, e := range found.entries {
		b.meet(path.Join(j.Path, e.Name))
	}
	s := &localSearch{engine: b, in: j, listed: found}
	if err := s.walk("", s.look); err != nil {
		b.unknown(j.Path)
		b.count(func(c *counts) { c.Unlisted++ })
		b.ended(j.ending(err))
	}
}

// localSearch is the search for files of a local directory that the listing of the server's directory lacks.
type localSearch struct {
	*engine
	in     *job
	listed contents
	modes  map[uint64]fs.FileMode // of the listed entries, by their names
	folds  map[string]string      // the listed names, by their Fold; nil: not made yet
}

// walk calls visit for each entry of a local directory, by its path below s.in. A directory that does not exist has
// none.
func (s *localSearch) walk(below string, visit func(below string, e fs.DirEntry) error) error {
	dir := filepath.FromSlash(cmp.Or(path.Join(s.in.Path, below), "."))
	if s.root == nil {
		return nil
	}
	info, err := s.root.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || err == nil && !info.IsDir() {
		return nil
	}
	failure := func(err error) error { return localfile.Failure(disk.Below(s.root, dir), "cannot be read", err) }
	f, err := s.root.Open(dir)
	if err != nil {
		return failure(err)
	}
	defer f.Close()
	for {
		some, err := f.ReadDir(1000)
		for _, e := range some {
			if localfile.Own(e.Name()) != "" {
				continue
			}
			if err := visit(path.Join(below, e.Name()), e); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return failure(err)
		}
	}
}

// look looks at an entry of the local directory of s.in.
func (s *localSearch) look(name string, e fs.DirEntry) error {
	if s.modes == nil {
		s.modes = make(map[uint64]fs.FileMode, len(s.listed.entries))
		for _, e := range s.listed.entries {
			s.modes[keyOf(e.Name)] = e.Mode
		}
	}
	mode, there := s.modes[keyOf(name)]
	switch {
	case there && mode == 0 && e.IsDir(): // what is in it has no file of the server's in its place
		return s.lacking(name, e)
	case there && mode == fs.ModeDir && !e.IsDir() && !s.leadsTo(name):
		return s.add(name, e, "a directory on the server")
	case there, s.respelled(name):
		return nil
	}
	return s.lacking(name, e)
}

// leadsTo reports whether the entry is a link to a directory.
func (s *localSearch) leadsTo(name string) bool {
	info, err := s.root.Stat(filepath.FromSlash(path.Join(s.in.Path, name)))
	return err == nil && info.IsDir()
}

// respelled reports whether an entry of the directory is a file of the listing by another spelling of its name.
func (s *localSearch) respelled(name string) bool {
	if s.folds == nil {
		s.folds = make(map[string]string, len(s.listed.entries))
		for _, e := range s.listed.entries {
			s.folds[localfile.Fold(e.Name)] = e.Name
		}
	}
	other, ok := s.folds[localfile.Fold(name)]
	return ok && os.SameFile(s.lstat(name), s.lstat(other))
}

// lstat returns what is there, or nil.
func (s *localSearch) lstat(name string) fs.FileInfo {
	info, err := s.root.Lstat(filepath.FromSlash(path.Join(s.in.Path, name)))
	if err != nil {
		return nil
	}
	return info
}

// lacking adds a file that the server lacks, or the files in a directory.
func (s *localSearch) lacking(below string, e fs.DirEntry) error {
	if !e.IsDir() {
		return s.add(below, e, "not on the server")
	}
	if !s.in.Tree.Includes(path.Join(s.in.dir.below, below), true) {
		return nil
	}
	return s.walk(below, s.lacking)
}

// add adds a file that the server lacks, unless the filters leave it out.
func (s *localSearch) add(below string, e fs.DirEntry, why string) error {
	if !s.in.Tree.Includes(path.Join(s.in.dir.below, below), false) {
		return nil
	}
	info, err := e.Info()
	switch {
	case errors.Is(err, fs.ErrNotExist): // it is gone by now
		return nil
	case err != nil:
		where := disk.Below(s.root, filepath.FromSlash(path.Join(s.in.Path, below)))
		return localfile.Failure(where, "cannot be examined", err)
	case s.Hides != nil && s.Hides(urlBelow(s.in.url(), path.Dir(below)), path.Base(below), info):
		return nil
	}
	s.extras.mu.Lock()
	defer s.extras.mu.Unlock()
	s.extras.found = append(s.extras.found, extra{s.in, below, why, info.Size()})
	return nil
}

// urlBelow returns the URL of a directory below dir.
func urlBelow(dir *urlparse.URL, below string) *urlparse.URL {
	u := dir
	for name := range strings.SplitSeq(below, "/") {
		if name != "." {
			u = u.Child(localfile.Segment(name), urlparse.TypeDir)
		}
	}
	return u
}

// tellExtras reports the files that no listing of the run has.
func (b *engine) tellExtras(ctx context.Context) {
	x := &b.extras
	for _, e := range x.found {
		file := path.Join(e.in.Path, e.name)
		if ctx.Err() != nil {
			return
		}
		if b.paths != nil && (x.met[keyOf(file)] || x.mayBeListed(file)) {
			continue // another task has it, or may have it
		}
		b.meet(file) // each file is reported once
		u := urlBelow(e.in.url(), path.Dir(e.name)).Child(localfile.Segment(path.Base(e.name)), "")
		b.tell(Event{
			Kind: Ended, Plan: planExtra,
			Task:   &Task{URLs: []*urlparse.URL{u}, Path: file, Tree: e.in.Tree},
			Result: Result{Size: e.size, Left: e.why},
		})
	}
}

// mayBeListed reports whether a file is below a directory that could not be listed.
func (x *extras) mayBeListed(file string) bool {
	for _, dir := range x.unlisted {
		if dir == "" || dir == "." || strings.HasPrefix(file, dir+"/") {
			return true
		}
	}
	return false
}
