// Package cli is the command ftpfetch as a function: [Run] takes its arguments and standard streams and returns its exit
// code. A program that wants files uses package download instead.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/cli/config"
	"example.com/ftpfetch/internal/cli/report"
	"example.com/ftpfetch/internal/cli/show"
	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/mirror"
	"example.com/ftpfetch/internal/network/proxy"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/internal/retry"
	"example.com/ftpfetch/internal/schedule"
	"example.com/ftpfetch/urlparse"
)

// IO holds the standard streams of a run. A stream is a terminal if it is an [*os.File] on one or if its method
// IsTerminal() bool returns true. Batch, if not nil, takes the place of batch.Run.
type IO struct {
	In       io.Reader
	Out, Err io.Writer
	Confine  bool // the process does nothing else: put it under Landlock
	Batch    func(context.Context, download.Source, iter.Seq[batch.Task], batch.Options) (batch.Totals, error)
}

// Standard returns the streams of the process.
func Standard() IO { return IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Confine: true} }

// Run runs the command with args, which exclude the program's name, and returns its exit code. It returns within two
// seconds after ctx ends: what still reads or writes then, because there is nobody at the other end, is left behind. If
// the cause is a [*SignalError], the exit code tells the signal.
func Run(ctx context.Context, args []string, stdio IO) int {
	c, err := config.Parse(args)
	r := newRun(c, stdio)
	defer r.watch(ctx)()
	go func() {
		r.execute(ctx, err)
		code := int(r.code.Load())
		if ctx.Err() != nil {
			code = exitCode(context.Cause(ctx))
		}
		r.left <- code
	}()
	return <-r.left
}

func newRun(c *config.Config, stdio IO) *run {
	p := show.New(stdio.Out, stdio.Err, Explain)
	p.Verbose, p.Quiet, p.Progress, p.Dir, p.Report = c.Verbose, c.Quiet, show.Mode(c.Progress), c.Dir, c.Report
	if len(c.Targets) == 1 {
		p.Tree = c.Targets[0].URL
	}
	return &run{Config: c, IO: stdio, print: p, left: make(chan int, 3), logins: newLogins(c, stdio.In, p.Alone), saved: make(map[string]bool)}
}

// execute does what the command line asks for; err says what is wrong with it.
func (r *run) execute(ctx context.Context, err error) {
	_, cancel := r.limit(ctx)
	defer cancel()
	switch {
	case err != nil:
	case r.Print != "":
		r.print.Print([]byte(config.Text(r.Print)))
	default:
		if err = disk.Room(); err == nil {
			err = r.connect()
		}
		if err == nil {
			cancel()
			r.all(ctx)
		}
	}
	if lost := r.print.Lost(); !r.told.Load() {
		err = cmp.Or(err, lost)
	}
	if bad, ok := errors.AsType[*config.Error](err); ok {
		for i, text := range bad.Lines {
			if i == len(bad.Lines)-1 && !bad.Whole {
				text += "; try ftpfetch --help"
			}
			r.print.Line("ftpfetch: %s", show.OneLine(text))
		}
		r.code.Store(exitUsage)
	} else {
		r.fail("", err)
	}
	r.print.Rest("")
}

type run struct {
	*config.Config
	IO
	print  *show.Printer
	left   chan int // receives the exit code, at most from the run, the end of its context and that of --max-time
	logins *logins
	via    *proxy.Proxy  // that --proxy or a variable names, or nil
	source mirror.Server // where files and listings come from
	slots  []string      // the directory of the slots of shared connections, if there are any

	lists  []*list
	made   []string // directories that open made for -d, the innermost first
	root   *os.Root // of many files
	report *report.File
	saved  map[string]bool // paths that lone files were saved under
	last   string          // the path of the last file that was saved; "-" is standard output
	at     int             // the one of Targets that is under way, if not Many
	gone   *urlparse.URL   // of -I: one whose server does not serve this run

	shown *show.Run
	code  atomic.Int32 // the exit code of the first failure
	told  atomic.Bool  // that standard output has lost something
	bare  sync.Once    // says that a listing has names alone
	lost  int64        // URLs that were not even tried
}

