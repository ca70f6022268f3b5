package download

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

	"example.com/ftpfetch/download/internal/decide"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/ftpexec/retry"
	"example.com/ftpfetch/internal/glob"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/schedule"
	"example.com/ftpfetch/urlparse"
)

// asFile returns a job for the file that j, believed to be a directory, turned out to be. It returns none if the file
// is not wanted.
func (j *job) asFile() []*job {
	if j.dir.up != nil && !j.Tree.wants(j.dir.below, false, false) {
		j.noteUnwanted(ftpexec.Entry{Name: "."})
		return nil
	}
	v := *j.url()
	last := len(v.Dirs) - 1
	v.Name = v.Dirs[last]
	v.Dirs = v.Dirs[:last:last]
	v.Type = cmp.Or(j.dir.kind, j.Tree.typeOf(v.Name))
	task := *j.Task
	task.Path = cmp.Or(task.Path, v.Name)
	task.URLs = []*urlparse.URL{&v}
	f := &job{Task: &task, in: j, listed: -1, link: j.link}
	if c := j.contest(); c != nil {
		c.add(&candidate{in: j, made: f, entry: ftpexec.Entry{Name: v.Name, Size: -1}})
		return nil
	}
	return []*job{f}
}

// list lists a directory and queues its wanted entries.
func (b *engine) list(ctx context.Context, t *schedule.Turn[*job]) schedule.Verdict {
	j := t.Value
	if t.GivenUp != nil {
		return b.notListed(ctx, t, t.GivenUp, schedule.Untouched)
	}
	bounded, cancel := b.bound(ctx)
	defer cancel()
	found, err := b.entries(bounded, j.url(), b.hooksOf(bounded, t), &j.dir.taken)
	var same *node
	if err == nil {
		same, err = b.circle(bounded, j, found)
	}
	switch {
	case b.freeConnections(t, err):
		return schedule.Full(err)
	case err != nil && j.dir.guess && noDirectory(err):
		return b.queueAll(ctx, t, j.asFile()...)
	case err == nil && !b.enters(j, same):
		return b.queueAll(ctx, t)
	case err == nil:
		err = b.create(bounded, j)
	}
	switch {
	case b.freeFiles(t, err):
		return schedule.Short
	case err != nil:
		return b.notListed(ctx, t, err, verdict(err))
	}
	b.complain(j, found)
	if j.contest() == nil {
		b.sharpen(bounded, func(yield func(*job, *ftpexec.Entry) bool) {
			for i := range found.entries {
				if !yield(j, &found.entries[i]) {
					return
				}
			}
		})
	}
	b.findExtras(j, found)
	return b.queueAll(ctx, t, b.within(ctx, j, found.entries)...)
}

// enters reports whether the entries of a directory are wanted, and counts the directory if they are not. If a name
// might have been a file's, only the successful listing shows that it is a directory, so enters applies the patterns
// again. same is a directory above that is the same one, or nil.
func (b *engine) enters(j *job, same *node) bool {
	d := j.dir
	switch {
	case d.guess && d.up != nil && !j.Tree.wants(d.below, true, true):
		b.tryPatterns(j.Tree, d.below, true)
		j.noteUnwanted(ftpexec.Entry{Name: ".", Mode: fs.ModeDir})
	case !j.Tree.reads(d.depth):
		j.withSurvey(func(h *survey) { h.deeper++ })
	case same != nil:
		b.skipLink(j, cmp.Or(same.below, "."))
	default:
		return true
	}
	return false
}

// queue adds the job of an entry, unless another job has its path.
func (b *engine) queue(t *schedule.Turn[*job], j *job) {
	if j.dir == nil {
		t.Value.withSurvey(func(h *survey) { h.wanted++ })
	} else if c := j.contest(); c != nil {
		c.opened()
	}
	if b.claimPath(j) {
		t.Add(b.found(j, t.Host))
	}
}

