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
	"io"
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

// Options changes how files are retrieved.
type Options struct {
	// Jobs is how many connections are used at once; 0 means that Run finds the
	// number by trying, and more than 64 make no sense. PerHost is how many of them may be to one server; 0 means
	// no limit. A server that refuses a connection because it has too many gets
	// fewer.
	Jobs, PerHost int
	// Root is the directory under which all paths are. Nothing outside it is
	// touched. The caller closes it. Without a Root the files are fetched one after
	// another, each as [download.File] does it: nothing of the above and of Mixed and
	// Ledger applies, and there are no trees.
	Root *os.Root
	// Out, if not nil, gets the files instead; see [download.To]. It needs that there
	// is no Root.
	Out io.Writer
	// Mixed says that the tasks come from more than one list or tree, so that two of
	// them may lead to the same path. Then Run retrieves only one of two files with
	// the same path: a second with another URL, or with a size or digest that the
	// first does not have, fails; any other does not count. It takes some fifty
	// bytes of memory a file.
	Mixed bool
	// Ledger is the name of a file under Root that remembers the verified files, or
	// "". It begins with ".ftpfetch-ledger": all such files are read.
	Ledger string
	// Each applies to every file. Its fields Root, Size, Sum, Events and Commit are
	// not used: Run sets them. A file gets more than one of its Segments only if
	// fewer files than connections are left.
	Each download.Options

	// Timeout bounds the time for one URL of a file or directory, retries and the
	// pauses between them included; 0 means no limit. The time in the queue does not
	// count: a file that returns to it because the server is full begins anew.
	Timeout time.Duration
	// Events, if not nil, is called with what happens. Calls do not overlap, and none
	// comes after Run has returned.
	Events func(Event)
}

// Task is something to retrieve: a file, or if Tree is not nil the directory
// URLs[0] with what is in it, which is saved under Path.
type Task struct {
	manifest.Item
	Tree *Tree
}

// Event is something that happens in a run. Its Kind is one of those below, or one
// that package download has for a file.
type Event struct {
	download.Event       // Err is why a task failed, after Ended too; of Noted, a danger
	Task           *Task // the same from Started to Ended; nil if the event is about a server or the run

	// After Ended. URL is that of the last try.
	URL     *urlparse.URL
	Result  download.Result // if Err is nil
	GivenUp bool            // the task was not tried, because its server has failed before
	Link    string          // where a symbolic link leads to that was not followed; "" otherwise

	Totals Totals // after Counted

	dir bool // Err is about a directory, which was not listed whole
}

const (
	// Started comes when a URL of a file is about to be retrieved. A file that is
	// there already has none.
	Started = download.Arrived + 1 + iota
	// Ended comes once for every file, and for every directory that could not be
	// listed whole.
	Ended
	// Counted comes regularly and at the end: the Totals.
	Counted
	// Waiting is like download.Noted: nothing comes from a server until what Text says is over.
	Waiting
)

// Totals is how far a run is.
type Totals struct {
	Files    int64 // found so far
	Size     int64 // of these, in bytes; -1 if that of one is not known
	Complete int64 // files, those included that were complete before
	Before   int64 // files that were complete before
	Failed   int64 // files
	Listing  int64 // directories that are not listed yet
	Unlisted int64 // directories that could not be listed whole
	Received int64 // bytes that this run has received
	Done     int64 // bytes of complete files and those of the others so far
}

// Whole reports whether everything that was asked for is there.
func (t Totals) Whole() bool { return t.Complete == t.Files && t.Listing+t.Unlisted == 0 }

// Run retrieves all tasks. It returns when they have ended, or soon after ctx has.
// What failed is told by Options.Events. The error is about the ledger. Run reads tasks while it
// works, only some thousands ahead, so there may be any number of them. Two tasks
// must not have the same Path, unless Options.Mixed is set: manifest.Check makes
// sure of that for a list.
//
// A [*ftpexec.Client] should have a MaxIdle of PerHost, or else Jobs, or else
// 64: with fewer, files log in anew. Run leaves the idle connections to the
// caller; see [ftpexec.Client.CloseIdleConnections].
func Run(ctx context.Context, src Source, tasks iter.Seq[Task], o Options) (Totals, error) {
	b := &engine{Options: o, src: src}
	if o.Ledger != "" {
		l, err := openLedger(o.Root, o.Ledger)
		if err != nil {
			return Totals{}, err
		}
		defer l.Close()
		if b.ledger = l; l.ignored != nil {
			b.tell(Event{Event: download.Event{Err: fmt.Errorf("%s (%d in all) is ignored: not a regular file that only this user may write", l.ignored[0], len(l.ignored))}})
		}
	}
	end := b.watch()
	if o.Root == nil {
		for t := range tasks {
			b.lone(ctx, t)
		}
		end()
		return b.totals(), nil
	}
	limits := schedule.Options{
		Jobs: o.Jobs, PerHost: o.PerHost, Patience: patience * retry.Count(o.Each.Retries), Received: b.received.Load, Full: b.ceiling,
	}
	schedule.Run(ctx, limits, b.jobs(tasks), b.do)
	end()
	return b.totals(), nil
}

