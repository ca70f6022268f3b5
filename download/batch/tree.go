package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/glob"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/retry"
	"example.com/ftpfetch/internal/schedule"
	"example.com/ftpfetch/urlparse"
)

type node struct {
	root  *urlparse.URL     // of the tree
	below string            // the path below the tree's directory; "" for that directory
	depth int               // levels above it
	real  string            // below, with the links followed
	up    *node             // the directory whose listing has it; nil for the tree's own
	haul  *haul             // of the tree
	links int               // links followed on the way
	login string            // the directory after the login when it was listed; "" if unknown
	guess bool              // it may be a file: the listing or the URL does not tell
	kind  urlparse.Typecode // of the file that it may be; "" if the tree says it

	unique string          // as the listing of up has it; "" if it does not tell
	shows  uint64          // the identity of its own listing
	ahead  map[uint64]bool // the keys of files that are queued before the listing is whole; see begin
}

// mostLinks bounds the links on the way to a directory. A chain of links that the server resolves itself could otherwise
// lead in a circle that shows no name twice.
const mostLinks = 8

func (j *job) asFile() *job {
	v, last := *j.url(), len(j.url().Dirs)-1
	v.Dirs, v.Name = v.Dirs[:last:last], v.Dirs[last]
	v.Type = cmp.Or(j.dir.kind, j.Tree.typeOf(v.Name))
	task := *j.Task
	task.Path = cmp.Or(task.Path, v.Name)
	task.URLs = []*urlparse.URL{&v}
	return &job{Task: &task, in: j, listed: -1, link: j.link}
}

func (b *engine) list(ctx context.Context, t *schedule.Turn[*job]) schedule.Verdict {
	j := t.Value
	if t.GivenUp != nil {
		return b.notListed(ctx, j, t.GivenUp, schedule.Untouched)
	}
	bounded, cancel := b.bound(ctx)
	defer cancel()
	found, err := b.entries(bounded, j.url(), b.early(bounded, t), j.dir.ahead)
	var same *node
	if err == nil {
		same, err = b.circle(bounded, j, found)
	}
	switch {
	case b.crowded(t, err):
		return schedule.Full(err)
	case err != nil && j.dir.guess && noDirectory(err):
		if j.dir.up == nil || j.Tree.wants(j.dir.below, false, false) {
			return b.listed(ctx, t, j.asFile())
		}
		j.leave(entry{name: "."})
		return b.listed(ctx, t)
	case err == nil && j.dir.guess && j.dir.up != nil && !j.Tree.wants(j.dir.below, true, true): // only now it shows that it is a directory
		b.try(j.Tree, j.dir.below, true)
		j.leave(entry{name: ".", mode: fs.ModeDir})
		return b.listed(ctx, t)
	case err == nil && j.Tree.Depth > 0 && j.dir.depth >= j.Tree.Depth: // as here
		j.note(func(h *haul) { h.deeper++ })
		return b.listed(ctx, t)
	case same != nil:
		b.left(j, cmp.Or(same.below, "."))
		return b.listed(ctx, t)
	case err == nil:
		err = b.create(j)
	}
	switch {
	case b.short(t, err):
		return schedule.Short
	case err != nil:
		return b.notListed(ctx, j, err, verdict(err))
	}
	b.complain(j, found)
	b.sharpen(bounded, j, found.entries)
	return b.listed(ctx, t, b.within(ctx, j, found.entries)...)
}

func (b *engine) queue(t *schedule.Turn[*job], j *job) {
	if j.dir == nil {
		t.Value.note(func(h *haul) { h.wanted++ })
	}
	if b.admit(j) {
		t.Add(b.found(j, t.Host))
	}
}

// listed queues what a listed directory leads to. If the run is interrupted meanwhile, it counts as not listed.
func (b *engine) listed(ctx context.Context, t *schedule.Turn[*job], jobs ...*job) schedule.Verdict {
	for _, next := range jobs {
		if ctx.Err() != nil {
			break
		}
		b.queue(t, next)
	}
	if ctx.Err() == nil {
		b.count(func(c *counts) { c.Listing-- })
	}
	t.Value.dir.ahead = nil
	return schedule.Done
}

// mostListed are the numbers of names, with "." and "..", at which set-ups of pure-ftpd and its copies cut a listing.
var mostListed = []int{2000, 7500, 10000}

// complain reports what is wrong with a listing: lines that cannot be read, and perhaps that it is cut.
func (b *engine) complain(j *job, found contents) {
	for _, err := range found.odd {
		b.ended(j.failed(err))
	}
	b.count(func(c *counts) { c.Unlisted += int64(min(1, len(found.odd))) })
	if slices.ContainsFunc(mostListed, func(most int) bool { return found.all <= most && found.all >= most-2 }) {
		b.note(pause, fmt.Sprintf("%s has %d entries, and some servers list no more: if files are missing, name them in a list (-i)", j.url().Redacted(), found.all))
	}
	j.note(func(h *haul) {
		h.lost, h.shown = h.lost || len(found.odd) > 0, h.shown || found.all > 0
		if pattern, last := glob.Level(j.Tree.Names, j.dir.depth); last {
			h.named = h.named || slices.ContainsFunc(found.entries, func(e entry) bool { return glob.Match([]string{pattern}, e.name, false) })
		}
	})
}

