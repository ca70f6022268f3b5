package mirror

import (
	"context"
	"io/fs"
	"os"
	"path"
	"slices"

	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/urlparse"
)

// here is the output directory, as far as the spelling of names matters. A directory that ignores the case of letters
// finds the file Data by the name data too, which may be the name that the server now has.
type here interface {
	Lstat(path string) (fs.FileInfo, error)
	// Names returns the names in a directory, as the directory spells them.
	Names(dir string) (map[string]bool, error)
}

// output is the output directory on the disk.
type output struct{ *os.Root }

var _ here = output{}

// outputOf returns the output directory; tests change it.
var outputOf = onDisk

func onDisk(root *os.Root) here { return output{root} }

// Names implements here.
func (o output) Names(dir string) (map[string]bool, error) { return disk.Names(o.Root, dir) }

// local returns the local directory of the listing that lacks m.
func (m *missing) local() string {
	dir := m.path
	for range 1 + len(m.url.Dirs) - len(m.in.Dirs) {
		dir = path.Dir(dir)
	}
	return dir
}

// folds reports whether dir finds what name means by another spelling of it too. Then it has only one of the two names,
// if not a third.
func folds(files here, dir, name string) bool {
	names, err := files.Names(dir)
	if err != nil {
		return false
	}
	for _, how := range localfile.Spellings {
		other := localfile.Respell(name, how)
		if other == "" || names[name] && names[other] {
			continue
		}
		if _, err := files.Lstat(path.Join(dir, other)); err == nil {
			return true
		}
	}
	return false
}

// foldsAnywhere reports whether the output directory finds a file or a directory above it by another spelling too.
func foldsAnywhere(files here, file string) bool {
	for file != "." {
		dir, name := path.Dir(file), path.Base(file)
		if folds(files, dir, name) {
			return true
		}
		file = dir
	}
	return false
}

// spellings finds the names of a listing that mean local files of other names.
type spellings struct {
	here
	dir   string
	names map[string]bool // in dir, as it spells them
	own   map[string]fs.FileInfo
	named bool              // names has all of own, so that a listed name that it has too is another file
	other map[string]string // the server's name for each of own that has another there
}

// spellingsIn returns spellings for names that a listing lacks, and that mean files in dir.
func spellingsIn(files here, dir string, lost []missing) (*spellings, error) {
	names, err := files.Names(dir)
	s := &spellings{
		here: files, dir: dir, names: names, named: true,
		own: make(map[string]fs.FileInfo), other: make(map[string]string),
	}
	for _, m := range lost {
		if info, err := files.Lstat(path.Join(dir, m.name)); err == nil {
			s.own[m.name] = info
			s.named = s.named && names[m.name]
		}
	}
	return s, err
}

// add compares a name of the listing with the names that it lacks. Two names of one file are two files of a mirror only
// if the directory has both, as for hard links. Some file systems give a file another number for each spelling of its
// name, and others list names in lower case.
func (s *spellings) add(name string) {
	if s.named && s.names[name] {
		return
	}
	info, err := s.Lstat(path.Join(s.dir, name))
	if err != nil {
		return
	}
	for own, there := range s.own {
		both := s.names[own] && s.names[name]
		if !both && (os.SameFile(info, there) || localfile.Fold(own) == localfile.Fold(name)) {
			s.other[own] = name
		}
	}
}

// respell replaces names that the listings lack by the names that the server has for the same local files, and returns
// the files that are missing even so. Only directories that take several spellings for one name need it.
func (q *inquiry) respell(ctx context.Context, lost []missing) (missed []missing, err error) {
	for len(lost) > 0 {
		places := byPlace(lost)
		lost = nil
		for _, place := range places {
			if !anyFolds(q.here, place) {
				missed = append(missed, place...)
				continue
			}
			names := namesOf(place)
			_, _, other, err := q.again(ctx, place, names)
			if err != nil {
				return nil, err
			}
			for _, m := range place {
				switch server, known := other[m.name]; {
				case !known:
					missed = append(missed, m)
				case m.kind() == urlparse.TypeDir && q.renamed(&m, server):
					lost = append(lost, m)
				}
			}
		}
	}
	return missed, nil
}

// anyFolds reports whether the local directory finds one of the files by another spelling too.
func anyFolds(files here, place []missing) bool {
	asked := make(map[string]bool)
	for _, m := range place {
		if !asked[m.name] && folds(files, m.local(), m.name) {
			return true
		}
		asked[m.name] = true
	}
	return false
}

// renamed looks m up under the server's name for the directory that the listing lacks. It reports whether another
// listing lacks m there.
func (q *inquiry) renamed(m *missing, server string) bool {
	task := q.Trees[m.tree]
	m.names = slices.Clone(m.names)
	m.names[len(m.in.Dirs)-len(top(task).Dirs)] = server
	at := q.lookUp(task, m.names)
	m.in = at.in
	m.name = at.name
	if m.in == nil {
		return false
	}
	m.dirs = len(m.url.Dirs) - len(m.in.Dirs)
	return true
}
