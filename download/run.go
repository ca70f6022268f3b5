package download

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/download/internal/claims"
	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/download/internal/sums"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/ftpexec/retry"
	"example.com/ftpfetch/internal/glob"
	"example.com/ftpfetch/internal/guard"
	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/local/ledger"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/schedule"
	"example.com/ftpfetch/urlparse"
)

// RunOptions changes how [Run] retrieves files.
type RunOptions struct {
	// Jobs is how many files are fetched and directories listed at once; 0 means that Run finds the number by trying,
	// and more than 64 are of no use. PerHost is how many connections to one server are used at once; 0 means no
	// limit. If a server refuses a connection because it has too many, Run uses fewer.
	Jobs, PerHost int
	// Ledger is the name of a file under Each.Root in which Run records the verified files, or "". It must begin with
	// ".ftpfetch-ledger". Run reads all files with such names. If it cannot write its own, it warns once and goes on
	// without it. Runs beside each other with the same Root and Ledger read the records once.
	Ledger string
	// Each applies to every file. Without a Root nothing can be saved; Run changes nothing outside Root. Run refuses
	// the fields Size and Sum, which each Task has, and Events and Commit, in whose place RunOptions.Events tells of
	// all files.
	//
	// If no file is waiting, the connections that are free help with the files under way, until each has its Segments
	// or PerHost is reached; Jobs does not limit them. A file with several URLs is then fetched from several servers
	// at once.
	Each Options
	// Timeout bounds the time for one URL of a file or directory, retries and the pauses between them included; 0 means
	// no limit. The time in the queue does not count. If a file returns to the queue because the server is full, its
	// time starts anew.
	Timeout time.Duration
	// Dry makes Run find out what it would do with each file, and report that in the Plan of the file's last event. Run
	// fetches nothing and does not change the disk. Without a Root, Run assumes an empty directory.
	Dry bool
	// Check makes Run compare the files under Root with those on the server, and report in the Plan of each file's
	// last event how they differ. It fetches nothing and does not change the disk, and ignores Each.Existing. In the
	// local directory of each directory of a tree that it has listed whole, it also looks for files that the server
	// lacks, except those that the Tree leaves out and those that Run gives names of its own.
	Check bool
	// Hides, if not nil, is for a Source that hides some files of a tree, and for Check: it reports whether the Source
	// has hidden this name from the listing of dir, or would hide a file that is like the one here.
	Hides func(dir *urlparse.URL, name string, here fs.FileInfo) bool
	// Info, if not nil, is called for each file in place of fetching it, with the Entry from a listing or else from the
	// server. Then Run saves nothing. Its calls do not overlap, nor do they with those of Events.
	Info func(u *urlparse.URL, e ftpexec.Entry)
	// LeftOut, if not nil, is for a Source that hides some files of a tree, for example by a pattern: it returns how
	// many files it has hidden so far. Without it, a tree in which Run finds no file to fetch is an error; with
	// hidden files it is none.
	LeftOut func() int64
	// Once leaves out each file that the ledger has, even if the file is gone, unless the server's has another size or
	// time now. Result.Left is then [LeftBefore]. Run asks the server for what a listing does not tell, and takes what
	// the server does not tell for unchanged. A Task with a Sum needs no server. With Each.Verify, only a file that was
	// verified counts. If the ledger cannot be written, the file fails. Once needs a Ledger, and Run refuses it with
	// Overwrite.
	Once bool
	// Done, if not nil, is called for each file that has its name and is on the disk, before it counts as complete. The
	// file fails with its error. There are at most Jobs calls at the same time, or four if Jobs is 0; Timeout does not
	// count them, and the context ends with that of Run.
	//
	// With a Ledger, if Done fails for a file, or the process is killed before it has returned, the next Run with Done
	// calls it again, and fetches the file again only if it is gone, even with Once. For other files that were complete before, Run does not call Done. While a Run with Done works, another Run
	// with the same Ledger fails. Run does not call Done for a file that goes to a Writer.
	Done func(ctx context.Context, t *Task, r Result) error
	// Report, if not nil, is a file that the caller writes while Run works, which no task may replace.
	Report fs.FileInfo
	// MakeWay, if not nil, is called for a file of a tree where the server has a directory now, or the reverse. It
	// removes what is at the path, relative to Root, or returns an error, which is that of the task. If Dry is set,
	// it only says whether it would. Its calls do not overlap, nor do they with those of Events. Without MakeWay the
	// task fails.
	MakeWay func(path string) error
	// Finish, if not nil, is called once all tasks have ended, with the error that Run would return now. After it,
	// Run once more looks up by name the directories that it saved files in, so that Finish may take long.
	Finish func(err error)
	// Events, if not nil, is called for each event. Calls do not overlap, and there are none after Run has returned.
	Events func(Event)
}

