package mirror

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/early"
	"example.com/ftpfetch/internal/ledger"
	"example.com/ftpfetch/internal/localfile"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// Deletion says how to delete.
type Deletion struct {
	Root   *os.Root          // the output directory
	Most   int               // how many files may be deleted
	Empty  bool              // also those of a tree of which the server has no file any more
	Backup bool              // they are moved to a new directory in .ftpfetch-trash instead
	Dry    bool              // nothing is deleted, only told
	Tell   func(name string) // is called with the path below Root of each file
}

// Delete deletes files of the Trees that the server no longer has. All trees must have been listed whole. It is the one
// place that decides. A file is deleted if
//   - a ledger says that it came from below a tree, reached from the same login directory, and it is still as it was then;
//   - no tree of the run has a file of its path;
//   - a whole listing lacks it or a directory above it, and another, asked for after all trees were listed, lacks it too;
//   - the server then says of it, word for word, what it says of a name that nobody has, and still tells of another file of
//     the same tree.
//
// What contradicts that is an error, and nothing is deleted, of any tree.
func (s *Source) Delete(ctx context.Context, d Deletion) error {
	l, err := ledger.Open(d.Root, ledger.Name)
	if err != nil {
		return err
	}
	defer l.Close()
	all, strange, err := s.candidates(l, d.Root)
	switch {
	case err != nil:
		return err
	case len(all) > d.Most && !d.Dry:
		return &localfile.Error{Path: d.Root.Name(), Err: localfile.ErrLocal, Reason: fmt.Sprintf(
			"%s no longer on the server, more than --max-delete %d: nothing is deleted (--dry-run shows them)", printable.Count(int64(len(all)), "file is", "files are"), d.Most)}
	}
	gone, err := s.confirm(ctx, all, d.Empty)
	trash := ""
	if err == nil && d.Backup && !d.Dry && len(gone) > 0 {
		trash, err = newTrash(d.Root)
	}
	for _, m := range gone {
		if _, there := m.find(d.Root, l); !there || err != nil {
			continue
		}
		if !d.Dry {
			err = localfile.Failure(filepath.Join(d.Root.Name(), m.path), "cannot be deleted", m.remove(d.Root, trash))
		}
		if err == nil {
			d.Tell(m.path)
		}
	}
	return cmp.Or(err, strange)
}

// missing is a file that a whole listing lacks.
type missing struct {
	tree  int           // of Trees
	path  string        // below the output directory
	url   *urlparse.URL // of the file
	gone  *urlparse.URL // what the listing lacks: the file, or a directory above it; nil if it lacks neither
	name  string        // of that
	in    *urlparse.URL // the directory that was listed
	login string        // the directory after the login then; "" if unknown
}

// candidates returns the files of the ledger that the listings lack, ordered by path. strange is about those that are kept
// because they may have come from another directory of the server: the URL of a tree leads from the login directory.
func (s *Source) candidates(l *ledger.Ledger, root *os.Root) (all []missing, strange, err error) {
	found, kept := make(map[string]missing), make(map[string]missing)
	err = l.Each(func(r ledger.Record) {
		m, ok := s.missing(r)
		if !ok {
			return
		}
		r, there := m.find(root, l)
		rooted := len(m.url.Dirs) > 0 && strings.HasPrefix(m.url.Dirs[0], "/")
		switch {
		case !there:
		case rooted, r.Login != "" && r.Login == m.login:
			found[m.path] = m
		default:
			kept[m.path] = m
		}
	})
	if len(kept) > 0 {
		name := slices.Min(slices.Collect(maps.Keys(kept)))
		strange = &localfile.Error{Path: filepath.Join(root.Name(), name), Err: localfile.ErrLocal, Reason: fmt.Sprintf(
			"is kept, with all that did not come from the login directory %q (%s): delete what is too much, or fetch by a URL from the root (%%2F)",
			kept[name].login, printable.Count(int64(len(kept)), "file", "files"))}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		all = append(all, found[name])
	}
	return all, strange, err
}

// missing returns the file that r is about, if it is one of a tree and the listings of all trees lack it.
func (s *Source) missing(r ledger.Record) (m missing, ok bool) {
	for i, t := range s.Trees {
		below, covers := strings.CutPrefix(r.Local(), strings.TrimPrefix(path.Clean(t.Path)+"/", "./"))
		if !covers {
			continue
		}
		at := s.lookUp(t, strings.Split(below, "/"))
		if at.gone == nil { // this tree may have it
			return m, false
		}
		if at.url.Key() == urlparse.KeyOf(r.URL) {
			m, ok = at, true
			m.tree, m.path = i, r.Local()
		}
	}
	return m, ok
}

// lookUp looks up a path in the listings of a tree.
func (s *Source) lookUp(t batch.Task, names []string) (m missing) {
	m.url = top(t)
	for i, name := range names {
		in, kind := m.url, urlparse.TypeDir
		if i == len(names)-1 {
			kind = ""
			if t.Tree.Type != nil {
				kind = t.Tree.Type(name)
			}
		}
		m.url = in.Child(localfile.Segment(name), kind)
		if m.gone != nil {
			continue
		}
		directory := string(in.Key())
		login, whole := s.logins[key(directory, "")]
		if !whole {
			return missing{}
		}
		if _, there := s.seen[key(directory, name)]; !there {
			m.gone, m.name, m.in, m.login = m.url, name, in, login
		}
	}
	return m
}