// queueAll queues the jobs of a listed directory. If the run is interrupted meanwhile, the directory counts as not
// listed.
func (b *engine) queueAll(ctx context.Context, t *schedule.Turn[*job],
	jobs ...*job) schedule.Verdict {
	for _, next := range jobs {
		if ctx.Err() != nil {
			break
		}
		b.queue(t, next)
	}
	t.Value.dir.taken = nameSet{}
	t.Value.dir.folded = nil
	t.Value.dir.local = nil
	if ctx.Err() == nil {
		b.count(func(c *counts) { c.Listing-- })
		b.closed(t) // another goroutine may have the directory from here on
	}
	return schedule.Done
}

// mostListed has the numbers of names, including "." and "..", at which pure-ftpd and its derivatives cut a listing,
// depending on the configuration.
var mostListed = []int{2000, 7500, 10000}

// complain reports what is wrong with a listing: lines that cannot be parsed, a length at which servers cut listings,
// and missing facts.
func (b *engine) complain(j *job, found contents) {
	for _, err := range found.odd {
		b.ended(j.ending(err))
	}
	b.count(func(c *counts) { c.Unlisted += int64(min(1, len(found.odd))) })
	cut := func(most int) bool { return found.all <= most && found.all >= most-2 }
	if slices.ContainsFunc(mostListed, cut) {
		b.notice(fmt.Sprintf(
			"%s has %d entries, and some servers list no more: if files are missing, name them in a list",
			j.url().Redacted(), found.all))
	}
	if found.all > 0 && found.bare {
		b.bare.Do(func() {
			b.notice(j.url().Redacted() +
				": the server lists only names, without types, sizes and times")
		})
	}
	j.withSurvey(func(h *survey) {
		h.lost = h.lost || len(found.odd) > 0
		h.shown = h.shown || found.all > 0
		pattern, last := glob.Level(j.Tree.Names, j.dir.depth)
		h.named = h.named || last && slices.ContainsFunc(found.entries, func(e ftpexec.Entry) bool {
			return glob.Match([]string{pattern}, e.Name, false)
		})
	})
}

// notListed reports that a directory could not be listed, unless the run was interrupted.
func (b *engine) notListed(ctx context.Context, t *schedule.Turn[*job], err error,
	v schedule.Verdict) schedule.Verdict {
	j := t.Value
	j.withSurvey(func(h *survey) { h.lost = true })
	b.unknown(j.Path)
	if ctx.Err() == nil {
		b.count(func(c *counts) { c.Listing--; c.Unlisted++ })
		b.closed(t)
	}
	return b.end(ctx, j, Result{}, err, v)
}

// create creates the local directory, even if it stays empty. If only some files are wanted, it does nothing; the files
// create the directories that they need.
func (b *engine) create(ctx context.Context, j *job) error {
	pattern, _ := glob.Level(j.Tree.Names, j.dir.depth)
	some := pattern != "" || len(j.Tree.Accept) > 0 || j.Tree.Newest > 0
	if b.Info != nil || b.Check || some && j.Path != "" {
		return nil
	}
	if b.root == nil && !b.Dry {
		return errNoRoot
	}
	err := b.makeDir(j.Path)
	if at := b.inTheWay(j.Path, true); (err != nil || b.Dry) && at != "" {
		err = b.makeWay(ctx, j, at)
		if err == nil {
			err = b.makeDir(j.Path)
		}
	}
	return err
}

// makeDir makes the directory of a tree, except in a dry run.
func (b *engine) makeDir(dir string) error {
	if b.Dry {
		return nil
	}
	dir = filepath.FromSlash(cmp.Or(dir, "."))
	_, err := b.group.Dirs.Make(b.root, dir)
	if err == nil {
		b.group.Dirs.Expect(b.root, dir)
	}
	return err
}

// contents is what the listing of a directory shows.
type contents struct {
	entries []ftpexec.Entry // without files that are already queued
	odd     []error         // errors of single lines
	all     int             // number of all entries
	dirs    int             // number of entries that may be directories
	bare    bool            // the listing has only names
	shows   uint64          // a hash of all entries, independent of their order
}