// patience is how much more a server that refuses every connection is worth than a
// failure of one file: it stops all of them.
const patience = 4

// engine is the state of a Run.
type engine struct {
	Options
	src    Source
	ledger *ledger // nil: nothing is remembered

	telling sync.Mutex
	claims  claims

	files, size, unsized, complete, before, failed, listing, unlisted, received, done atomic.Int64
}

// job is a task on its way.
type job struct {
	Task
	in      *urlparse.URL // the directory whose listing has this file; see settle
	at      int           // the URL to try, of Item.URLs
	dir     *node         // where a directory is; nil for a file
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
func (b *engine) jobs(tasks iter.Seq[Task]) iter.Seq[schedule.Job[*job]] {
	return func(yield func(schedule.Job[*job]) bool) {
		for t := range tasks {
			j := &job{Task: t, listed: -1}
			if t.Tree != nil {
				j.dir = top(t.URLs[0])
				j.URLs = []*urlparse.URL{j.dir.root}
				if err := t.Tree.check(); err != nil {
					b.unlisted.Add(1)
					b.ended(j.failed(err))
					continue
				}
			}
			if b.admit(j) && !yield(b.found(j, j.url().Address())) {
				return
			}
		}
	}
}

// found counts a job that is about to be queued for a server.
func (b *engine) found(j *job, host string) schedule.Job[*job] {
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

func (b *engine) do(ctx context.Context, t *schedule.Turn[*job]) schedule.Verdict {
	t.Value.settle()
	if t.Value.dir != nil {
		return b.list(ctx, t)
	}
	return b.file(ctx, t)
}

// ceiling notes that a server refused a connection.
func (b *engine) ceiling(host string, most int) {
	if most == 0 {
		b.note(Waiting, host+" refuses the only connection: waiting until it has room")
		return
	}
	b.note(download.Noted, fmt.Sprintf("%s has too many connections: continuing with %d", host, most))
}

// tell calls Options.Events.
func (b *engine) tell(e Event) {
	if b.Events != nil {
		b.telling.Lock()
		defer b.telling.Unlock()
		b.Events(e)
	}
}

// note tells something about a server.
func (b *engine) note(kind download.EventKind, text string) {
	b.tell(Event{Event: download.Event{Kind: kind, Text: text}})
}

// failed returns the end of a job that failed with err, at the URL that it tries.
func (j *job) failed(err error) Event {
	return Event{Event: download.Event{Err: err}, Task: &j.Task, URL: j.url(), dir: j.dir != nil}
}

// ended counts and tells the end of a task.
func (b *engine) ended(e Event) {
	e.Kind = Ended
	switch {
	case e.Link != "", e.Err != nil && e.dir: // list counts the directory
	case e.Err != nil:
		b.failed.Add(1)
	case e.Result.Left != "":
		b.before.Add(1)
		b.complete.Add(1)
	default:
		b.complete.Add(1)
	}
	b.tell(e)
}

func (b *engine) totals() Totals {
	t := Totals{
		Files: b.files.Load(), Size: b.size.Load(), Complete: b.complete.Load(), Before: b.before.Load(), Failed: b.failed.Load(),
		Listing: b.listing.Load(), Unlisted: b.unlisted.Load(), Received: b.received.Load(), Done: b.done.Load(),
	}
	if b.unsized.Load() > 0 {
		t.Size = -1
	}
	return t
}

// countInterval is the time between two Counted events.
const countInterval = 200 * time.Millisecond

// watch tells the totals regularly, until end is called.
func (b *engine) watch() (end func()) {
	if b.Events == nil {
		return func() {}
	}
	tell := func() { b.tell(Event{Event: download.Event{Kind: Counted}, Totals: b.totals()}) }
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(countInterval)
		defer tick.Stop()
		for {
			tell()
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	}()
	return func() { close(stop); <-stopped; tell() }
}
