// Package batch downloads the many files of a list, a manifest or a directory tree. It fetches several at once,
// within what each server bears, verifies every one, and remembers the verified ones in a ledger, so that the next run
// fetches only the rest. The example of [Run] shows how.
package batch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/internal/claims"
	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/download/internal/sums"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/glob"
	"example.com/ftpfetch/internal/guard"
	"example.com/ftpfetch/internal/local/ledger"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/retry"
	"example.com/ftpfetch/internal/schedule"
)

// Options changes how files are retrieved.
type Options struct {
	// Jobs is how many connections are used at once; 0 means that Run finds the number by trying, and more than 64 make
	// no sense. PerHost is how many of them may be to one server; 0 means no limit. A server that refuses a connection
	// because it has too many gets fewer.
	Jobs, PerHost int
	// Ledger is the name of a file under Each.Root that remembers the verified files, or "". It begins with
	// ".ftpfetch-ledger": all such files are read.
	Ledger string
	// Each applies to every file. Without a Root nothing can be saved; nothing outside it is touched. Its fields Size,
	// Sum, Events and Commit are not used: Run sets them. A file gets more than one of its Segments only if there are
	// fewer files than connections.
	Each download.Options
	// Timeout bounds the time for one URL of a file or directory, retries and the pauses between them included; 0 means
	// no limit. The time in the queue does not count: a file that returns to it because the server is full begins anew.
	Timeout time.Duration
	// Dry finds out what would happen to each file, which the Plan of its last event says. Nothing is fetched, and
	// nothing on the disk changes. Without a Root, nothing is there.
	Dry bool
	// Events, if not nil, is called with what happens. Calls do not overlap, and none comes after Run has returned.
	Events func(Event)
}

// Task is something to retrieve: a file, or if Tree is not nil the directory URLs[0] with what is in it, under Path.
type Task struct {
	manifest.Item
	Tree *Tree
	// Writer, if not nil, gets the bytes of the file as they arrive, as [download.To] writes them. Then nothing is
	// saved, and Path is only a name for it.
	Writer io.Writer

	err error // why there is no task: what a list says is wrong
}

// Tasks turns what [manifest.Read] yields into tasks for [Run]. An error of the list becomes a task without URLs, which
// fails with that error.
func Tasks(items iter.Seq2[manifest.Item, error]) iter.Seq[Task] {
	if items == nil {
		return nil
	}
	return func(yield func(Task) bool) {
		for item, err := range items {
			if !yield(Task{Item: item, err: err}) {
				return
			}
		}
	}
}

// Event is something that happens in a run. Its Kind is one that package download has. Two kinds are also about a
// server or the run: download.Progress, regularly and at the end, for all files together; and download.Noted, with a
// Wait if the server sends nothing until what Text names is over, and an Err if Text is a warning.
type Event struct {
	// after Ended, Err is why the task failed; or Text is where a symbolic link leads that was not followed
	download.Event
	// Task is the same from Started to Ended, or nil if the event is about a server or the run. It tries the first URL.
	Task   *Task
	Result download.Result // after Ended, if Text is ""; with Err only Kept counts
	Totals Totals          // of the Progress of the run
	// Plan is what a run would do with the file: "fetch", "replace" or "leave". It is set after Ended with Options.Dry,
	// unless there is an Err or a Text. Result.Left says why, whatever the plan; Size is the size of the server's file,
	// or of what is left alone (-1 if it is unknown), and Resumed is how many of its bytes need no fetching.
	Plan string

	dir bool // Err is about a directory, which was not listed whole
}

// Totals is how far a run is.
type Totals struct {
	Files    int64 // found so far
	Complete int64 // files, those included that were complete before
	Failed   int64 // files
	Listing  int64 // directories that are not listed yet
	Unlisted int64 // directories that could not be listed whole
	// bytes in the parts of files that are not complete, from which a later run resumes
	Kept int64
}

