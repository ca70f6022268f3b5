package batch

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"example.com/ftpfetch/download/internal/decide"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/glob"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/schedule"
	"example.com/ftpfetch/urlparse"
)

// Tree says what is wanted of a directory tree. Patterns are written as in a shell, with "**" for any number of
// directories. One without "/" is compared with the name. One with "/" at its beginning or within is compared with the
// path below the tree's directory. One with "/" at its end stands for directories, and what is in them. A warning names
// each that matches nothing.
type Tree struct {
	Depth int // how many levels of directories to list; 0 means all of them
	// a pattern of the paths that are wanted, level by level: "*/doc/*.pdf"; "" means all
	Names  string
	Accept []string // patterns of the files that are wanted; empty means all
	Reject []string // patterns of files and directories that are not wanted
	// FollowLinks retrieves what symbolic links lead to, if that is inside the tree. Otherwise they are only reported.
	FollowLinks bool
	// Type, if not nil, returns the type with which to retrieve a file of this name.
	Type func(name string) urlparse.Typecode
}

func (t *Tree) check() error {
	for _, p := range slices.Concat(t.Accept, t.Reject, strings.Split(t.Names, "/")) {
		if err := glob.Check(p); err != nil {
			return fmt.Errorf("the malformed pattern %s: %w", p, err)
		}
	}
	if t.Depth < 0 {
		return errors.New(
			"the Depth is negative: write 1 for the directory alone, 0 for all levels")
	}
	return nil
}

// reads reports whether directories that are so many levels down are listed.
func (t *Tree) reads(depth int) bool { return t.Depth == 0 || depth < t.Depth }

func (t *Tree) typeOf(name string) urlparse.Typecode {
	if t.Type == nil {
		return ""
	}
	return t.Type(name)
}

// wants reports whether a path is wanted. It may be the path of a directory; dir says that it is one.
func (t *Tree) wants(below string, dir, may bool) bool {
	pattern, last := glob.Level(t.Names, strings.Count(below, "/"))
	switch {
	case glob.Match(t.Reject, below, dir):
		return false
	case pattern != "" && !glob.Match([]string{pattern}, below, false):
		return false
	case pattern != "" && !last:
		return may
	}
	return may || len(t.Accept) == 0 || glob.Match(t.Accept, below, false)
}

// Includes reports whether the tree has the file, or the directory if dir is true, at a path below its own directory, as
// far as Depth and the patterns say. What is not included is not fetched.
func (t *Tree) Includes(below string, dir bool) bool {
	level := strings.Count(below, "/")
	if dir {
		level++
	}
	for up := path.Dir(below); up != "."; up = path.Dir(up) {
		if !t.wants(up, true, true) {
			return false
		}
	}
	return t.reads(level) && t.wants(below, dir, dir)
}

// try tries a path with the patterns that have matched nothing, which do not count any more if they match it.
func (b *engine) try(t *Tree, below string, dir bool) {
	b.trying.Lock()
	defer b.trying.Unlock()
	for i, p := range slices.Concat(t.Reject, t.patterns()) { // of which Accept is for files
		g, known := b.idle[p]
		if !known {
			g = glob.Guess(p)
			b.idle[p] = g
		}
		switch {
		case g == nil, dir && i >= len(t.Reject) && len(t.Accept) > 0:
		case glob.Match([]string{p}, below, dir):
			b.idle[p] = nil
		default:
			g.Add(below, dir)
		}
	}
}

// tellIdle warns of patterns that have matched nothing.
func (b *engine) tellIdle() {
	for _, p := range slices.Sorted(maps.Keys(b.idle)) {
		if g := b.idle[p]; g != nil {
			b.warn("nothing matches %s%s%s", p, glob.From(p), g.Advice())
		}
	}
}

// kept returns what is kept of an entry of a listing: there may be millions. Its texts no longer hold on to the
// listing, and two that are kept of the same entry are equal.
func kept(e ftpexec.Entry) ftpexec.Entry {
	if !e.Mode.IsDir() {
		e.Unique = ""
	}
	e.Name = strings.Clone(path.Base(e.Name))
	e.Target = strings.Clone(e.Target)
	e.Unique = strings.Clone(e.Unique)
	e.Mode = e.Mode.Type()
	e.HasPerm = false
	e.URL = nil
	return e
}

// rough reports whether the time of an entry is only a hint, or unknown.
func rough(e ftpexec.Entry) bool { return e.Local || e.Precision == 0 || e.Precision > time.Second }

// urlOf returns the URL of an entry of the directory dir, with its name as servers take it.
func urlOf(e ftpexec.Entry, dir *urlparse.URL) *urlparse.URL {
	kind := urlparse.Typecode("")
	if e.Mode.IsDir() {
		kind = urlparse.TypeDir
	}
	return dir.Child(localfile.Segment(e.Name), kind)
}

// keyOf returns a hash of the name of an entry, which is the same for names of the same file.
func keyOf(e ftpexec.Entry) uint64 { return maphash.String(seed, localfile.Key(e.Name)) }

// usable says why an entry cannot have its name here. It keeps each name as it is on the server or refuses it: a name
// that would leave the directory or mean something else on this system, the name of a journal, and the second of two
// names that are the same here. taken has the keys of the names before.
func usable(e ftpexec.Entry, taken map[uint64]bool) error {
	why := localfile.Unusable(e.Name)
	key := keyOf(e)
	if _, again := taken[key]; again && why == "" {
		why = "has the name of another entry of the listing"
	} else if localfile.Own(e.Name) != "" {
		why += ": Tree.Reject leaves it out"
	}
	if why != "" {
		return &localfile.Error{Path: e.Name, Reason: why, Err: localfile.ErrName}
	}
	taken[key] = true
	return nil
}

// many is how many entries a directory has when its files do not wait for the end of the listing.
const many = 1000

// early says what to do with the listing of a directory before it is whole. The listing of a tree's own directory
// queues files as they come: it may take minutes. The others may be circles, and files whose times must be asked for
// wait too. Everything else is judged at the end.
func (b *engine) early(ctx context.Context, t *schedule.Turn[*job]) early {
	j := t.Value
	o := early{login: func(dir string) { j.withSurvey(func(*survey) { j.dir.login = dir }) }}
	if j.dir.up != nil || decide.Existing(b.Each.Existing).Updates() || b.teller != nil {
		return o
	}
	if j.dir.ahead == nil {
		j.dir.ahead = make(map[uint64]bool)
	}
	seen := 0
	o.entry = func(x ftpexec.Entry) {
		seen++
		e := kept(x)
		_, begun := j.dir.ahead[keyOf(e)]
		if seen <= many || begun || ctx.Err() != nil || e.Mode != 0 {
			return
		}
		if localfile.Unusable(e.Name) != "" || !j.Tree.wants(e.Name, false, false) {
			return
		}
		if b.create(j) != nil {
			return
		}
		b.try(j.Tree, e.Name, false)
		j.dir.ahead[keyOf(e)] = true
		b.queue(t, j.file(e))
	}
	return o
}
