// Package mirror keeps a directory as the tree of a server is: it knows files by age, and deletes those that are gone.
package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/early"
	"example.com/ftpfetch/internal/ledger"
	"example.com/ftpfetch/internal/localfile"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// Server is where trees come from: an [*ftpexec.Client], or what stands before one.
type Server interface {
	download.Source
	StatAll(context.Context, []*urlparse.URL) iter.Seq2[ftpexec.Entry, error]
	CloseIdleConnections()
}

// Source is a Server that leaves files out of its listings by their age, and remembers what is in them.
type Source struct {
	Server
	MinAge time.Duration // of the files that are wanted; 0 means any
	Newer  time.Time     // files that have not changed since are not wanted; zero means any

	left    atomic.Int64 // files that are not wanted
	mu      sync.Mutex
	seen    map[uint64]struct{} // the keys of all entries, and with the name "." of the directories that were listed whole
	witness *urlparse.URL       // a file that is there
}

// Listing is a Source of which package batch only lists the trees, and fetches nothing.
type Listing struct{ *Source }

// Tell does nothing.
func (Listing) Tell(*urlparse.URL, ftpexec.Entry) {}

// LeftOut returns how many files the listings so far have left out.
func (s *Source) LeftOut() int64 { return s.left.Load() }

// Entries lists a directory. It asks for the times that the listing tells too roughly to decide.
func (s *Source) Entries(ctx context.Context, dir *urlparse.URL) iter.Seq2[ftpexec.Entry, error] {
	aged := s.MinAge > 0 || !s.Newer.IsZero()
	if aged {
		ctx = early.With[ftpexec.Entry](ctx, nil)
	}
	return func(yield func(ftpexec.Entry, error) bool) {
		var rough []ftpexec.Entry
		whole := true
		for e, err := range s.Server.Entries(ctx, dir) {
			if whole = whole && err == nil; err == nil {
				s.see(dir, e)
			}
			switch file := aged && err == nil && e.Mode.IsRegular(); {
			case file && s.unsure(e):
				rough = append(rough, e)
			case file && !s.wants(e):
			case !yield(e, err):
				return
			}
		}
		if whole {
			s.see(dir, ftpexec.Entry{Name: ".", Mode: fs.ModeDir})
		}
		s.sharpen(ctx, rough, yield)
	}
}

// sharpen yields the entries that are wanted by the times that the server tells when asked.
func (s *Source) sharpen(ctx context.Context, rough []ftpexec.Entry, yield func(ftpexec.Entry, error) bool) {
	urls := make([]*urlparse.URL, len(rough))
	for i, e := range rough {
		urls[i] = e.URL
	}
	for told, err := range s.StatAll(ctx, urls) {
		if err != nil && !errors.Is(err, ftpexec.ErrNotFound) && !errors.Is(err, ftpexec.ErrRefused) {
			yield(ftpexec.Entry{}, err)
			return
		}
		e := rough[0]
		rough, e.ModTime, e.Precision, e.Local = rough[1:], told.ModTime, told.Precision, false
		if s.wants(e) && !yield(e, nil) {
			return
		}
	}
}

// unsure reports whether the time of an entry is told too roughly to decide: the clocks of two places may be a day apart.
func (s *Source) unsure(e ftpexec.Entry) bool {
	near := func(t time.Time) bool { return e.ModTime.Sub(t).Abs() < 48*time.Hour }
	return e.ModTime.IsZero() || (e.Local || e.Precision > time.Second) && (near(s.Newer) || s.MinAge > 0 && near(time.Now().Add(-s.MinAge)))
}

// wants reports whether a file is old and new enough. One of which no time is known may still be in the making.
func (s *Source) wants(e ftpexec.Entry) bool {
	t := e.ModTime
	young := s.MinAge > 0 && (t.IsZero() || time.Since(t) < s.MinAge)
	old := !t.IsZero() && t.Before(s.Newer.Truncate(time.Second))
	if young || old {
		s.left.Add(1)
	}
	return !young && !old
}

func (s *Source) see(dir *urlparse.URL, e ftpexec.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = make(map[uint64]struct{})
	}
	if s.seen[key(dir, path.Base(e.Name))] = struct{}{}; e.Mode.IsRegular() {
		s.witness = e.URL
	}
}

var seed = maphash.MakeSeed()

// key returns the same key for names of the same local file.
func key(dir *urlparse.URL, name string) uint64 {
	return maphash.String(seed, localfile.Key(string(dir.Key())+strings.TrimPrefix(name, "./")))
}

// Deletion says how to delete.
type Deletion struct {
	Root   *os.Root          // the output directory
	Most   int               // how many files may be deleted
	Backup bool              // they are moved to a new directory in .ftpfetch-trash instead
	Dry    bool              // nothing is deleted, only told
	Tell   func(name string) // is called with the path below Root of each file
}

