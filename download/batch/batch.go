// Package batch downloads many files: those of a list, of a manifest or of a
// directory tree. It fetches several at once, within what each server bears,
// verifies every one, and remembers the verified ones in a ledger, so that the
// next run fetches only the rest.
//
// The call to use is [Run].
package batch

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/retry"
	"example.com/ftpfetch/internal/schedule"
	"example.com/ftpfetch/urlparse"
)

// Source is where files and listings come from: an [*ftpexec.Client].
type Source interface {
	download.Source
	Entries(ctx context.Context, u *urlparse.URL) iter.Seq2[ftpexec.Entry, error]
	StatAll(ctx context.Context, urls []*urlparse.URL) iter.Seq2[ftpexec.Entry, error]
	CloseIdleConnections()
}

// MaxJobs is the largest number of connections that makes sense for Options.Jobs.
const MaxJobs = 64

// Options changes how files are retrieved.
type Options struct {
	// Jobs is how many connections are used at once; 0 means that Run finds the
	// number by trying. PerHost is how many of them may be to one server; 0 means
	// no limit. A server that refuses a connection because it has too many gets
	// fewer.
	Jobs, PerHost int
	// Segments is how many connections fetch one file, if fewer files than
	// connections are left.
	Segments int
	// Root is the directory under which all paths are. Nothing outside it is
	// touched. It must not be nil. The caller closes it.
	Root *os.Root
	// Mixed says that the tasks come from more than one list or tree, so that two of
	// them may lead to the same path. Then Run retrieves only one of two files with
	// the same path: a second with another URL, or with a size or digest that the
	// first does not have, fails; any other does not count. It takes some fifty
	// bytes of memory a file.
	Mixed bool
	// Ledger, if not nil, remembers the verified files.
	Ledger *Ledger
	// Each applies to every file. Its fields Root, Size, Sum, Events, Commit and
	// Segments are not used: Run sets them.
	Each download.Options

	// Bound, if not nil, bounds the time for one URL of a file or directory, retries
	// and the pauses between them included. The time in the queue does not count: a
	// file that returns to it because the server is full begins anew.
	Bound func(context.Context) (context.Context, context.CancelFunc)
	// Watch, if not nil, is called when a file is about to be retrieved, and
	// returns what watches it; both may be nil. Calls may be concurrent.
	Watch func(Task) (progress func(done, total int64), notify func(download.Event))
	// Report, if not nil, is called with the outcome of every file, and of every
	// directory that could not be listed whole. Calls do not overlap.
	Report func(Outcome)
	// Totals, if not nil, is called regularly with how far the run is, and at the
	// end.
	Totals func(Totals)
	// Note, if not nil, is called with what may interest a person about a server.
	// waits says that nothing comes from that server until it has room.
	Note func(text string, waits bool)
}

// Task is something to retrieve: a file, or if Tree is not nil the directory
// URLs[0] with what is in it, which is saved under Path.
type Task struct {
	manifest.Item
	Tree *Tree
}

// Outcome is how a task ended.
type Outcome struct {
	Task
	URL    *urlparse.URL   // that of the last try
	Result download.Result // if Err is nil
	Err    error           // why it failed
	// GivenUp says that the file was not tried, because its server has failed before.
	GivenUp bool
	Dir     bool   // Err is about a directory, which was not listed whole
	Link    string // where a symbolic link leads to that was not followed; "" otherwise
}

// Totals is how far a run is.
type Totals struct {
	Files     int64 // found so far
	Size      int64 // of those whose size is known, in bytes
	Unsized   int64 // files of unknown size
	Complete  int64 // files, those included that were complete before
	Before    int64 // files that were complete before
	Failed    int64 // files
	Links     int64 // symbolic links that were not followed
	Listing   int64 // directories that are not listed yet
	Unlisted  int64 // directories that could not be listed whole
	Received  int64 // bytes that this run has received
	Done      int64 // bytes of complete files and those of the others so far
	Abandoned int64 // files that were found and neither completed nor failed, because the run was ended
}

// Whole reports whether everything that was asked for is there.
func (t Totals) Whole() bool { return t.Failed+t.Abandoned+t.Listing+t.Unlisted == 0 }

// Run retrieves all tasks. It returns when they have ended, or soon after ctx has.
// What failed is told by the calls of Options.Report. Run reads tasks while it
// works, only some thousands ahead, so there may be any number of them. Two tasks
// must not have the same Path, unless Options.Mixed is set: manifest.Check makes
// sure of that for a list.
//
// A [*ftpexec.Client] should have a MaxIdle of PerHost, or else Jobs, or else
// MaxJobs: with fewer, files log in anew. Run leaves the idle connections to the
// caller; see [ftpexec.Client.CloseIdleConnections].
func Run(ctx context.Context, src Source, tasks iter.Seq[Task], o Options) Totals {
	b := &run{Options: o, src: src}
	end := b.watch()
	limits := schedule.Options{
		Jobs: o.Jobs, PerHost: o.PerHost, Patience: patience * retry.Count(o.Each.Retries), Received: b.received.Load, Full: b.ceiling,
	}
	schedule.Run(ctx, limits, b.jobs(tasks), b.do)
	end()
	return b.totals(ctx.Err() != nil)
}