// Run retrieves all tasks. options may be nil. It returns when they have ended, or soon after ctx has. The error is nil
// only if everything that was asked for is there; Options.Events says what failed. If the error is [download.ErrLocal],
// the ledger cannot be used, and nothing was retrieved, or a directory was renamed or removed by another program while
// files were saved in it. Run reads tasks while it works, only some thousands ahead, so there may be any number of
// them.
//
// Of two files with the same path Run retrieves only the first: a second with another URL, or with a size or digest that
// the first does not have, fails, and any other does not count. That takes some fifty bytes of memory a file, unless the
// only task is a tree.
//
// A Source with a method Tell(*urlparse.URL, ftpexec.Entry) is told about the files of the tasks, and nothing is
// fetched or made. One with LeftOut() int64 reports itself how many files it leaves out of its listings. If src has
// StatAll, as a [*ftpexec.Client] has, that saves round trips, and if it has CloseIdleConnections, Run makes room with
// it on servers that are full. A Client should have a MaxIdle of PerHost, or else Jobs, or else 64: with fewer, files
// log in anew. Run leaves the idle connections to the caller; see [ftpexec.Client.CloseIdleConnections].
func Run(
	ctx context.Context, src download.Source, tasks iter.Seq[Task], options *Options,
) (Totals, error) {
	var o Options
	if options != nil {
		o = *options
	}
	if err := o.check(src); err != nil {
		return Totals{}, err
	}
	b := &engine{
		Options: o, src: src, root: o.Each.Root, idle: make(map[string]glob.Guesses),
		group: &partfile.Group{
			Pause: 5 * time.Millisecond, Attempt: localfile.Attempt(ctx), Dry: o.Dry,
		},
	}
	b.group.Dirs.Keep = 16 // directories stay open that no file needs just now
	b.teller, _ = src.(teller)
	if o.Dry {
		o.Ledger = unwritten(o)
	}
	if o.Ledger != "" {
		if b.root == nil {
			return Totals{}, errNoRoot
		}
		l, err := ledger.Open(b.root, o.Ledger)
		if err != nil {
			return Totals{}, err
		}
		defer l.Close()
		b.group.Flush = l.Flush
		b.ledger = l
		if l.Ignored != nil {
			b.warn("%s (%d in all) is ignored: not a regular file that only this user may write",
				l.Ignored[0], len(l.Ignored))
		}
	}
	end := b.watch()
	schedule.Run(ctx, schedule.Options{
		Jobs: o.Jobs, PerHost: o.PerHost, Received: b.received.Load, Full: b.ceiling,
		Without: partfile.MostWaiting(),
		// a server that refuses every connection is worth more than a failure of one file
		Patience: 4 * retry.Count(o.Each.Retries),
	}, b.jobs(tasks), b.do)
	b.surveys(ctx)
	end()
	err := b.group.Dirs.Close()
	switch t := b.counts.Totals; {
	case b.counts.broken != nil:
		return t, b.counts.broken
	case err != nil && ctx.Err() == nil, t.Complete == t.Files && t.Listing+t.Unlisted == 0:
		return t, err
	case ctx.Err() != nil:
		return t, guard.Stop(ctx)
	default:
		return t, fmt.Errorf("%d of %d files are complete, and %d directories are not listed whole",
			t.Complete, t.Files, t.Listing+t.Unlisted)
	}
}

// check returns what is wrong with the options, whatever the tasks are.
func (o *Options) check(src download.Source) error {
	switch {
	case src == nil:
		return errors.New("there is no Source: write an *ftpexec.Client")
	case o.Jobs < 0 || o.PerHost < 0 || o.Timeout < 0:
		return errors.New("the limits of connections and time are negative " +
			"(Jobs, PerHost, Timeout): write 0 for none")
	case o.Ledger != "" &&
		(path.Base(o.Ledger) != o.Ledger || !strings.HasPrefix(o.Ledger, ledger.Name)):
		return fmt.Errorf("the Ledger %q is not read: write a name that begins with %s", o.Ledger,
			ledger.Name)
	}
	return optionsOf(o.Each, manifest.Item{}).Check()
}

var errNoRoot = fmt.Errorf(
	"nothing can be saved: Options.Each has no Root, which os.OpenRoot opens%.0w",
	download.ErrLocal)

// engine is the state of a run.
type engine struct {
	Options
	src    download.Source
	teller teller // not nil: nothing is retrieved
	root   *os.Root
	group  *partfile.Group
	lists  sums.Cache
	ledger *ledger.Ledger // nil: nothing is remembered
	paths  *claims.Paths  // nil: no two files can have the same
	trees  []*job

	trying sync.Mutex
	// by patterns of trees: what they may mean; nil once they match something
	idle map[string]glob.Guesses

	bare sync.Once // notes that a server lists only names

	telling  sync.Mutex
	received atomic.Int64 // bytes

	counting sync.Mutex
	counts   counts
}

