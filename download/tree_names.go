package download

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/glob"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/schedule"
	"example.com/ftpfetch/urlparse"
)

// Tree says which files of a directory tree are wanted. Patterns are written as in a shell, with "**" for any number of
// directories. A pattern without "/" is compared with the name. A pattern that begins with "/" or has one inside is
// compared with the path below the tree's directory. A pattern that ends in "/" matches directories, with all that they
// contain. Run warns of each pattern that matches nothing.
type Tree struct {
	Depth int // how many levels of directories to list; 0 means all of them
	// Names is a pattern for the paths that are wanted, level by level: "*/doc/*.pdf". "" means all.
	Names  string
	Accept []string // patterns of the files that are wanted; empty means all
	Reject []string // patterns of files and directories that are not wanted
	// Newest is how many files are wanted: the newest of those that Names, Accept and Reject want, by the server's
	// times; 0 means all of them. Of files of the same time, the last one by its path counts as the newest. Run fetches
	// none before it has listed the whole tree. It asks the server for times only if those of the listings do not tell
	// which files are the newest, and only for those of the files in question. If a directory cannot be listed, the
	// files are the newest of the others. The error is [ftpexec.ErrRefused] if the server does not tell enough.
	Newest int
	// FollowLinks retrieves the targets of symbolic links, if they are inside the tree. Otherwise Run only reports the
	// links.
	FollowLinks bool
	// Type, if not nil, returns the transfer type for a file of this name.
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
	if t.Newest < 0 {
		return errors.New("the number Newest is negative: write how many files are wanted, 0 for all")
	}
	return nil
}

// reads reports whether directories at this depth are listed.
func (t *Tree) reads(depth int) bool { return t.Depth == 0 || depth < t.Depth }

func (t *Tree) typeOf(name string) urlparse.Typecode {
	if t.Type == nil {
		return ""
	}
	return t.Type(name)
}

// wants reports whether a path is wanted. dir means that it is the path of a directory, and may that it may be.
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

// Includes reports whether Depth and the patterns include the path of a file, or of a directory if dir is true. The
// path is relative to the tree's directory. Run does not fetch files that are not included.
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

// tryPatterns compares a path with the patterns that have not matched anything yet. A pattern that matches is no
// longer unmatched.
func (b *engine) tryPatterns(t *Tree, below string, dir bool) {
	b.trying.Lock()
	defer b.trying.Unlock()
	for i, p := range slices.Concat(t.Reject, t.patterns()) { // the patterns of Accept are only for files
		g, known := b.unmatched[p]
		if !known {
			g = glob.Guess(p)
			b.unmatched[p] = g
		}
		switch {
		case g == nil, dir && i >= len(t.Reject) && len(t.Accept) > 0:
		case glob.Match([]string{p}, below, dir):
			b.unmatched[p] = nil
		default:
			g.Add(below, dir)
		}
	}
}

// tellIdle warns of each pattern that has matched nothing.
func (b *engine) tellIdle() {
	for _, p := range slices.Sorted(maps.Keys(b.unmatched)) {
		if g := b.unmatched[p]; g != nil {
			b.warn("nothing matches %s%s%s", p, glob.From(p), g.Advice())
		}
	}
}

// stripped returns an entry without what a tree does not need. Those of equal entries are equal.
func stripped(e ftpexec.Entry) ftpexec.Entry {
	if !e.Mode.IsDir() {
		e.Unique = ""
	}
	e.Name = path.Base(e.Name)
	e.Mode = e.Mode.Type()
	e.HasPerm = false
	e.URL = nil
	return e
}

// compact returns a copy of an entry to keep in memory, where there may be millions: its strings do not refer to the
// text of the listing.
func compact(e ftpexec.Entry) ftpexec.Entry {
	e.Name = strings.Clone(e.Name)
	e.Target = strings.Clone(e.Target)
	e.Unique = strings.Clone(e.Unique)
	return e
}

