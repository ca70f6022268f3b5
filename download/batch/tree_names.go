package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/glob"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/schedule"
	"example.com/ftpfetch/urlparse"
)

// Tree says what is wanted of a directory tree. Patterns are those of a shell, with "**" for any number of directories.
// One without "/" is compared with the name. One with "/" at its beginning or within is compared with the path below the
// tree's directory. One with "/" at its end stands for directories, and what is in them. A warning names each that matches nothing.
type Tree struct {
	Depth  int      // how many levels of directories to list; 0 means all of them
	Names  string   // a pattern of the paths that are wanted, level by level: "*/doc/*.pdf"; "" means all
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
		return errors.New("the Depth is negative: write 1 for the directory alone, 0 for all levels")
	}
	return nil
}

func (t *Tree) typeOf(name string) urlparse.Typecode {
	if t.Type == nil {
		return ""
	}
	return t.Type(name)
}

// wants reports whether a path is wanted. It may be that of a directory; dir says that it is one.
func (t *Tree) wants(below string, dir, may bool) bool {
	pattern, last := glob.Level(t.Names, strings.Count(below, "/"))
	switch {
	case glob.Match(t.Reject, below, dir), pattern != "" && !glob.Match([]string{pattern}, below, false):
		return false
	case pattern != "" && !last:
		return may
	}
	return may || len(t.Accept) == 0 || glob.Match(t.Accept, below, false)
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

// warn tells which patterns have matched nothing.
func (b *engine) warn() {
	for _, p := range slices.Sorted(maps.Keys(b.idle)) {
		if g := b.idle[p]; g != nil {
			b.tell(Event{Event: download.Event{Err: errors.New("nothing matches " + p + glob.From(p) + g.Advice())}})
		}
	}
}

// entry is what is kept of an ftpexec.Entry: there may be millions.
type entry struct {
	name, target string
	unique       string      // of a directory
	mode         fs.FileMode // the type
	size         int64
	time         time.Time // of modification
	unit         time.Duration
	local        bool
}

func entryOf(e ftpexec.Entry) entry {
	x := entry{name: strings.Clone(path.Base(e.Name)), target: strings.Clone(e.Target), mode: e.Mode.Type(), size: e.Size}
	if e.Mode.IsDir() {
		x.unique = strings.Clone(e.Unique)
	}
	x.time = e.ModTime
	x.unit = e.Precision
	x.local = e.Local
	return x
}

func (e *entry) rough() bool { return e.local || e.unit == 0 || e.unit > time.Second }

// url returns the URL of an entry of the directory dir, with its name as servers take it.
func (e entry) url(dir *urlparse.URL) *urlparse.URL {
	kind := urlparse.Typecode("")
	if e.mode.IsDir() {
		kind = urlparse.TypeDir
	}
	return dir.Child(localfile.Segment(e.name), kind)
}

// key returns a hash of the name, which is the same for names of the same file.
func (e entry) key() uint64 { return maphash.String(seed, localfile.Key(e.name)) }

// usable says why an entry cannot have its name here. It keeps each name as it is on the server or refuses it: one that
// would leave the directory or mean something else on this system, that of a journal, and the second of two that are the
// same here. taken has the keys of those before.
func (e entry) usable(taken map[uint64]bool) error {
	why, key := localfile.Unusable(e.name), e.key()
	if _, again := taken[key]; again && why == "" {
		why = "has the name of another entry of the listing"
	} else if localfile.Own(e.name) != "" {
		why += ": --reject leaves it out"
	}
	if why != "" {
		return &localfile.Error{Path: e.name, Reason: why, Err: localfile.ErrName}
	}
	taken[key] = true
	return nil
}

// many is how many entries a directory has when its files do not wait for the end of the listing.
const many = 1000

// early says what the listing of a directory tells before it is whole. That of a tree's own directory queues files as they
// come: it may take minutes. The others may be circles, and files whose times must be asked for wait too. Everything else
// is judged at the end.
func (b *engine) early(ctx context.Context, t *schedule.Turn[*job]) ftpexec.Early {
	j := t.Value
	o := ftpexec.Early{Login: func(dir string) { j.note(func(*haul) { j.dir.login = dir }) }}
	if j.dir.up != nil || b.Each.Newer || b.teller != nil {
		return o
	}
	if j.dir.ahead == nil {
		j.dir.ahead = make(map[uint64]bool)
	}
	seen := 0
	o.Entry = func(x ftpexec.Entry) {
		seen++
		e := entryOf(x)
		if _, begun := j.dir.ahead[e.key()]; seen <= many || begun || ctx.Err() != nil || e.mode != 0 ||
			localfile.Unusable(e.name) != "" || !j.Tree.wants(e.name, false, false) || b.create(j) != nil {
			return
		}
		b.try(j.Tree, e.name, false)
		j.dir.ahead[e.key()] = true
		b.queue(t, j.file(e))
	}
	return o
}

// haul is what the listings of a tree have shown. If no file of it is fetched, that is a failure unless there is none.
type haul struct {
	mu       sync.Mutex
	wanted   int64 // files that are fetched, without those that links name in vain
	lost     bool  // something failed, which is told
	named    bool  // something matches Tree.Names
	shown    bool  // there is something
	rejected bool  // something matches Tree.Reject
	unwanted int64 // files that Tree.Reject leaves, but no pattern chooses
	links    int64 // and special files
	deeper   int64 // directories below Tree.Depth
}

func (j *job) note(change func(h *haul)) {
	h := j.dir.haul
	h.mu.Lock()
	defer h.mu.Unlock()
	change(h)
}

// leave counts an entry that is not wanted.
func (j *job) leave(e entry) {
	below := path.Join(j.dir.below, e.name)
	pattern, last := glob.Level(j.Tree.Names, j.dir.depth)
	j.note(func(h *haul) {
		switch {
		case h.wanted > 0:
		case glob.Match(j.Tree.Reject, below, e.mode == fs.ModeDir):
			h.rejected = true
		case e.mode != 0, pattern != "" && !last, pattern != "" && h.named && !glob.Match([]string{pattern}, below, false):
		default:
			h.unwanted++
		}
	})
}

func (t *Tree) patterns() []string {
	if len(t.Accept) == 0 && t.Names != "" {
		return []string{t.Names}
	}
	return t.Accept
}

// barren is the error of a tree of which no file is fetched although there is something in it.
type barren string

func (e barren) Error() string        { return string(e) }
func (e barren) Is(target error) bool { return target == ftpexec.ErrNotFound }

// wanting says why no file of the tree t is fetched, or returns nil if the server has none.
func (b *engine) wanting(h *haul, t *Tree) error {
	text := "nothing matches " + strings.Join(t.patterns(), " or ")
	switch {
	case h.wanted > 0 || h.lost:
		return nil
	case t.Names != "" && !h.named:
		text = "nothing matches " + t.Names
	case h.unwanted > 0:
	case t.flat() && h.deeper > 0:
		return barren("only directories match " + t.Names + " (-r fetches what is in them)")
	case h.rejected:
		text = "--reject leaves no file of it"
	case h.deeper > 0:
		text = "no file"
	case h.links > 0 && t.FollowLinks:
		text = "only links, which lead to no file in it"
	case h.links > 0:
		text = "only links (--follow-links fetches what they lead to inside it)"
	default:
		return nil
	}
	if h.unwanted > 0 && h.rejected {
		text += " besides what --reject leaves out"
	}
	text += b.advice(t)
	if h.deeper > 0 && !t.flat() {
		text += fmt.Sprintf("; %s (--depth %d reads more)", h.unread(t), t.Depth+1)
	}
	return barren(text)
}

// advice says what to write for patterns of t that match nothing, and from where a path in them counts.
func (b *engine) advice(t *Tree) string {
	from := ""
	advice := ""
	for _, p := range t.patterns() {
		advice = cmp.Or(advice, b.idle[p].Advice())
		if t.Accept != nil && b.idle[p] != nil {
			from = cmp.Or(from, glob.From(p))
		}
	}
	return from + advice
}

// flat reports whether no directory that matches Names is read.
func (t *Tree) flat() bool { return t.Names != "" && t.Depth == 1+strings.Count(t.Names, "/") }

func (h *haul) unread(t *Tree) string {
	if t.flat() {
		return fmt.Sprintf("directories that match are not fetched: %d (-r fetches what is in them)", h.deeper)
	}
	return fmt.Sprintf("directories below level %d are not read: %d", t.Depth, h.deeper)
}

// hauls tells of each tree what its user may not expect: that no file of it is fetched, and what Depth leaves unread.
func (b *engine) hauls(ctx context.Context) {
	source, leaves := b.src.(interface{ LeftOut() int64 }) // of its listings, which it tells itself
	told := ctx.Err() != nil
	for _, j := range b.trees {
		h := j.dir.haul
		err := b.wanting(h, j.Tree)
		told = told || h.lost || err != nil
		what := ""
		switch {
		case ctx.Err() != nil, h.wanted == 0 && leaves && source.LeftOut() > 0:
		case err != nil:
			b.count(func(c *counts) { c.file(0) })
			b.ended(Event{Event: download.Event{Err: err}, Task: j.Task})
		case h.deeper > 0:
			what = h.unread(j.Tree)
		case h.wanted > 0 || h.lost:
		case j.Tree.Names != "":
			what = "no file in what matches " + j.Tree.Names
		case h.shown:
			what = "no file in it"
		default:
			what = "empty"
		}
		if what != "" {
			b.note(pause, j.url().Redacted()+": "+what)
		}
	}
	if !told {
		b.warn()
	}
}

// deepest is how many directories may be above one of a tree.
const deepest = 128

// mostAlike is how many of them may show the same as that directory, if it leads on in more than one way: then the
// depth bounds nothing.
const mostAlike = 8

// near is how deep a circle leads on servers that follow only some links in a path: Linux 40. A tree may lead as deep,
// so it shows less.
const near = 16

// circle returns the directory above j that is j's own directory: some servers show links and mounts as directories. The
// fact "unique" or the same entries make one suspect it, but both are also the same in trees without a circle. So circle
// asks: in a circle the way from the one to the other leads on from there, again and again, and shows the same at its end.
func (b *engine) circle(ctx context.Context, j *job, found contents) (*node, error) {
	d, within := j.dir, found.dirs
	d.shows = found.shows
	var same, named *node // the nearest that shows the same, or that has the same name in "unique"
	alike := 0
	for a := d.up; a != nil && within > 0; a = a.up {
		if _, above := a.wayTo(d); above && a.shows == d.shows {
			alike++
			same = cmp.Or(same, a)
		} else if above && a.unique == d.unique && a.unique != "" {
			named = cmp.Or(named, a)
		}
	}
	unsure := &localfile.Error{Path: j.Path, Reason: fmt.Sprintf(
		"has more than %d directories above it, or some that show the same: if this is no circle, fetch its URL in a run of its own", deepest)}
	if d.depth > deepest || alike > mostAlike && within > 1 {
		return nil, unsure
	}
	if same = cmp.Or(same, named); same == nil || alike&(alike-1) != 0 { // what one try has not shown another may, but most will not
		return nil, nil
	}
	way, _ := same.wayTo(d)
	leads := func(levels int) (bool, error) {
		far := *d
		far.real = path.Join(d.real, strings.Repeat("/"+way, levels/(1+strings.Count(way, "/"))+1))
		there, err := b.entries(ctx, far.url(), ftpexec.Early{}, nil)
		return err == nil && there.shows == d.shows, err
	}
	on, err := leads(deepest - d.depth)
	switch e := (*ftpexec.Error)(nil); {
	case on:
		return same, nil
	case err == nil || !noDirectory(err):
		return nil, err
	case errors.As(err, &e) && strings.HasSuffix(e.Reply, " Too many levels of symbolic links."): // pyftpdlib
		return same, nil
	}
	if within > 1 {
		if on, _ := leads(near); on {
			return nil, unsure
		}
	}
	return nil, nil
}

// wayTo returns the names that lead from a to d, if d is below a.
func (a *node) wayTo(d *node) (string, bool) {
	if a.real == "" {
		return d.real, d.real != ""
	}
	return strings.CutPrefix(d.real, a.real+"/")
}

var seed = maphash.MakeSeed()