// all retrieves every URL, or tells what it was asked for about them.
func (r *run) all(ctx context.Context) {
	defer r.close()
	if r.Many || r.Long {
		// Of a million files the heap is a fixed list of a few bytes each and little else, which is worth being collected early. A
		// small heap is not: so most of it is never touched, and takes no memory.
		defer debug.SetGCPercent(debug.SetGCPercent(10))
		defer runtime.KeepAlive(make([]byte, 80<<20))
	}
	r.check(ctx)
	if r.code.Load() == exitOK {
		r.fail("", r.open())
	}
	if r.code.Load() != exitOK {
		return
	}
	r.fence(ctx)
	r.Client.MaxIdle = r.idle()
	defer func() { // nothing depends on its success
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_ = await(ctx, func() error { r.source.CloseIdleConnections(); return nil })
	}()
	switch {
	case r.Info && !r.Recursive && !r.Glob:
		r.infos(ctx)
	case r.Many && (!r.DryRun || r.Delete):
		r.many(ctx)
	default:
		for t := range r.tasks(ctx) {
			r.one(ctx, t)
		}
	}
	r.astray()
}

// idle returns how many connections the client keeps. For one thing it keeps none, and prepares nothing for a second.
func (r *run) idle() int {
	switch f := r.File; {
	case r.Info && !r.Recursive && !r.Glob:
		return 1
	case r.Many:
		return cmp.Or(r.PerHost, r.Jobs, config.MostJobs)
	case len(r.Targets) == 1 && !f.Newer && !f.Continue && !f.Verify && f.Segments == 1:
		return -1
	}
	return r.File.Segments
}

// fail reports a failure. The first one's exit code is that of the run.
func (r *run) fail(what string, err error) {
	if err != nil {
		r.print.Failed(what, err, "")
		r.fails(err)
	}
}

func (r *run) fails(err error) {
	r.code.CompareAndSwap(exitOK, int32(exitCode(err)))
	if lost := r.print.Lost(); lost != nil && errors.Is(err, lost) {
		r.told.Store(true)
	}
}

// ended reports whether the run goes no further: ctx has ended, or standard output has lost something.
func (r *run) ended(ctx context.Context) bool { return ctx.Err() != nil || r.print.Lost() != nil }

func (r *run) failed(ctx context.Context, u *urlparse.URL, err error) {
	r.fail(u.Redacted(), r.explained(ctx, u, err))
}

// explained replaces the error of an ended context by its cause, and adds a hint to the failure of a URL.
func (r *run) explained(ctx context.Context, u *urlparse.URL, err error) error {
	var local *localfile.Error
	switch {
	case err == nil:
		return nil
	case r.Output == "-" && errors.As(err, &local) && errors.Is(err, download.ErrLocal):
		local.Path = "standard output"
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		err = context.Cause(ctx)
	case errors.Is(err, schedule.ErrLate),
		// The limiter gives up early if it knows that the next bytes would come too late.
		r.MaxTime != 0 && errors.Is(err, context.DeadlineExceeded) && !as[*ftpexec.Error](err):
		err = r.tooLong()
	}
	if hint := r.hint(u, err); hint != "" {
		return &hinted{err, hint}
	}
	return err
}

// many retrieves lists and trees, and several URLs at once, or tells what is in trees. With --watch it looks again and again.
func (r *run) many(ctx context.Context) {
	for r.round(ctx); r.Watch > 0 && ctx.Err() == nil; r.round(ctx) {
		const awake = 30 * time.Second // clients and servers keep a connection without work for longer
		r.print.Again = true
		for left := r.Watch; left > 0 && ctx.Err() == nil; left -= awake {
			_ = retry.Wait(ctx, min(left, awake))
			_, _ = r.source.Stat(ctx, r.Targets[0].URL) // keeps the connection
		}
	}
}