// rough reports whether the time of an entry is unknown, in an unknown time zone, or not exact to the second.
func rough(e ftpexec.Entry) bool { return e.Local || e.Precision == 0 || e.Precision > time.Second }

// entryURL returns the URL of an entry of the directory dir, with the name written as the server takes it.
func entryURL(e ftpexec.Entry, dir *urlparse.URL) *urlparse.URL {
	kind := urlparse.Typecode("")
	if e.Mode.IsDir() {
		kind = urlparse.TypeDir
	}
	return dir.Child(localfile.Segment(e.Name), kind)
}

// respelled reports whether an earlier entry of the directory has another spelling of a name. It adds the name to
// d.folded.
func (d *node) respelled(name string) bool {
	fold := localfile.Fold(name)
	key := keyOf(fold)
	met := d.folded[key]
	if fold != name {
		met = met || d.taken.has(fold)
		if d.folded == nil {
			d.folded = make(map[uint64]bool)
		}
		d.folded[key] = true
	}
	return met
}

// usable returns an error if an entry of j cannot have its name on this system. A file is saved under exactly the
// server's name or not at all. usable refuses a name that would leave the directory or mean something else here, a name
// that ftpfetch uses itself, such as a journal's, and the second of two names that mean the same file here.
func (b *engine) usable(j *job, e ftpexec.Entry) error {
	why := localfile.Unusable(e.Name)
	switch {
	case localfile.Own(e.Name) != "":
		why += ": Tree.Reject leaves it out"
	case why != "":
	case j.dir.taken.has(e.Name):
		why = "has the name of another entry of the listing"
	case j.dir.respelled(e.Name) && b.spellings.Folds(cmp.Or(j.Path, "."), e.Name):
		why = "is another spelling of the name of another entry of the listing, and both are one file here"
	}
	if why != "" {
		return &localfile.Error{Path: e.Name, Reason: why, Err: localfile.ErrName}
	}
	j.dir.taken.add(e.Name)
	return nil
}

// many is the number of entries after which files are queued before the end of the listing.
const many = 1000

// needsTimes reports whether the times of files are shown, compared or asked for.
func (b *engine) needsTimes() bool { return b.compares() || b.Once || b.Info != nil }

// hooksOf returns the callbacks for the listing of a directory. In the tree's own directory, whose listing may take
// minutes, they queue files before the listing is complete. Other directories may be part of a circle, and must be
// compared first. Nor does hooksOf queue files whose times must be asked for or compared. All other entries wait for
// the end of the listing.
func (b *engine) hooksOf(ctx context.Context, t *schedule.Turn[*job]) listingHooks {
	j := t.Value
	o := listingHooks{login: func(dir string) { j.withSurvey(func(*survey) { j.dir.login = dir }) }}
	if j.dir.up != nil || j.contest() != nil || b.needsTimes() {
		return o
	}
	early := b.early(ctx, t)
	waiting := []ftpexec.Entry{} // nil once there are many
	o.entry = func(x ftpexec.Entry) {
		e := compact(stripped(x))
		if waiting == nil {
			early(e)
			return
		}
		waiting = append(waiting, e)
		if len(waiting) > many {
			for _, e := range waiting {
				early(e)
			}
			waiting = nil
		}
	}
	return o
}

// early returns the function that queues files of a directory before its listing is complete.
func (b *engine) early(ctx context.Context, t *schedule.Turn[*job]) func(ftpexec.Entry) {
	j, created := t.Value, false
	return func(e ftpexec.Entry) {
		if e.Mode != 0 || ctx.Err() != nil || j.dir.taken.has(e.Name) {
			return
		}
		if localfile.Unusable(e.Name) != "" || !j.Tree.wants(e.Name, false, false) {
			return
		}
		created = created || b.create(ctx, j) == nil
		if !created || j.dir.respelled(e.Name) {
			return
		}
		b.tryPatterns(j.Tree, e.Name, false)
		j.dir.taken.add(e.Name)
		if next := j.file(e); !b.plansAbsent(j, next) {
			b.queue(t, next)
		}
	}
}