// Task is something to retrieve: a file or, if Tree is not nil, the contents of the directory URLs[0], saved below
// Path.
type Task struct {
	URLs []*urlparse.URL // where the file is, in order of preference; not empty
	Path string          // where to save it: slash-separated, below Each.Root
	Size *int64          // the size that it must have, in bytes; nil means any
	Sum  digest.Sum      // the digest that it must have; the zero value means any
	Line int             // for the caller, such as the line of a list; Run does not use it
	Tree *Tree
	// Writer, if not nil, gets the bytes of the file as they arrive, as [To] writes them. Then Run saves
	// nothing, and Path is only a name for the file.
	Writer io.Writer

	err error // an error in the list, in place of a task
}

// TaskOf returns the task for an item of a list.
func TaskOf(item manifest.Item) Task {
	return Task{URLs: item.URLs, Path: item.Path, Size: item.Size, Sum: item.Sum, Line: item.Line}
}

// Tasks turns what [manifest.Read] yields into tasks for [Run]. An error of the list becomes a task without URLs, which
// fails with that error.
func Tasks(items iter.Seq2[manifest.Item, error]) iter.Seq[Task] {
	if items == nil {
		return nil
	}
	return func(yield func(Task) bool) {
		for item, err := range items {
			task := TaskOf(item)
			task.err = err
			if !yield(task) {
				return
			}
		}
	}
}

// Totals counts what a run has done so far.
type Totals struct {
	Files    int64 // found so far
	Complete int64 // files, including those that were complete before
	Failed   int64 // files
	Listing  int64 // directories that are not listed yet
	Unlisted int64 // directories that could not be listed whole
	LeftOut  int64 // files of trees that are older than those that Tree.Newest wants
	// Kept is how many bytes are in parts, from which a later run can resume.
	Kept int64
}

// Run retrieves all tasks. options may be nil. It returns when all have ended, or soon after ctx has ended. The error
// is nil only if every file is complete and every directory was listed whole; RunOptions.Events reports each failure.
// The error is [ErrLocal] if the ledger of another run cannot be read, and then nothing was retrieved, or if another
// program renamed or removed a directory while Run saved files in it. Run reads only some thousands of tasks ahead,
// so there may be any number of them.
//
// Of two files with the same path Run retrieves only the first. The second fails if it has another URL, or a size or
// digest that the first does not have; otherwise Run ignores it. If a directory takes the names of two files for one,
// as those that ignore the case of letters do, the second fails too. To find such files, Run takes some fifty bytes
// of memory for each file, unless the only task is a tree.
//
// Run saves round trips with a [FullSource]. A Client's MaxIdle should be PerHost, or else Jobs, or else 64; if it is
// less, Run logs in more often. Idle connections stay open after Run; see [ftpexec.Client.CloseIdleConnections].
func Run(ctx context.Context, src Source, tasks iter.Seq[Task], options *RunOptions) (Totals, error) {
	var o RunOptions
	if options != nil {
		o = *options
	}
	if err := o.check(src); err != nil {
		return Totals{}, err
	}
	o.Dry = o.Dry || o.Check
	b := newEngine(ctx, src, o)
	if o.Dry {
		o.Ledger = unwritten(o)
		o.Done = nil
	}
	if o.Ledger != "" {
		if b.root == nil {
			return Totals{}, errNoRoot
		}
		l, err := b.openLedger(o.Ledger, o.Done != nil)
		if err != nil {
			return Totals{}, err
		}
		defer l.Close()
		b.group.Flush = func() error { return b.unrecorded(l.Flush()) }
		b.ledger = l
	}
	b.group.Begin(b.root)
	defer b.group.End()
	end := b.watch()
	schedule.Run(ctx, schedule.Options{
		Jobs: o.Jobs, Spare: mostSegments(o.Each.Segments), PerHost: o.PerHost,
		Received: b.received.Load, Full: b.ceiling,
		Without: partfile.MostWaiting(), Busy: b.group.Expect,
		// giving up a server costs more than the failure of one file
		Patience: 4 * retry.Count(o.Each.Retries),
	}, b.jobs(tasks), b.do)
	b.tellUnrecorded()
	b.tellExtras(ctx)
	b.surveys(ctx)
	end()
	err := b.outcome(ctx)
	if o.Finish != nil {
		o.Finish(err)
		err = cmp.Or(b.outcome(ctx), err)
	}
	return b.counts.Totals, err
}

