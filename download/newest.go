package download

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"sync"

	"example.com/ftpfetch/download/internal/newest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/internal/schedule"
	"example.com/ftpfetch/urlparse"
)

// contest collects the files of a tree with Tree.Newest. Once all directories are listed, the newest are chosen and
// queued.
type contest struct {
	tree *job
	n    int // Tree.Newest

	mu     sync.Mutex
	unread int // directories that are not listed yet
	files  []*candidate
	room   int   // the number of files at which those that cannot be chosen are removed
	old    int64 // files that were removed or not chosen
}

// candidate is a file of a contest.
type candidate struct {
	in    *job // the directory whose listing has it
	entry ftpexec.Entry
	made  *job // the job for the file, if it is no regular file of a listing: a link
	asked bool // the server was asked for the time
	gone  bool // the server has no such file
}

// newContest begins the contest of a tree; nil if it has none.
func newContest(tree *job) *contest {
	if tree.Tree.Newest == 0 {
		return nil
	}
	return &contest{tree: tree, n: tree.Tree.Newest, unread: 1}
}

// contest returns the contest of the tree of a directory, or nil if all files are wanted.
func (j *job) contest() *contest { return j.dir.survey.contest }

// below returns the path of a candidate in the tree.
func (f *candidate) below() string {
	if f.made != nil {
		return f.in.dir.below
	}
	return path.Join(f.in.dir.below, f.entry.Name)
}

func (f *candidate) url() *urlparse.URL {
	if f.made != nil {
		return f.made.url()
	}
	return f.in.url().Child(localfile.Segment(f.entry.Name), f.in.Tree.typeOf(f.entry.Name))
}

// compare orders candidates by their times, the newest first. Of the same time, the last one by its path comes first,
// because many names have dates or numbers.
func (f *candidate) compare(g *candidate) int {
	return cmp.Or(g.entry.ModTime.Compare(f.entry.ModTime), cmp.Compare(g.below(), f.below()))
}

// fewest is how many files a contest keeps before it removes those that cannot be chosen.
const fewest = 4096

// add adds a candidate. Memory is needed only for those that may be chosen.
func (c *contest) add(f *candidate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.files = append(c.files, f)
	if c.room = max(c.room, fewest, 2*c.n); len(c.files) < c.room {
		return
	}
	sure, perhaps, _, others := rank(c.files, c.n)
	c.old += int64(len(others))
	c.files = slices.Concat(sure, perhaps)
	c.room = max(fewest, 2*c.n, 2*len(c.files))
}

// rank returns which files are among the n newest, and which may be. vague are those of perhaps whose exact times
// must be known.
func rank(files []*candidate, n int) (sure, perhaps, vague, others []*candidate) {
	entries := make([]*ftpexec.Entry, len(files))
	for i, f := range files {
		entries[i] = &f.entry
	}
	for i, place := range newest.Places(entries, n) {
		switch f := files[i]; place {
		case newest.Certain:
			sure = append(sure, f)
		case newest.Never:
			others = append(others, f)
		case newest.Vague:
			vague = append(vague, f)
			fallthrough
		default:
			perhaps = append(perhaps, f)
		}
	}
	return sure, perhaps, vague, others
}

// opened records that one more directory is to be listed.
func (c *contest) opened() {
	if c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.unread++
	}
}

// closed records that a directory of a tree is listed, or could not be. After the last one it queues the choice among
// the files, as a job of its own, because it may have to ask the server.
func (b *engine) closed(t *schedule.Turn[*job]) {
	c := t.Value.contest()
	if c == nil || t.Value.chooses {
		return
	}
	c.mu.Lock()
	c.unread--
	last := c.unread == 0
	c.mu.Unlock()
	if last {
		choice := *c.tree
		choice.chooses = true
		t.Add(b.found(&choice, t.Host))
	}
}