// patience is how much more a server that refuses every connection is worth than a
// failure of one file: it stops all of them.
const patience = 4

// run is the state of a Run.
type run struct {
	Options
	src Source

	reporting sync.Mutex
	claims    claims

	files, size, unsized, complete, before, failed, links, listing, unlisted, received, done atomic.Int64
}

// job is a task on its way.
type job struct {
	Task
	in      *urlparse.URL // the directory whose listing has this file; see settle
	at      int           // the URL to try, of Item.URLs
	dir     *place        // where a directory is; nil for a file
	waited  bool          // for another run
	short   int           // how often it was short of open files, although it ran alone
	givenUp bool          // the server of the last try has been given up
	listed  int64         // the size that a listing tells; -1 if none does
	link    string        // the target of the symbolic link that led here; "" if none did
}

// size returns the size of a file as far as it is known in advance, or -1.
func (j *job) size() int64 {
	if j.Size != nil {
		return *j.Size
	}
	return j.listed
}

func (j *job) url() *urlparse.URL { return j.URLs[j.at] }

// settle gives a file from a listing its URL. It is put off until its turn comes,
// because a URL takes as much memory as all the rest.
func (j *job) settle() {
	if j.in == nil {
		return
	}
	name := path.Base(j.Path)
	j.URLs, j.in = []*urlparse.URL{j.in.Child(literal(name), j.Tree.typeOf(name))}, nil
}

// jobs counts the tasks and turns them into jobs.
func (b *run) jobs(tasks iter.Seq[Task]) iter.Seq[schedule.Job[*job]] {
	return func(yield func(schedule.Job[*job]) bool) {
		for t := range tasks {
			j := &job{Task: t, listed: -1}
			if t.Tree != nil {
				j.dir = top(t.URLs[0])
				j.URLs = []*urlparse.URL{j.dir.root}
			}
			if b.admit(j) && !yield(b.found(j, j.url().Address())) {
				return
			}
		}
	}
}

// found counts a job that is about to be queued for a server.
func (b *run) found(j *job, host string) schedule.Job[*job] {
	switch {
	case j.dir != nil:
		b.listing.Add(1)
	case j.size() >= 0:
		b.files.Add(1)
		b.size.Add(j.size())
	default:
		b.files.Add(1)
		b.unsized.Add(1)
	}
	return schedule.Job[*job]{Host: host, Value: j, Finds: j.dir != nil}
}

func (b *run) do(ctx context.Context, t *schedule.Turn[*job]) schedule.Verdict {
	t.Value.settle()
	if t.Value.dir != nil {
		return b.list(ctx, t)
	}
	return b.file(ctx, t)
}

// ceiling notes that a server refused a connection.
func (b *run) ceiling(host string, most int) {
	switch {
	case b.Note == nil:
	case most == 0:
		b.Note(host+" refuses the only connection: waiting until it has room", true)
	default:
		b.Note(fmt.Sprintf("%s has too many connections: continuing with %d", host, most), false)
	}
}

// report counts and reports an outcome.
func (b *run) report(o Outcome) {
	switch {
	case o.Link != "":
		b.links.Add(1)
	case o.Err != nil && o.Dir: // list counts the directory
	case o.Err != nil:
		b.failed.Add(1)
	case o.Result.Skipped:
		b.before.Add(1)
		b.complete.Add(1)
	default:
		b.complete.Add(1)
	}
	if b.Report != nil {
		b.reporting.Lock()
		defer b.reporting.Unlock()
		b.Report(o)
	}
}

func (b *run) totals(ended bool) Totals {
	t := Totals{
		Files: b.files.Load(), Size: b.size.Load(), Unsized: b.unsized.Load(), Complete: b.complete.Load(), Before: b.before.Load(),
		Failed: b.failed.Load(), Links: b.links.Load(), Listing: b.listing.Load(), Unlisted: b.unlisted.Load(),
		Received: b.received.Load(), Done: b.done.Load(),
	}
	if ended {
		t.Abandoned = max(0, t.Files-t.Complete-t.Failed)
	}
	return t
}

// totalsInterval is the time between two calls of Options.Totals.
const totalsInterval = 200 * time.Millisecond

// watch calls Totals regularly, until end is called.
func (b *run) watch() (end func()) {
	if b.Totals == nil {
		return func() {}
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(totalsInterval)
		defer tick.Stop()
		for {
			b.Totals(b.totals(false))
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	}()
	return func() { close(stop); <-stopped; b.Totals(b.totals(false)) }
}