func (r *run) round(ctx context.Context) {
	files, octets := r.known()
	r.shown = r.print.Run("", files, octets)
	r.File.Root = r.root
	tree := &mirror.Source{Server: r.source, MinAge: r.MinAge, Newer: r.NewerThan}
	tasks := r.tasks(ctx)
	if r.Delete {
		tree.Trees = slices.Collect(tasks)
		tasks = slices.Values(tree.Trees)
	}
	tell, rest := &teller{Source: tree, run: r}, ""
	if r.Watch == 0 {
		rest = "; the same command fetches the rest"
	}
	o := batch.Options{Jobs: r.Jobs, PerHost: r.PerHost, Each: r.File, Timeout: r.MaxTime, Events: func(e batch.Event) { r.event(ctx, e) }}
	switch shard := r.Reading.Shard; {
	case r.NoLedger, r.Info:
	case shard[1] != 0:
		o.Ledger = fmt.Sprintf(".ftpfetch-ledger-%d-of-%d", shard[0], shard[1])
	default:
		o.Ledger = ".ftpfetch-ledger"
	}
	from := r.source
	switch {
	case r.Info:
		from = tell
		rest = ""
	case r.DryRun:
		from = mirror.Listing{Source: tree}
		rest = ""
	case r.Delete, r.MinAge > 0, !r.NewerThan.IsZero():
		from = tree
	}
	if r.Batch == nil {
		r.Batch = batch.Run
	}
	totals, err := r.Batch(localfile.WithReport(ctx, r.report.Info()), from, tasks, o)
	switch {
	case ctx.Err() != nil:
		r.print.Failed("", context.Cause(ctx), rest)
	case errors.Is(err, download.ErrLocal):
		r.fail("", err)
		if totals == (batch.Totals{}) {
			return
		}
	case err != nil:
		r.code.CompareAndSwap(exitOK, exitOther)
	}
	if r.Info {
		tell.end(ctx, err == nil)
		return
	}
	totals.Files += r.lost
	totals.Failed += r.lost
	if !r.DryRun {
		r.shown.End(totals)
	}
	if n := tree.LeftOut(); n > 0 && !r.print.Again {
		r.print.Tell("left out by age: " + printable.Count(n, "file", "files"))
	}
	if r.Delete && ctx.Err() == nil {
		r.delete(ctx, tree, err == nil)
	}
}

// delete deletes what the server no longer has of the trees, if all of them are whole.
func (r *run) delete(ctx context.Context, s *mirror.Source, whole bool) {
	if !whole {
		r.print.Warn("nothing is deleted: not all of the tree was listed and fetched")
		return
	}
	n, did := int64(0), cmp.Or(map[bool]string{r.Backup: "moved to .ftpfetch-trash: ", r.DryRun: "would delete "}[true], "deleted ")
	tell := func(name string) {
		n++
		switch name = filepath.Join(r.Dir, name); {
		case !r.DryRun:
			r.print.Tell(did + printable.Line(name))
		case show.IsTerminal(r.print.Out):
			name = printable.Line(name)
			fallthrough
		default:
			r.print.Print([]byte(name + "\n"))
		}
	}
	d := mirror.Deletion{Root: r.root, Most: max(0, cmp.Or(r.MaxDelete, 100)), Backup: r.Backup, Dry: r.DryRun, Tell: tell}
	r.fail("", s.Delete(ctx, d))
	if n > 0 {
		r.print.Tell(did + printable.Count(n, "file", "files") + " that the server no longer has")
	}
}

// event shows an event. The end of a task it explains and reports.
func (r *run) event(ctx context.Context, e batch.Event) {
	switch {
	case r.Info && (e.Kind == download.Progress || e.Kind == download.Ended && e.Err == nil && e.Text == ""):
		return
	case e.Kind == download.Noted && e.Err != nil && e.Wait == 0:
		r.print.Warn(e.Err.Error())
		return
	case e.Kind == download.Ended:
		if errors.Is(e.Err, ftpexec.ErrLogin) {
			r.logins.forget()
		}
		if e.Err = r.explained(ctx, e.Task.URLs[0], e.Err); e.Err == nil && e.Result.Left == "" && r.root == nil {
			r.saved[e.Task.Path] = true
			r.created()
		}
		if e.Err == nil && e.Result.Left == "" && e.Text == "" {
			r.last = e.Task.Path
		}
		r.fails(e.Err)
		r.reports(e)
	}
	r.shown.Event(e)
}