// Delete deletes files that the server no longer has. All trees must have been listed whole. A file is deleted if a ledger
// says that it was fetched from below a tree, it is still as it was then, a whole listing lacks it or a directory above it,
// and the server, asked once more, has none of that name but still knows another file: else it tells nothing.
func (s *Source) Delete(ctx context.Context, trees []batch.Task, d Deletion) error {
	l, err := ledger.Open(d.Root, ledger.Name)
	if err != nil {
		return err
	}
	defer l.Close()
	all := make(map[string]missing) // by path
	for _, t := range trees {
		err = cmp.Or(err, l.Each(func(r ledger.Record) {
			if m := s.missing(t, r); m.gone != nil && m.find(d.Root, l) {
				all[m.path] = m
			}
		}))
	}
	if len(all) > d.Most && !d.Dry {
		return &localfile.Error{Path: d.Root.Name(), Err: localfile.ErrLocal, Reason: fmt.Sprintf(
			"%s no longer on the server, more than --max-delete %d: nothing is deleted (--dry-run shows them)", printable.Count(int64(len(all)), "file is", "files are"), d.Most)}
	}
	trash := ""
	if d.Backup {
		trash = ".ftpfetch-trash/" + time.Now().UTC().Format("2006-01-02T150405Z")
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		m, gone := all[name], false
		if err == nil {
			gone, err = s.gone(ctx, m.gone)
		}
		if !gone || !m.find(d.Root, l) {
			continue
		}
		if !d.Dry {
			err = localfile.Failure(filepath.Join(d.Root.Name(), name), "cannot be deleted", m.remove(d.Root, trash))
		}
		if err == nil {
			d.Tell(name)
		}
	}
	return err
}

// missing is a file that a whole listing lacks.
type missing struct {
	path string        // below the output directory
	url  *urlparse.URL // of the file
	gone *urlparse.URL // what the listing lacks: the file, or a directory above it; nil if there is none
}

// missing returns the file that r is about, if it is one of the tree t that the listings lack.
func (s *Source) missing(t batch.Task, r ledger.Record) (m missing) {
	dir := t.URLs[0].Child("", "")
	below := strings.Split(strings.TrimPrefix(r.Local(), path.Clean(t.Path)+"/"), "/")
	_, kind, _ := strings.Cut(r.URL, ";type=")
	u := dir.Child("", urlparse.Typecode(kind))
	for _, name := range below {
		u.Dirs = append(u.Dirs, localfile.Segment(name))
	}
	last := len(u.Dirs) - 1
	u.Dirs, u.Name = u.Dirs[:last], u.Dirs[last]
	if u.Key() != urlparse.KeyOf(r.URL) {
		return m
	}
	m = missing{path: path.Join(t.Path, path.Join(below...)), url: u}
	for n := len(dir.Dirs); n <= len(u.Dirs) && m.path == r.Local(); n++ {
		v, name, kind := *u, u.Name, u.Type
		if n < len(u.Dirs) {
			name, kind = u.Dirs[n], urlparse.TypeDir
		}
		v.Dirs, v.Name, v.Type = u.Dirs[:n:n], "", ""
		if _, listed := s.seen[key(&v, ".")]; !listed {
			break
		}
		if _, there := s.seen[key(&v, name)]; !there {
			m.gone = v.Child(name, kind)
			break
		}
	}
	return m
}

// find reports whether the file is there as the ledger says.
func (m *missing) find(root *os.Root, l *ledger.Ledger) bool {
	for dir := path.Dir(m.path); dir != "."; dir = path.Dir(dir) { // below a link is another file, which the server may have
		if info, err := root.Lstat(dir); err != nil || !info.IsDir() {
			return false
		}
	}
	info, err := root.Lstat(m.path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	_, ok := l.Find(manifest.Item{Path: m.path, URLs: []*urlparse.URL{m.url}}, time.Time{}, info)
	return ok
}

// gone asks the server whether u is gone, and then whether it tells of the file that is there.
func (s *Source) gone(ctx context.Context, u *urlparse.URL) (bool, error) {
	if _, err := s.Stat(ctx, u); !errors.Is(err, ftpexec.ErrNotFound) {
		if err == nil || errors.Is(err, ftpexec.ErrRefused) {
			return false, nil
		}
		return false, err
	}
	silent := errors.New("nothing is deleted: the server tells about no file of the tree that it is there")
	if s.witness == nil {
		return false, silent
	}
	if e, err := s.Stat(ctx, s.witness); err != nil || e.Size < 0 {
		return false, cmp.Or(err, silent)
	}
	return true, nil
}

// remove deletes the file or moves it to trash, and deletes the directories that are gone from the server and empty.
func (m *missing) remove(root *os.Root, trash string) error {
	if trash != "" {
		err := root.MkdirAll(path.Join(trash, path.Dir(m.path)), 0o777)
		if err = cmp.Or(err, root.Rename(m.path, path.Join(trash, m.path))); err != nil {
			return err
		}
	} else if err := root.Remove(m.path); err != nil {
		return err
	}
	dir := m.path
	for n := len(m.url.Dirs); n >= len(m.gone.Dirs) && m.gone.IsDir(); n-- {
		dir = path.Dir(dir)
		if info, err := root.Lstat(dir); err != nil || info.Mode().Type() != fs.ModeDir || root.Remove(dir) != nil {
			break
		}
	}
	return nil
}