func (b *engine) do(ctx context.Context, t *schedule.Turn[*job]) (v schedule.Verdict) {
	b.guard(func() {
		t.Value.settle()
		if t.Value.dir != nil {
			v = b.list(ctx, t)
		} else {
			v = b.file(ctx, t)
		}
	})
	return v
}

// guard makes a panic of f the error of the run.
func (b *engine) guard(f func()) {
	if err := guard.Do(func() error { f(); return nil }); err != nil {
		b.count(func(c *counts) { c.broken = err })
	}
}

func (b *engine) ceiling(host string, most int) {
	if most == 0 {
		b.notice(host + " refuses the only connection: waiting until it has room")
		return
	}
	b.detail(fmt.Sprintf("%s has too many connections: continuing with %d", host, most))
}

func (b *engine) tell(e Event) {
	if b.Events != nil {
		b.telling.Lock()
		defer b.telling.Unlock()
		b.guard(func() { b.Events(e) })
	}
}

// notice reports what the user must know: its Wait says so, whether or not the run waits for anything.
func (b *engine) notice(text string) {
	b.tell(Event{Event: download.Event{Kind: download.Noted, Text: text, Wait: pause}})
}

// detail reports what only explains the run.
func (b *engine) detail(text string) {
	b.tell(Event{Event: download.Event{Kind: download.Noted, Text: text}})
}

// warn reports something that is not about one task.
func (b *engine) warn(format string, args ...any) {
	b.tell(Event{Event: download.Event{Kind: download.Noted, Err: fmt.Errorf(format, args...)}})
}

func (j *job) failed(err error) Event {
	return Event{Event: download.Event{Err: err}, Task: j.Task, dir: j.dir != nil}
}

func (b *engine) ended(e Event) {
	e.Kind = download.Ended
	b.count(func(c *counts) {
		switch {
		case e.Text != "", e.Err != nil && e.dir: // list counts the directory
		case e.Err != nil:
			c.Failed++
		default:
			c.Complete++
		}
	})
	b.tell(e)
}

// closeIdle closes the connections without work: they may be for another login.
func (b *engine) closeIdle() {
	if src, ok := b.src.(interface{ CloseIdleConnections() }); ok {
		src.CloseIdleConnections()
	}
}

// freeFiles reports whether fewer jobs may help against err: this process may open no more files. Even a job alone has
// another try or two: freeFiles closes the connections without work, and the pipes that splice(2) has left are closed
// when they are collected.
func (b *engine) freeFiles(t *schedule.Turn[*job], err error) bool {
	alone := t.Alone()
	scarce := errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
	if !scarce || alone && t.Value.short == 2 {
		return false
	}
	if alone {
		t.Value.short++
	}
	b.closeIdle()
	runtime.GC()
	return true
}

// freeConnections reports whether the server may accept the connection once there are fewer, and then closes the idle
// ones. Not every server says so: some refuse the connection, or close it without a greeting. That is worth the retries
// of a file even if there is no other.
func (b *engine) freeConnections(t *schedule.Turn[*job], err error) bool {
	e, ok := errors.AsType[*ftpexec.Error](err)
	if !ok || t.GivenUp != nil {
		return false
	}
	times := 0
	if errors.Is(err, ftpexec.ErrLost) {
		times = retry.Count(b.Each.Retries)
	}
	crowded := errors.Is(err, ftpexec.ErrTooMany) || e.Stage == ftpexec.StageConnect && ftpexec.Retryable(err) &&
		t.MayBeFull(times)
	if crowded {
		b.closeIdle()
	}
	return crowded
}

func verdict(err error) schedule.Verdict {
	switch {
	case retry.NoService(err):
		return schedule.Unusable(err)
	case local(err):
		return schedule.Untouched
	}
	return schedule.Done
}

func local(err error) bool {
	return errors.Is(err, download.ErrLocal) || errors.As(err, new(*ftpexec.Error)) &&
		localfile.Failed(err)
}