// notListed reports a directory that could not be listed, unless the run was interrupted.
func (b *engine) notListed(ctx context.Context, j *job, err error, v schedule.Verdict) schedule.Verdict {
	j.note(func(h *haul) { h.lost = true })
	if ctx.Err() == nil {
		b.count(func(c *counts) { c.Listing--; c.Unlisted++ })
	}
	return b.end(ctx, j, download.Result{}, err, v)
}

// create creates the local directory, which may stay empty. If only some files are wanted, those create theirs.
func (b *engine) create(j *job) error {
	if pattern, _ := glob.Level(j.Tree.Names, j.dir.depth); b.teller != nil || b.Dry || j.Path != "" && (pattern != "" || len(j.Tree.Accept) > 0) {
		return nil
	}
	if b.root == nil {
		return errNoRoot
	}
	_, err := b.group.Dirs.Make(b.root, filepath.FromSlash(cmp.Or(j.Path, ".")))
	return err
}

type contents struct {
	entries []entry // without the files that are queued already
	odd     []error // of single lines
	all     int     // the number of entries
	dirs    int     // how many of them may be directories
	shows   uint64  // a hash of them, in whatever order
}

// earlyLister is a Source that tells what shows of a listing before it is whole, as an [*ftpexec.Client] does.
type earlyLister interface {
	EntriesEarly(ctx context.Context, u *urlparse.URL, o ftpexec.Early) iter.Seq2[ftpexec.Entry, error]
}

// entries lists a directory of which some files are queued already. It tries again as a download does.
func (b *engine) entries(ctx context.Context, u *urlparse.URL, o ftpexec.Early, ahead map[uint64]bool) (c contents, err error) {
	entries := b.src.Entries
	if src, ok := b.src.(earlyLister); ok {
		entries = func(ctx context.Context, u *urlparse.URL) iter.Seq2[ftpexec.Entry, error] {
			return src.EntriesEarly(ctx, u, o)
		}
	}
	err = b.again(ctx, func() error {
		c = contents{}
		for key := range ahead {
			ahead[key] = true
		}
		for e, err := range entries(ctx, u) {
			switch {
			case ctx.Err() != nil: // a listing may have a million lines
				return context.Cause(ctx)
			case errors.Is(err, ftpexec.ErrLine):
				c.odd = append(c.odd, err)
			case err != nil:
				return err
			default:
				c.add(entryOf(e), ahead)
			}
		}
		return nil
	})
	return c, err
}

func (c *contents) add(e entry, ahead map[uint64]bool) {
	c.all++
	c.shows += maphash.Comparable(seed, e)
	if e.mode == fs.ModeDir || e.mode == fs.ModeIrregular {
		c.dirs++
	}
	if key := e.key(); e.mode == 0 && ahead[key] {
		ahead[key] = false // another of that name is one too many
	} else {
		c.entries = append(c.entries, e)
	}
}

func (b *engine) again(ctx context.Context, f func() error) error {
	return retry.New(retry.Policy{Retries: b.Each.Retries, Connect: b.Each.RetryConnect, ReturnCrowded: true}).Do(ctx, f)
}

// sharpen asks the server for the times of the entries that Options.Each.Newer needs, if the listing has told them only
// roughly. An error leaves them rough: then the files are asked for one by one.
func (b *engine) sharpen(ctx context.Context, j *job, entries []entry) {
	if !b.Each.Newer || b.root == nil {
		return
	}
	var rough []*entry
	var urls []*urlparse.URL
	for i := range entries {
		e := &entries[i]
		if !e.mode.IsRegular() || !e.rough() {
			continue
		}
		if info, err := b.root.Lstat(path.Join(j.Path, e.name)); err == nil && info.Mode().IsRegular() && info.Size() == e.size {
			rough = append(rough, e)
			urls = append(urls, j.url().Child(localfile.Segment(e.name), ""))
		}
	}
	src, ok := b.src.(interface {
		StatAll(context.Context, []*urlparse.URL) iter.Seq2[ftpexec.Entry, error]
	})
	if !ok {
		return
	}
	for info, err := range src.StatAll(ctx, urls) { // one for each
		if e := rough[0]; err == nil && info.Size == e.size {
			e.time = info.ModTime
			e.unit = time.Second
			e.local = false
		}
		rough = rough[1:]
	}
}