// listingHooks has the callbacks for EntriesEarly.
type listingHooks struct {
	entry func(ftpexec.Entry)
	login func(dir string)
}

// entries lists a directory, and retries as a download does. taken has the names of the files that are already
// queued; entries ticks those that the whole listing has too.
func (b *engine) entries(ctx context.Context, u *urlparse.URL, o listingHooks,
	taken *nameSet) (c contents, err error) {
	err = b.again(ctx, func() error {
		c = contents{}
		taken.untick()
		for e, err := range b.src.EntriesEarly(ctx, u, o.entry, o.login) {
			switch {
			case ctx.Err() != nil: // a listing may have a million lines
				return context.Cause(ctx)
			case errors.Is(err, ftpexec.ErrLine):
				c.odd = append(c.odd, err)
			case err != nil:
				return err
			default:
				c.add(stripped(e), taken)
			}
		}
		return nil
	})
	return c, err
}

func (c *contents) add(e ftpexec.Entry, taken *nameSet) {
	c.all++
	c.shows += maphash.Comparable(seed, e)
	if e.Mode == fs.ModeDir || e.Mode == fs.ModeIrregular {
		c.dirs++
	}
	bare := e.Mode == fs.ModeIrregular && e.Size < 0 && e.Precision == 0
	c.bare = bare && (c.bare || c.all == 1)
	if e.Mode != 0 || !taken.tick(e.Name) { // a second entry of that name is an error
		c.entries = append(c.entries, compact(e))
	}
}

func (b *engine) again(ctx context.Context, f func() error) error {
	p := retry.Policy{Retries: b.Each.Retries, Unreached: b.Each.RetryUnreached, ReturnCrowded: true}
	return retry.New(p).Do(ctx, f)
}

// compares reports whether the times of all files are compared.
func (b *engine) compares() bool { return b.Check || decide.Existing(b.Each.Existing).Updates() }

// sharpen asks the server for the exact times of files in directories, if they are compared and the listing has only
// rough ones. After an error the times stay rough, and the fetch of each file asks for its time.
func (b *engine) sharpen(ctx context.Context, files iter.Seq2[*job, *ftpexec.Entry]) {
	updates := b.compares()
	if !updates && !b.Once || b.root == nil {
		return
	}
	var asked []*ftpexec.Entry
	var urls []*urlparse.URL
	for j, e := range files {
		if !e.Mode.IsRegular() || !rough(*e) {
			continue
		}
		if updates && b.has(path.Join(j.Path, e.Name), e.Size) || b.fetched(path.Join(j.Path, e.Name), e.Size) {
			asked = append(asked, e)
			urls = append(urls, j.url().Child(localfile.Segment(e.Name), ""))
		}
	}
	for info, err := range b.src.StatAll(ctx, urls) { // one result for each URL
		if e := asked[0]; err == nil && info.Size == e.Size {
			e.ModTime = info.ModTime
			e.Precision = time.Second
			e.Local = false
		}
		asked = asked[1:]
	}
}

// has reports whether there is a file of this size at a path.
func (b *engine) has(path string, size int64) bool {
	info, err := b.root.Lstat(path)
	return err == nil && info.Mode().IsRegular() && info.Size() == size
}

// within returns the jobs for the entries of a directory, and reports the entries that are not retrieved. If ctx ends,
// it returns only some of the jobs.
func (b *engine) within(ctx context.Context, j *job, entries []ftpexec.Entry) (jobs []*job) {
	for _, e := range entries {
		if ctx.Err() != nil {
			break
		}
		b.tryPatterns(j.Tree, path.Join(j.dir.below, e.Name), e.Mode == fs.ModeDir)
		if !j.wants(e) {
			j.noteUnwanted(e)
			continue
		}
		if c := j.contest(); c != nil && e.Mode == 0 {
			c.add(&candidate{in: j, entry: e})
		} else if next := b.take(j, e); next != nil {
			jobs = append(jobs, next)
		}
	}
	return jobs
}