// openLedger opens the ledgers, and the one called name alone if alone is set. It warns about those that are not
// trusted. With Once, which would retrieve again what a ledger of this user says, it refuses them.
func (b *engine) openLedger(name string, alone bool) (*ledger.Ledger, error) {
	open := ledger.Open
	if alone {
		open = ledger.OpenAlone
	}
	l, err := open(b.root, name)
	if err != nil || l.Ignored == nil {
		return l, err
	}
	for _, ignored := range l.Ignored {
		info, err := b.root.Lstat(ignored)
		if b.Once && err == nil && info.Mode().IsRegular() && disk.Ours(info) {
			l.Close()
			const why = "other users can write to this ledger, so what it says was retrieved is not trusted: " +
				"look through it, then run chmod go-w "
			return nil, &localfile.Error{Path: ignored, Reason: why + ignored}
		}
	}
	b.warn("%s (%d in all) is ignored: not a regular file that only this user may write", l.Ignored[0], len(l.Ignored))
	return l, nil
}

// outcome returns the error of Run when all tasks have ended.
func (b *engine) outcome(ctx context.Context) error {
	err := b.group.Dirs.Close()
	switch t := b.counts.Totals; {
	case b.counts.broken != nil:
		return b.counts.broken
	case err != nil && ctx.Err() == nil, t.Complete == t.Files && t.Listing+t.Unlisted == 0:
		return err
	case ctx.Err() != nil:
		return guard.Stop(ctx)
	default:
		return fmt.Errorf("%d of %d files are complete, and %d directories are not listed whole",
			t.Complete, t.Files, t.Listing+t.Unlisted)
	}
}

// newEngine returns the state of a run before it begins. Some directories stay open for the next file.
func newEngine(ctx context.Context, src Source, o RunOptions) *engine {
	b := &engine{
		RunOptions: o, src: full(src), root: o.Each.Root, unmatched: make(map[string]glob.Guesses),
		cleared:   make(map[string]bool),
		spellings: &disk.Spellings{Root: o.Each.Root, Dry: o.Dry},
		group:     &partfile.Group{Attempt: o.Each.Attempt, Dry: o.Dry},
	}
	b.group.Dirs.Keep = 16
	b.group.Dirs.Passing = o.Once || o.Done != nil
	b.doing = make(chan struct{}, cmp.Or(o.Jobs, 4))
	return b
}

// check returns an error if the options are wrong, whatever the tasks.
func (o *RunOptions) check(src Source) error {
	switch {
	case src == nil:
		return errors.New("there is no Source: write an *ftpexec.Client")
	case o.Jobs < 0 || o.PerHost < 0 || o.Timeout < 0:
		return errors.New("the limits of connections and time are negative " +
			"(Jobs, PerHost, Timeout): write 0 for the defaults")
	case o.Ledger != "" &&
		(path.Base(o.Ledger) != o.Ledger || !strings.HasPrefix(o.Ledger, ledger.Name)):
		return fmt.Errorf("the Ledger %q is not read: write a name that begins with %s", o.Ledger,
			ledger.Name)
	case o.Once && (o.Ledger == "" || o.Each.Existing == Overwrite):
		return errors.New("the option Once needs a Ledger, which says what was fetched, and contradicts Overwrite: " +
			"write a Ledger, and another Existing")
	}
	if e := &o.Each; e.Size != nil || e.Sum.Algorithm != "" || e.Events != nil || e.Commit != nil {
		return errors.New("RunOptions.Each has a Size, Sum, Events or Commit, which has no effect: " +
			"Size and Sum belong into a Task, and RunOptions.Events tells of all files")
	}
	return o.Each.check()
}

var errNoRoot = fmt.Errorf(
	"nothing can be saved: RunOptions.Each has no Root, which os.OpenRoot opens%.0w",
	ErrLocal)

// engine is the state of a run.
type engine struct {
	RunOptions
	src          FullSource
	root         *os.Root
	group        *partfile.Group
	lists        sums.Cache
	ledger       *ledger.Ledger // nil if there is none
	closing      sync.Map       // addresses of servers that have closed the last connection without a greeting
	logins       logins
	noLedger     atomic.Pointer[error] // why the ledger cannot be written: it gets no more records; nil if it can
	toldNoLedger sync.Once
	doing        chan struct{} // has an element for each call of Done
	paths        *claims.Paths // nil if no two files can have the same path
	// spellings finds out where two spellings of a name are one file.
	spellings *disk.Spellings
	trees     []*job
	extras    extras
	ahead     ahead

	clearing sync.Mutex
	cleared  map[string]bool // paths for which a dry run would make way

	trying sync.Mutex
	// unmatched maps each pattern of the trees to guesses why it matches nothing; nil once it has matched.
	unmatched map[string]glob.Guesses

	bare sync.Once // notes that a server lists only names

	telling  sync.Mutex
	received atomic.Int64 // bytes received

	counting sync.Mutex
	counts   counts
}