// within returns the jobs for the entries of a directory, or if ctx ends some, and reports those that are not retrieved.
func (b *engine) within(ctx context.Context, j *job, entries []entry) (jobs []*job) {
	taken := j.dir.ahead
	if taken == nil {
		taken = make(map[uint64]bool)
	}
	for _, e := range entries {
		if ctx.Err() != nil {
			break
		}
		below := path.Join(j.dir.below, e.name)
		deeper := j.Tree.Depth == 0 || j.dir.depth+1 < j.Tree.Depth
		link := e.mode == fs.ModeSymlink && !j.Tree.FollowLinks
		dir := e.mode == fs.ModeDir
		b.try(j.Tree, below, dir)
		if !j.Tree.wants(below, dir, dir || e.mode != 0 && deeper && !link) {
			j.leave(e)
			continue
		}
		next := j.file(e)
		if b.teller != nil && next.listed >= 0 && e.mode == 0 {
			b.tells(next, ftpexec.Entry{Name: e.name, Size: e.size, ModTime: e.time, Precision: e.unit, Local: e.local})
		} else if err := e.usable(taken); err != nil {
			b.refuse(next, e, err)
		} else if e.mode == 0 || b.descend(j, next, e) {
			jobs = append(jobs, next)
		}
	}
	return jobs
}

func (j *job) file(e entry) *job {
	f := &job{in: j, name: e.name, listed: e.size}
	if j.Tree.typeOf(e.name) == urlparse.TypeASCII {
		f.listed = -1 // the line ends count otherwise there
	}
	if !e.rough() {
		f.modTime = e.time
	}
	return f
}

func (b *engine) refuse(j *job, e entry, err error) {
	dir := e.mode.IsDir()
	j.in.note(func(h *haul) { h.lost = true })
	b.count(func(c *counts) {
		if dir {
			c.Unlisted++
		} else {
			c.file(0)
		}
	})
	j.settle()
	j.URLs[0] = e.url(j.in.url())
	failed := j.failed(err)
	failed.dir = dir
	b.ended(failed)
}

// descend fills in the job for an entry that is not a file. It returns false if the entry is not retrieved.
func (b *engine) descend(parent, next *job, e entry) bool {
	d, u := parent.dir, e.url(parent.url())
	next.settle()
	next.dir = &node{
		root: d.root, below: path.Join(d.below, e.name), depth: d.depth + 1, real: path.Join(d.real, e.name),
		up: d, haul: d.haul, links: d.links, guess: e.mode != fs.ModeDir, unique: e.unique,
	}
	next.URLs[0] = u.Child("", "")
	switch follow := e.mode == fs.ModeSymlink && parent.Tree.FollowLinks && next.dir.follow(d, e.target); {
	case follow:
		next.URLs[0], next.link = next.dir.url(), e.target
	case e.mode == fs.ModeDir && parent.Tree.Depth > 0 && next.dir.depth >= parent.Tree.Depth:
		parent.note(func(h *haul) { h.deeper++ })
		return false
	case e.mode != fs.ModeDir && e.mode != fs.ModeIrregular: // a device or socket, or a link that is not followed
		what := e.mode.String()
		if e.mode == fs.ModeSymlink {
			what = cmp.Or(e.target, "an unknown place")
		}
		next.URLs[0] = u
		parent.note(func(h *haul) { h.links++ })
		b.left(next, what)
		return false
	}
	return true
}

// follow makes p, an entry of in, the node to which it links. It returns false if that is outside the tree or a circle.
func (p *node) follow(in *node, target string) bool {
	if strings.HasPrefix(target, "/") {
		root := "/" + strings.Trim(strings.Join(p.root.Dirs, "/"), "/")
		inside, ok := strings.CutPrefix(path.Clean(target)+"/", strings.TrimSuffix(root, "/")+"/")
		if !ok || len(p.root.Dirs) == 0 || !strings.HasPrefix(p.root.Dirs[0], "/") {
			return false
		}
		p.real = strings.TrimSuffix(inside, "/")
	} else {
		p.real = path.Join(in.real, target)
	}
	if p.real == "." {
		p.real = ""
	}
	for a := p.up; a != nil; a = a.up {
		if a.real == p.real {
			return false
		}
	}
	p.links++
	return target != "" && p.real != ".." && !strings.HasPrefix(p.real, "../") && p.links <= mostLinks
}

// url returns the URL of the node with the links followed.
func (p *node) url() *urlparse.URL {
	v := *p.root
	v.Dirs = slices.Clone(v.Dirs)
	for _, name := range strings.Split(p.real, "/") {
		v.Dirs = append(v.Dirs, localfile.Segment(name))
	}
	return &v
}

// noDirectory reports whether err says that there is no such directory, or that it may not be entered.
func noDirectory(err error) bool {
	var e *ftpexec.Error
	return errors.Is(err, ftpexec.ErrNotFound) || errors.Is(err, ftpexec.ErrRefused) && errors.As(err, &e) && e.Stage == "directory"
}