// find returns the record of the file if it is there as the ledger says.
func (m *missing) find(root *os.Root, l *ledger.Ledger) (r ledger.Record, ok bool) {
	for dir := path.Dir(m.path); dir != "."; dir = path.Dir(dir) { // below a link is another file, which the server may have
		if info, err := root.Lstat(dir); err != nil || !info.IsDir() {
			return r, false
		}
	}
	info, err := root.Lstat(m.path)
	if err != nil || !info.Mode().IsRegular() {
		return r, false
	}
	return l.Find(manifest.Item{Path: m.path, URLs: []*urlparse.URL{m.url}}, time.Time{}, info)
}

// confirm returns those of the files that the server confirms to be gone.
func (s *Source) confirm(ctx context.Context, all []missing, empty bool) (gone []missing, err error) {
	places := make(map[string][]missing) // by tree and directory
	for _, m := range all {
		place := fmt.Sprint(m.tree, m.in.Key())
		places[place] = append(places[place], m)
	}
	for _, place := range slices.Sorted(maps.Keys(places)) {
		some, err := s.inquire(ctx, places[place], empty)
		if err != nil {
			return nil, fmt.Errorf("nothing is deleted: %w", err)
		}
		gone = append(gone, some...)
	}
	slices.SortFunc(gone, func(a, b missing) int { return cmp.Compare(a.path, b.path) })
	return gone, nil
}

var (
	errSilent = errors.New("the server tells about no file of the tree that it is there")
	errEmpty  = errors.New("the server has no file of the tree any more: --max-delete all deletes them here too")
)

// inquire asks about files that the listing of one directory lacks. It lists it once more, and then asks about a name that
// nobody has, about what is missing, and about a file of the tree that is there.
func (s *Source) inquire(ctx context.Context, lost []missing, empty bool) (gone []missing, err error) {
	in, witness := lost[0].in, s.witness[lost[0].tree]
	names := make(map[string]bool)
	for _, m := range lost {
		names[localfile.Key(m.name)] = true
	}
	login := ""
	for e, err := range s.Server.Entries(early.WithLogin(ctx, func(dir string) { login = dir }), in) {
		name := path.Base(e.Name)
		switch {
		case err != nil:
			return nil, err
		case names[localfile.Key(name)]:
			return nil, fmt.Errorf("%s: of two listings only the second has %s", in.Redacted(), name)
		case e.Mode.IsRegular():
			witness = e.URL
		}
	}
	switch {
	case login != lost[0].login:
		return nil, fmt.Errorf("%s: the login directory was %q, and is %q now", in.Redacted(), lost[0].login, login)
	case witness == nil && !empty:
		return nil, errEmpty
	}
	told := make(map[urlparse.Key]bool) // whether it is missing
	for _, m := range lost {
		missing, asked := told[m.gone.Key()]
		if !asked {
			missing, err = s.absent(ctx, in, m.gone)
			told[m.gone.Key()] = missing
		}
		if err != nil {
			return nil, err
		}
		if missing {
			gone = append(gone, m)
		}
	}
	if witness != nil {
		e, err := s.Stat(ctx, witness)
		if err != nil || e.Size < 0 {
			return nil, cmp.Or(err, errSilent)
		}
	}
	return gone, nil
}

// absent reports whether the server says of u, word for word, what it says of a name that nobody has in the same directory:
// a server has many reasons for a 550, and few have words of their own for each.
func (s *Source) absent(ctx context.Context, in, u *urlparse.URL) (bool, error) {
	name, kind, nobody := u.Name, urlparse.Typecode(""), rand.Text()
	if u.IsDir() {
		name, kind = u.Dirs[len(u.Dirs)-1], urlparse.TypeDir
	}
	said, err := s.refusal(ctx, in.Child(name, kind))
	if err != nil || said == "" {
		return false, err
	}
	usual, err := s.refusal(ctx, in.Child(nobody, kind))
	return said == strings.ReplaceAll(usual, nobody, name), err
}

// refusal returns what the server says of a name that is not there, or "" if it may be there.
func (s *Source) refusal(ctx context.Context, u *urlparse.URL) (string, error) {
	_, err := s.Stat(ctx, u)
	var e *ftpexec.Error
	switch {
	case err == nil, errors.Is(err, ftpexec.ErrRefused):
		return "", nil
	case errors.Is(err, ftpexec.ErrNotFound) && errors.As(err, &e):
		return e.Reply, nil
	}
	return "", err
}

// newTrash makes a directory for the backups of this run.
func newTrash(root *os.Root) (name string, err error) {
	first := ".ftpfetch-trash/" + time.Now().UTC().Format("2006-01-02T150405Z")
	err = root.MkdirAll(path.Dir(first), 0o777)
	for n := 1; err == nil; n++ {
		if name = first; n > 1 {
			name += fmt.Sprint("~", n)
		}
		if err = root.Mkdir(name, 0o777); !errors.Is(err, fs.ErrExist) {
			break
		}
		err = nil
	}
	return name, localfile.Failure(filepath.Join(root.Name(), first), "cannot be made", err)
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
