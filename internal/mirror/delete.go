package mirror

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
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
	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/local/ledger"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// Deletion says how to delete.
type Deletion struct {
	Root   *os.Root          // the output directory
	Most   int               // how many files may be deleted; math.MaxInt: any number, also if the server has no file left
	Backup bool              // they are moved to a new directory in .ftpfetch-trash instead
	Dry    bool              // nothing is deleted, only told
	Tell   func(name string) // is called with the path below Root of each file
}

// Delete deletes files of the Trees that the server no longer has. All trees must have been listed whole. It is the one
// place that decides. A file is deleted if
//   - a ledger says that it came from below a tree, from the same login directory, and it is still as it was then;
//   - no tree of the run has a file of its path;
//   - a whole listing lacks it or a directory above it, and another, asked for after all trees were listed, lacks it too;
//   - the server then says of it, twice and word for word, what it says of a name that nobody has, and still tells of
//     another file of the same tree.
//
// What contradicts that is an error, and nothing is deleted, of any tree.
func (s *Source) Delete(ctx context.Context, d Deletion) error {
	l, err := ledger.Open(d.Root, ledger.Name)
	if err != nil {
		return err
	}
	defer l.Close()
	all := make(map[string]missing) // by path
	err = l.Each(func(r ledger.Record) {
		if m := s.missing(r); m.gone != nil && m.find(d.Root, l) {
			all[m.path] = m
		}
	})
	if len(all) > d.Most && !d.Dry {
		return &localfile.Error{Path: d.Root.Name(), Reason: fmt.Sprintf(
			"%s no longer on the server, more than --max-delete %d: nothing is deleted (--dry-run shows them)", printable.Count(int64(len(all)), "file is", "files are"), d.Most)}
	}
	places := make(map[urlparse.Key][]missing) // by the directory that lacks them
	for _, name := range slices.Sorted(maps.Keys(all)) {
		place := all[name].in.Key()
		places[place] = append(places[place], all[name])
	}
	var found verdict
	for _, place := range slices.Sorted(maps.Keys(places)) {
		if err == nil {
			err = s.inquire(ctx, places[place], d.Most == math.MaxInt, &found)
		}
	}
	if err != nil {
		return fmt.Errorf("nothing is deleted: %w", err)
	}
	slices.SortFunc(found.gone, func(a, b missing) int { return cmp.Compare(a.path, b.path) })
	return cmp.Or(found.carryOut(l, d), found.strange)
}

// verdict is what the server has confirmed.
type verdict struct {
	gone    []missing
	strange error // there are files that did not come from the login directory that the server has now
}

// carryOut deletes the files that are still as the ledger says.
func (v *verdict) carryOut(l *ledger.Ledger, d Deletion) error {
	trash := ""
	if d.Backup {
		trash = ".ftpfetch-trash/" + time.Now().UTC().Format("2006-01-02T150405.000000000Z") // no other run has it
	}
	var dirs disk.Dirs // those of the backups
	for _, m := range v.gone {
		if !m.find(d.Root, l) {
			continue
		}
		if !d.Dry {
			if err := m.remove(d.Root, trash, &dirs); err != nil {
				return localfile.Failure(filepath.Join(d.Root.Name(), m.path), "cannot be deleted", err)
			}
		}
		d.Tell(m.path)
	}
	return dirs.Close()
}

// missing is a file that a whole listing lacks.
type missing struct {
	path    string        // below the output directory
	url     *urlparse.URL // of the file
	gone    *urlparse.URL // what the listing lacks: the file, or a directory above it; nil if it lacks neither
	name    string        // of that
	in      *urlparse.URL // the directory that was listed
	witness *urlparse.URL // another file of the tree; nil if the server has none
	login   string        // the directory after the login from which it came; "" if unknown
}

