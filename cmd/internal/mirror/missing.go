package mirror

import (
	"os"
	"path"
	"strings"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/internal/local/ledger"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/urlparse"
)

// missing is a local file that the filters leave out, or whose name, or the name of a directory above it, is missing
// from a whole listing.
type missing struct {
	path    string        // relative to the output directory; "" if nothing is missing
	url     *urlparse.URL // of the file
	left    bool          // the filters leave the file out, so the server may have it
	in      *urlparse.URL // the directory that was listed; nil if no listing lacks the file
	name    string        // the name that this listing lacks
	dirs    int           // number of directories above it to delete with it
	witness *urlparse.URL // another file of the tree; nil if the server has none
	size    int64         // size of the local file
	login   string        // login directory when it was fetched; "" if unknown
	tree    int           // index of its tree
	names   []string      // its path below the tree, as the server spells it
	kinds   string        // the server has something of another kind in its place; "" if not
}

// kind returns TypeDir if the listing lacks a directory above the file.
func (m *missing) kind() urlparse.Typecode {
	if len(m.in.Dirs) < len(m.url.Dirs) {
		return urlparse.TypeDir
	}
	return ""
}

// missing returns the file of the record r if it belongs to a tree, but no tree has it: the listings lack it or, if
// excluded is set, the filters leave it out. If excluded is not set, a file that the filters leave out is not missing.
func (s *Source) missing(r ledger.Record, excluded bool) (m missing) {
	for i, t := range s.Trees {
		below, covers := strings.CutPrefix(r.Local(),
			strings.TrimPrefix(path.Clean(t.Path)+"/", "./"))
		if !covers {
			continue
		}
		at := s.lookUp(t, strings.Split(below, "/"))
		switch left := s.leaves(t.Tree, below, r.Size); {
		case left && excluded:
			at.left = true
			at.dirs = leftAbove(t.Tree, below)
		case left, at.in == nil: // the filters leave it out, or this tree may have it
			return missing{}
		default:
			at.dirs = len(at.url.Dirs) - len(at.in.Dirs)
		}
		if at.url.Key() == urlparse.KeyOf(r.URL) {
			m = at
			m.path = r.Local()
			m.witness = s.witness[i]
			m.tree = i
			m.names = strings.Split(below, "/")
		}
	}
	return m
}

// leaves reports whether the filters leave out a file of this size at a path of a tree. It ignores ages, because a file
// that is too new or too old for this run may have been fetched by another.
func (s *Source) leaves(t *download.Tree, below string, size int64) bool {
	return !t.Includes(below, false) || s.omits(size)
}

// leftAbove returns how many directories directly above a path of a tree the filters leave out.
func leftAbove(t *download.Tree, below string) (n int) {
	for dir := path.Dir(below); dir != "." && !t.Includes(dir, true); dir = path.Dir(dir) {
		n++
	}
	return n
}

// lookUp looks up a path in the listings of a tree.
func (s *Source) lookUp(t download.Task, names []string) (m missing) {
	m.url = top(t)
	whole := true // all listings so far are whole
	for i, name := range names {
		in := m.url
		kind := urlparse.TypeDir
		if i == len(names)-1 {
			kind = ""
			if t.Tree.Type != nil {
				kind = t.Tree.Type(name)
			}
		}
		m.url = in.Child(localfile.Segment(name), kind)
		if m.in != nil || !whole {
			continue
		}
		directory := in.Key()
		_, whole = s.seen[key(directory, ".")]
		if _, there := s.seen[key(directory, name)]; whole && !there {
			m.in = in
			m.name = name
		}
	}
	return m
}

// find reports whether the local file matches the ledger. It sets the size and the login directory.
func (m *missing) find(root *os.Root, l *ledger.Ledger) bool {
	// a path through a link leads to another file, which the server may have
	for dir := path.Dir(m.path); dir != "."; dir = path.Dir(dir) {
		if info, err := root.Lstat(dir); err != nil || !info.IsDir() {
			return false
		}
	}
	info, err := root.Lstat(m.path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	r, ok := l.Find(m.path, info)
	m.login = r.Login
	m.size = info.Size()
	return ok && urlparse.KeyOf(r.URL) == m.url.Key()
}