func (b *engine) do(ctx context.Context, t *schedule.Turn[*job]) (v schedule.Verdict) {
	b.guard(func() {
		t.Value.makeTask()
		ctx, visit := b.logins.visiting(ctx, t.Value.url())
		defer visit.leave()
		if t.Value.chooses || t.Value.dir != nil || b.Info != nil {
			b.admit(ctx, t) // a file may need no server
		}
		switch {
		case t.Value.chooses:
			v = b.choose(ctx, t)
		case t.Value.dir != nil:
			v = b.list(ctx, t)
		default:
			v = b.file(ctx, t)
		}
	})
	return v
}

// guard calls f and turns a panic into the error of the run.
func (b *engine) guard(f func()) {
	if err := guard.Do(func() error { f(); return nil }); err != nil {
		b.count(func(c *counts) { c.broken = err })
	}
}

// ceiling tells how many connections a host takes; 0 means not even one now.
func (b *engine) ceiling(host string, most int) {
	_, closes := b.closing.Load(host)
	switch {
	case host == schedule.ThisMachine:
		b.detail(fmt.Sprintf("too many files are open here: continuing with %d connections", most))
		return
	case most == 0 && closes:
		b.notice(host + " closes the only connection before its greeting: trying again")
		return
	case most == 0:
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

// notice reports what the user must know.
func (b *engine) notice(text string) {
	b.tell(Event{Kind: Noted, Text: text})
}

// detail reports what only explains the run.
func (b *engine) detail(text string) {
	b.tell(Event{Kind: Noted, Text: text, Detail: true})
}

// warn reports a warning that is not about one task.
func (b *engine) warn(format string, args ...any) {
	b.tell(Event{Kind: Noted, Err: fmt.Errorf(format, args...)})
}

func (j *job) ending(err error) Event {
	return Event{Err: err, Task: j.Task, dir: j.dir != nil}
}

func (b *engine) ended(e Event) {
	b.tellUnrecorded()
	e.Kind = Ended
	b.count(func(c *counts) {
		switch {
		case e.Text != "", e.Err != nil && e.dir: // method list counts the directory
		case e.Err != nil:
			c.Failed++
		default:
			c.Complete++
		}
	})
	b.tell(e)
}

// freeFiles reports whether err means that this process has too many open files, so that fewer jobs may help. A job
// that runs alone gets two more tries, because freeFiles frees some: it closes idle connections, and collects the
// garbage to close the pipes left by splice(2).
func (b *engine) freeFiles(t *schedule.Turn[*job], err error) bool {
	alone := t.Alone()
	scarce := errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
	if !scarce || t.Value.written || alone && t.Value.short == 2 {
		return false
	}
	if alone {
		t.Value.short++
	}
	b.src.CloseIdleConnections()
	runtime.GC()
	return true
}

// freeConnections reports whether the server may accept the connection once it has fewer, and closes the idle ones.
// Not every server replies that it has too many: some refuse the connection, or close it without a greeting. After
// the latter it may also have none to give, as a balancer with no server behind it: without RetryUnreached such a
// connection is tried again retry.MostClosed times.
func (b *engine) freeConnections(t *schedule.Turn[*job], err error) bool {
	e, ok := errors.AsType[*ftpexec.Error](err)
	if !ok || t.GivenUp != nil {
		return false
	}
	times := 0
	if e.Stage == ftpexec.StageConnect && errors.Is(err, ftpexec.ErrLost) {
		if !b.Each.RetryUnreached { // or else the job has tried again itself
			times = min(retry.MostClosed, retry.Count(b.Each.Retries))
		}
		b.closing.Store(t.Value.url().Address(), true)
	} else {
		b.closing.Delete(t.Value.url().Address())
	}
	crowded := errors.Is(err, ftpexec.ErrTooMany) || e.Stage == ftpexec.StageConnect && ftpexec.Retryable(err) &&
		t.MayBeFull(times)
	if crowded { // those of other logins too, which this task cannot use
		b.src.CloseIdleConnections()
	}
	return crowded
}

// verdict says what the outcome of a job means for the others of its host.
func verdict(err error) schedule.Verdict {
	_, givenUp := errors.AsType[*schedule.GivenUp](err)
	switch {
	case givenUp:
		return schedule.Untouched
	case retry.NoService(err):
		return schedule.Unusable(err)
	case local(err):
		return schedule.Untouched
	}
	return schedule.Done
}

// local reports whether err comes from this machine, so that it says nothing about the server.
func local(err error) bool {
	return errors.Is(err, ErrLocal) || errors.As(err, new(*ftpexec.Error)) &&
		localfile.Failed(err)
}
