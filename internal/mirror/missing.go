package mirror

import (
	"os"
	"path"
	"strings"
	"time"

	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/internal/local/ledger"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/urlparse"
)

// missing is a file here that a whole listing lacks, by its own name or by that of a directory above it.
type missing struct {
	path    string        // below the output directory
	url     *urlparse.URL // of the file
	in      *urlparse.URL // the directory that was listed; nil if nothing is missing
	name    string        // what its listing lacks
	witness *urlparse.URL // another file of the tree; nil if the server has none
	login   string        // the directory after the login from which it came; "" if unknown
}

// kind returns TypeDir if the listing lacks a directory above the file.
func (m *missing) kind() urlparse.Typecode {
	if len(m.in.Dirs) < len(m.url.Dirs) {
		return urlparse.TypeDir
	}
	return ""
}

// missing returns the file that r is about, if it is one of a tree and the listings of all trees lack it.
func (s *Source) missing(r ledger.Record) (m missing) {
	for i, t := range s.Trees {
		below, covers := strings.CutPrefix(r.Local(),
			strings.TrimPrefix(path.Clean(t.Path)+"/", "./"))
		if !covers {
			continue
		}
		at := s.lookUp(t, strings.Split(below, "/"))
		if at.in == nil { // this tree may have it
			return missing{}
		}
		if at.url.Key() == urlparse.KeyOf(r.URL) {
			m = at
			m.path = r.Local()
			m.witness = s.witness[i]
		}
	}
	return m
}

// lookUp looks up a path in the listings of a tree.
func (s *Source) lookUp(t batch.Task, names []string) (m missing) {
	m.url = top(t)
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
		if m.in != nil {
			continue
		}
		directory := string(in.Key())
		if _, whole := s.seen[key(directory, ".")]; !whole {
			return missing{}
		}
		if _, there := s.seen[key(directory, name)]; !there {
			m.in = in
			m.name = name
		}
	}
	return m
}

// find reports whether the file is here as the ledger says, and notes from which login directory it came.
func (m *missing) find(root *os.Root, l *ledger.Ledger) bool {
	// below a link is another file, which the server may have
	for dir := path.Dir(m.path); dir != "."; dir = path.Dir(dir) {
		if info, err := root.Lstat(dir); err != nil || !info.IsDir() {
			return false
		}
	}
	info, err := root.Lstat(m.path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	r, ok := l.Find(manifest.Item{Path: m.path, URLs: []*urlparse.URL{m.url}}, time.Time{}, info)
	m.login = r.Login
	return ok
}