// choose queues the newest files of a tree, the newest first.
func (b *engine) choose(ctx context.Context, t *schedule.Turn[*job]) schedule.Verdict {
	j := t.Value
	c := j.contest()
	bounded, cancel := b.bound(ctx)
	defer cancel()
	chosen, err := b.newest(bounded, t, c)
	switch {
	case b.freeConnections(t, err):
		return schedule.Full(err)
	case b.freeFiles(t, err):
		return schedule.Short
	case err != nil:
		return b.notListed(ctx, t, err, verdict(err))
	}
	b.count(func(n *counts) { n.LeftOut += c.old + int64(len(c.files)-len(chosen)) })
	c.files = nil
	b.sharpen(bounded, func(yield func(*job, *ftpexec.Entry) bool) {
		for _, f := range chosen {
			yield(f.in, &f.entry)
		}
	})
	var jobs []*job
	for _, f := range chosen {
		next := f.made
		switch {
		case next == nil:
			next = b.take(f.in, f.entry)
		case b.Info != nil && f.asked && f.entry.Size >= 0:
			b.tells(next, f.entry)
			next = nil
		}
		if next != nil {
			jobs = append(jobs, next)
		}
	}
	return b.queueAll(ctx, t, jobs...)
}

// newest returns the newest candidates, in order. It asks the server for times, but only for those of files that may be
// among the newest or not, by what the listings tell.
func (b *engine) newest(ctx context.Context, t *schedule.Turn[*job], c *contest) (chosen []*candidate, err error) {
	files := c.files
	for n := c.n; n > 0 && len(files) > 0; {
		sure, perhaps, vague, others := rank(files, n)
		if err := b.askTimes(ctx, t, vague); err != nil {
			return nil, err
		}
		perhaps = slices.DeleteFunc(perhaps, func(f *candidate) bool { return f.gone })
		slices.SortFunc(sure, (*candidate).compare)
		slices.SortFunc(perhaps, (*candidate).compare)
		few := perhaps[:min(n-len(sure), len(perhaps))]
		if err := b.unsettled(few, perhaps); err != nil {
			return nil, err
		}
		chosen = slices.Concat(chosen, sure, few)
		n -= len(sure) + len(few)
		files = others // needed only if files were gone
	}
	return chosen, nil
}

// unsettled reports what the server does not tell about the files that were asked about, if only few of them are
// wanted. It returns an error if nothing is known about one of the few.
func (b *engine) unsettled(few, all []*candidate) error {
	vague := 0
	for i, f := range all {
		switch {
		case i < len(few) && newest.Unknown(&f.entry):
			return &untold{below: f.below()}
		case !newest.Exact(&f.entry):
			vague++
		}
	}
	if vague > 0 && len(few) < len(all) {
		b.warn("the server does not tell the exact times of %s: their names decide which are newer",
			printable.Count(int64(vague), "file", "files"))
	}
	return nil
}

// untold is the error of a tree whose newest files are not known.
type untold struct{ below string }

func (e *untold) Error() string {
	return "the server does not tell when " + printable.Line(e.below) +
		" has changed, so the newest files are not known"
}

func (e *untold) Is(target error) bool { return target == ftpexec.ErrRefused }

// askTimes asks the server for the times of the files, unless it was asked before.
func (b *engine) askTimes(ctx context.Context, t *schedule.Turn[*job], files []*candidate) error {
	files = slices.DeleteFunc(files, func(f *candidate) bool { return f.asked })
	switch {
	case len(files) == 0:
		return nil
	case t.GivenUp != nil:
		return t.GivenUp
	}
	return b.again(ctx, func() error {
		urls := make([]*urlparse.URL, len(files))
		for i, f := range files {
			urls[i] = f.url()
		}
		for told, err := range b.src.StatAll(ctx, urls) {
			if err != nil && !errors.Is(err, ftpexec.ErrNotFound) && !errors.Is(err, ftpexec.ErrRefused) {
				return err
			}
			files[0].hears(told, err)
			files = files[1:]
		}
		return nil
	})
}

// hears records what the server tells about a file. If the file has changed since the listing, its new size belongs to
// its new time.
func (f *candidate) hears(told ftpexec.Entry, err error) {
	f.asked = true
	f.gone = errors.Is(err, ftpexec.ErrNotFound)
	if err != nil || told.ModTime.IsZero() {
		return
	}
	e := &f.entry
	e.ModTime = told.ModTime
	e.Precision = told.Precision
	e.Local = false
	e.YearGuessed = false
	if told.Size >= 0 {
		e.Size = told.Size
	}
}