// take returns the job for a wanted entry of a directory, or nil if there is nothing to do for it or it is refused.
func (b *engine) take(j *job, e ftpexec.Entry) *job {
	next := j.file(e)
	if b.Info != nil && next.listed >= 0 && e.Mode == 0 {
		b.tells(next, e)
		return nil
	}
	if err := b.usable(j, e); err != nil {
		b.refuse(next, e, err)
		return nil
	}
	if e.Mode == 0 && !b.plansAbsent(j, next) || e.Mode != 0 && b.descend(j, next, e) {
		return next
	}
	return nil
}

// wants reports whether an entry of the directory is wanted. An entry that may be a directory is wanted if that
// directory would be listed.
func (j *job) wants(e ftpexec.Entry) bool {
	dir := e.Mode == fs.ModeDir
	link := e.Mode == fs.ModeSymlink && !j.Tree.FollowLinks
	may := e.Mode != 0 && !link && j.Tree.reads(j.dir.depth+1)
	return j.Tree.wants(path.Join(j.dir.below, e.Name), dir, dir || may)
}

// file returns the job of a file in the directory of j.
func (j *job) file(e ftpexec.Entry) *job {
	f := &job{in: j, name: e.Name, listed: e.Size}
	if j.Tree.typeOf(e.Name) == urlparse.TypeASCII {
		f.listed = -1 // the server counts its own line ends
	}
	if !rough(e) {
		f.modTime = e.ModTime
	}
	return f
}

// refuse ends an entry that cannot have its name on this system.
func (b *engine) refuse(j *job, e ftpexec.Entry, err error) {
	j.in.withSurvey(func(h *survey) { h.lost = true })
	j.makeTask()
	j.URLs[0] = entryURL(e, j.in.url())
	b.reject(j, e.Mode.IsDir(), err)
}

// descend fills in the job for an entry that is not known to be a file. It returns false if the entry is not retrieved.
func (b *engine) descend(parent, next *job, e ftpexec.Entry) bool {
	d := parent.dir
	u := entryURL(e, parent.url())
	next.makeTask()
	next.dir = &node{
		root: d.root, below: path.Join(d.below, e.Name), depth: d.depth + 1,
		real: path.Join(d.real, e.Name),
		up:   d, survey: d.survey, links: d.links, guess: e.Mode != fs.ModeDir, unique: e.Unique,
	}
	next.URLs[0] = u.Child("", "")
	link := e.Mode == fs.ModeSymlink
	switch {
	case link && parent.Tree.FollowLinks && next.dir.follow(d, e.Target):
		next.URLs[0] = next.dir.url()
		next.link = e.Target
	case e.Mode == fs.ModeDir && !parent.Tree.reads(next.dir.depth):
		parent.withSurvey(func(h *survey) { h.deeper++ })
		return false
	// a device or socket, or a link that is not followed
	case e.Mode != fs.ModeDir && e.Mode != fs.ModeIrregular:
		next.URLs[0] = u
		parent.withSurvey(func(h *survey) { h.links++ })
		if link {
			b.skipLink(next, e.Target)
		} else {
			b.leaveOut(next, "is "+kindOf(e.Mode)+", left out")
		}
		return false
	}
	return true
}

// url returns the URL of the node, after following links.
func (p *node) url() *urlparse.URL {
	v := *p.root
	v.Dirs = slices.Clone(v.Dirs)
	for _, name := range strings.Split(p.real, "/") {
		v.Dirs = append(v.Dirs, localfile.Segment(name))
	}
	return &v
}

// noDirectory reports whether err means that the directory does not exist or may not be entered.
func noDirectory(err error) bool {
	var e *ftpexec.Error
	return errors.Is(err, ftpexec.ErrNotFound) || errors.Is(err, ftpexec.ErrRefused) &&
		errors.As(err, &e) && e.Stage == ftpexec.StageDirectory
}

// kindOf says what an entry is that is neither a file nor a directory nor a link.
func kindOf(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "a special file"
}