// missing returns the file that r is about, if it is one of a tree and the listings of all trees lack it.
func (s *Source) missing(r ledger.Record) (m missing) {
	for i, t := range s.Trees {
		below, covers := strings.CutPrefix(r.Local(), strings.TrimPrefix(path.Clean(t.Path)+"/", "./"))
		if !covers {
			continue
		}
		at := s.lookUp(t, strings.Split(below, "/"))
		if at.gone == nil { // this tree may have it
			return missing{}
		}
		if at.url.Key() == urlparse.KeyOf(r.URL) {
			m = at
			m.path, m.witness = r.Local(), s.witness[i]
		}
	}
	return m
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
		if _, whole := s.seen[key(directory, ".")]; !whole {
			return missing{}
		}
		if _, there := s.seen[key(directory, name)]; !there {
			m.gone, m.name, m.in = m.url, name, in
		}
	}
	return m
}

// find reports whether the file is there as the ledger says, and from which login directory it came.
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
	r, ok := l.Find(manifest.Item{Path: m.path, URLs: []*urlparse.URL{m.url}}, time.Time{}, info)
	m.login = r.Login
	return ok
}

// inquire asks about files that the listing of one directory lacks, and about a file of the tree that is there.
func (s *Source) inquire(ctx context.Context, lost []missing, empty bool, found *verdict) error {
	login, witness, err := s.again(ctx, lost, empty)
	in, told := lost[0].in, make(map[urlparse.Key]bool)
	rooted := len(in.Dirs) > 0 && strings.HasPrefix(in.Dirs[0], "/")
	for _, m := range lost {
		ours := rooted || login != "" && m.login == login // the URL leads from the login directory
		absent, asked := told[m.gone.Key()]
		switch {
		case err != nil:
			return err
		case !ours:
			found.strange = &localfile.Error{Path: m.path, Reason: fmt.Sprintf(
				"did not come from the login directory %q, and is kept, as all such files are: delete it, or fetch by a URL from the root (%%2F)", login)}
		case !asked:
			absent, err = s.absent(ctx, in, m.gone)
			told[m.gone.Key()] = absent
		}
		if ours && absent {
			found.gone = append(found.gone, m)
		}
	}
	if err != nil || witness == nil {
		return err
	}
	e, err := s.Stat(ctx, witness)
	if err == nil && e.Size < 0 {
		err = errors.New("the server confirms no file of the tree any more")
	}
	return err
}

// again lists a directory once more. It returns the directory after the login, and a file of the tree; nil if it may be empty.
func (s *Source) again(ctx context.Context, lost []missing, empty bool) (login string, witness *urlparse.URL, err error) {
	names := make(map[string]bool)
	for _, m := range lost {
		names[localfile.Key(m.name)] = true
	}
	witness = lost[0].witness
	for e, err := range s.Server.Entries(early.WithLogin(ctx, func(dir string) { login = dir }), lost[0].in) {
		name := path.Base(e.Name)
		switch {
		case err != nil:
			return "", nil, err
		case names[localfile.Key(name)]:
			return "", nil, fmt.Errorf("%s: of two listings only the second has %s", lost[0].in.Redacted(), name)
		case e.Mode.IsRegular():
			witness = e.URL
		}
	}
	if witness == nil && !empty {
		err = errors.New("the tree on the server has become empty: --max-delete all deletes its files here too")
	}
	return login, witness, err
}

// absent reports whether the server says of u, word for word, what it says of a name that nobody has in the same directory:
// a server has many reasons for a 550, and few have words of their own for each.
func (s *Source) absent(ctx context.Context, in, u *urlparse.URL) (bool, error) {
	name, kind, nobody := u.Name, urlparse.Typecode(""), rand.Text()
	if u.IsDir() {
		name, kind = u.Dirs[len(u.Dirs)-1], urlparse.TypeDir
	}
	usual, err := s.refusal(ctx, in.Child(nobody, kind))
	if err != nil {
		return false, err
	}
	// Twice, because a server with a fault may once say of a file what it says of nothing.
	for range 2 {
		said, err := s.refusal(ctx, in.Child(name, kind))
		if err != nil || said == "" || said != strings.ReplaceAll(usual, nobody, name) {
			return false, err
		}
	}
	return true, nil
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

// remove deletes the file or moves it to trash, and deletes the directories that are gone from the server and empty.
func (m *missing) remove(root *os.Root, trash string, dirs *disk.Dirs) error {
	if trash != "" {
		dir := path.Join(trash, path.Dir(m.path))
		_, err := dirs.Make(root, dir)
		dirs.Fresh(root, dir)
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
