// Package cli is the command ftpfetch as a function: [Run] takes its arguments and standard streams and returns its
// exit code. A program that wants files should use package download instead.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ftpfetch/cmd/internal/cli/commands"
	"example.com/ftpfetch/cmd/internal/cli/config"
	"example.com/ftpfetch/cmd/internal/cli/report"
	"example.com/ftpfetch/cmd/internal/cli/show"
	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/ftpexec/retry"
	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/network/proxy"
	"example.com/ftpfetch/internal/schedule"
	"example.com/ftpfetch/urlparse"
)

// IO holds the standard streams of a run. A stream is a terminal if it is an [*os.File] that is one, or if its method
// IsTerminal() bool returns true.
type IO struct {
	In       io.Reader
	Out, Err io.Writer
	Confine  bool // the process does nothing else: confine it with Landlock
}

// Standard returns the streams of the process.
func Standard() IO { return IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Confine: true} }

// Engine takes the tasks of a run, as download.Run does.
type Engine func(
	context.Context, download.Source, iter.Seq[download.Task], *download.RunOptions,
) (download.Totals, error)

// Run runs the command with args, which exclude the program's name, and returns its exit code. It returns within two
// seconds after ctx ends, and leaves behind reads and writes that nobody answers. If the cause is a [*SignalError], the
// exit code names the signal.
func Run(ctx context.Context, args []string, stdio IO) int {
	return RunWith(ctx, args, stdio, download.Run)
}

// RunWith is Run with another engine for lists, trees and several URLs. A fleet sends the tasks to its workers.
func RunWith(ctx context.Context, args []string, stdio IO, engine Engine) int {
	if len(args) == 1 && (args[0] == completeFlag || args[0] == fillFlag) {
		return complete(ctx, args[0], stdio)
	}
	if len(args) == 1 && args[0] == execFlag {
		return keepCommands(stdio)
	}
	log.SetOutput(io.Discard) // net/http and others would write into what is shown
	c, err := config.Parse(args)
	r := newRun(c, stdio)
	r.engine = engine
	defer r.watch(ctx)()
	go func() {
		r.execute(ctx, err)
		code := int(r.code.Load())
		if ctx.Err() != nil {
			code = exitCode(context.Cause(ctx))
		}
		r.exit <- code
	}()
	return <-r.exit
}

func newRun(c *config.Config, stdio IO) *run {
	p := show.New(stdio.Out, stdio.Err, Explain)
	p.Flags = c.Flags
	p.Dir = c.Dir
	p.Report = c.Report
	p.Rounds = c.Watch > 0
	if len(c.Targets) == 1 {
		p.Tree = c.Targets[0].URL
	}
	return &run{
		Config: c,
		IO:     stdio,
		print:  p,
		exit:   make(chan int, 3),
		logins: newLogins(c, stdio.In, p.Alone),
		saved:  make(map[string]bool),
		plan:   plan{totals: make(map[string]int64)},
	}
}

// execute does what the command line asks for; err is the error of parsing it.
func (r *run) execute(ctx context.Context, err error) {
	_, cancel := r.limit(ctx) // what comes before the first URL may hang too, on a pipe or a terminal
	defer cancel()
	if err == nil {
		err = r.obey(ctx, cancel)
	}
	if !r.lossReported.Load() {
		err = cmp.Or(err, r.print.Lost())
	}
	if bad, ok := errors.AsType[*config.Error](err); ok {
		r.refuse(bad)
	} else {
		r.printError("", err)
	}
	r.print.Rest("")
}

// obey carries out a valid command line. It calls ready before the first URL, because each URL has its own --max-time.
func (r *run) obey(ctx context.Context, ready func()) error {
	if r.Print != "" {
		r.print.Print([]byte(config.Text(r.Print)))
		return nil
	}
	for _, note := range r.Notes {
		r.print.Tell(note)
	}
	if err := disk.Room(); err != nil {
		return err
	}
	if err := r.connect(); err != nil {
		return err
	}
	ready()
	r.all(ctx)
	return nil
}

// refuse prints what is wrong with the command line.
func (r *run) refuse(bad *config.Error) {
	lines := slices.Clone(bad.Lines)
	if !bad.Whole {
		lines[len(lines)-1] += "; try ftpfetch --help"
	}
	for _, text := range lines {
		r.print.Line("ftpfetch: %s", show.OneLine(text))
	}
	r.code.Store(exitUsage)
}

// run is one run of the command.
type run struct {
	*config.Config
	IO
	engine  Engine // takes the tasks of several files
	print   *show.Printer
	exit    chan int // receives the exit code: of the run, when its context ends, or when --max-time is over for a URL
	logins  *logins
	via     *proxy.Proxy        // the proxy that --proxy or a variable names, or nil
	source  download.FullSource // where files and listings come from
	charset *charset            // the charset of names on servers; nil: names are not converted
	slots   []string            // the directory of the slots of shared connections, if any

	lists     []*list
	made      []string                        // directories that open made for -d, the innermost first
	root      *os.Root                        // directory of many files
	locked    *os.File                        // root, while no other run may mirror to it
	runner    atomic.Pointer[commands.Runner] // runs the commands of --exec; nil without that
	report    *report.File
	saved     map[string]bool // paths that lone files were saved under
	lastSaved string          // the path of the last file that was saved; "-" is standard output
	current   int             // index of the current one of Targets, if not Many
	silent    *urlparse.URL   // for -I: a URL whose server does not serve this run

	zoneless bool // a time without a known zone was shown

	shown        *show.Run
	plan         plan         // the plan of a dry run of many files
	uncompared   comparison   // what --check could not compare
	endReported  bool         // the interruption was reported
	code         atomic.Int32 // the exit code of the first failure
	lossReported atomic.Bool  // the loss of output was reported
	loginRefused atomic.Bool  // a login was refused for good
	listed       int          // number of directories that -l has listed
	namesAlone   sync.Once    // reports that a listing has only names
	looks        atomic.Int32 // how often the run has looked for similar names
	untried      int64        // number of URLs that were not even tried
}

// all retrieves every URL, or prints what was asked about them.
func (r *run) all(ctx context.Context) {
	defer r.close()
	r.checkInput(ctx)
	if r.code.Load() == exitOK {
		r.printError("", r.open())
	} else {
		r.tellNothing()
	}
	if r.code.Load() != exitOK {
		return
	}
	r.fence(ctx)
	r.Client.MaxIdle = r.idle()
	if (r.Recursive || r.Glob && !r.Matches || r.DryRun) && show.IsTerminal(r.print.Out) {
		r.Human = true
	}
	defer r.hangUp(ctx)
	switch {
	case r.asks():
		r.infos(ctx)
	case r.FindsFirst():
		r.foundFirst(ctx)
	case r.Many:
		r.many(ctx)
	default:
		for t := range r.tasks(ctx) {
			r.one(ctx, t)
		}
	}
	r.saysWhere()
	if r.zoneless {
		r.print.Tell("times without Z are the server's local time, whose zone it does not tell")
	}
}

// asks reports whether the run only asks about files (-I), and does not list trees to do so.
func (r *run) asks() bool { return r.Info && !r.Recursive && !r.Glob && r.Tree.Newest == 0 }

// hangUp closes the idle connections. It takes at most a second, because nothing depends on it.
func (r *run) hangUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = await(ctx, func() error {
		r.source.CloseIdleConnections()
		return nil
	})
}

// idle returns how many idle connections the client keeps; -1 means none. A run with one request keeps none, and
// prepares no second request.
func (r *run) idle() int {
	f := r.File
	switch {
	case r.asks():
		return 1
	case r.Many:
		return cmp.Or(r.PerHost, r.Jobs, config.MostJobs)
	case r.Matches: // several directories may have to be listed
		return 1
	case len(r.Targets) == 1 && !r.FindsFirst() && !r.Compares() && !f.Verify && f.Segments == 1 && r.Range == nil:
		return -1
	}
	return max(1, f.Segments) // with -s auto, the connection that brings the end of the file is kept
}

// printError reports a failure. The exit code of the first failure is that of the run.
func (r *run) printError(what string, err error) {
	if err != nil {
		r.print.Failed(what, err, "")
		r.setExitCode(err)
	}
}

func (r *run) setExitCode(err error) {
	code := int32(exitCode(err))
	r.code.CompareAndSwap(exitOK, code)
	if r.Watch > 0 && code == exitLogin && !errors.Is(err, ftpexec.ErrTooMany) {
		r.code.Store(code)
		r.loginRefused.Store(true)
	}
	if lost := r.print.Lost(); lost != nil && errors.Is(err, lost) {
		r.lossReported.Store(true)
	}
}

// ended reports whether the run must stop: ctx has ended, or standard output has lost data.
func (r *run) ended(ctx context.Context) bool { return ctx.Err() != nil || r.print.Lost() != nil }

func (r *run) printErrorOf(ctx context.Context, u *urlparse.URL, err error) {
	r.printError(u.Redacted(), r.explained(ctx, u, err))
}

// explained replaces the error of an ended context by its cause, and adds a hint to the error of a URL. For that it may
// list a directory on the server, for at most lookAround: see near.
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
		// The limiter gives up early if the next bytes would come too late.
		r.MaxTime != 0 && errors.Is(err, context.DeadlineExceeded) && !as[*ftpexec.Error](err):
		err = r.tooLong()
	}
	hint := cmp.Or(r.emptySegment(u, err), r.hintOfOutput(err))
	if hint == "" {
		hint = r.near(ctx, u, err) // this may ask the server
	}
	if hint == "" {
		hint = cmp.Or(r.hint(u, err), hintFor(err))
	}
	if hint == "" {
		return err
	}
	return &hinted{err, r.whole(hint)}
}

// event shows an event. For the end of a task, it also adds the hint, and writes the report.
func (r *run) event(ctx context.Context, e download.Event) {
	switch {
	case e.Plan != "":
		r.planned(e)
		return
	case r.hides(e):
		return
	case e.Kind == download.Noted && e.Err != nil && e.Wait == 0:
		r.print.Warn(e.Err.Error())
		return
	case e.Kind == download.Ended:
		e.Err = r.explained(ctx, e.Task.URLs[0], e.Err)
		if r.Range != nil {
			e.Result.Kept = 0 // a part of a file is not resumed
		}
		r.finish(e)
	}
	r.shown.Event(e)
}

// hides reports whether an event is not shown, because the run only shows what the server tells.
func (r *run) hides(e download.Event) bool {
	switch e.Kind {
	case download.Progress:
		return r.Info || r.DryRun
	case download.Ended:
		return r.Info && e.Err == nil && e.Text == ""
	case download.Noted: // such as that -l --newest reads no deeper directory
		return r.Info && r.Long && e.Err == nil
	}
	return false
}

// finish records how a task has ended.
func (r *run) finish(e download.Event) {
	if errors.Is(e.Err, ftpexec.ErrLogin) {
		r.logins.forget()
	}
	if e.Err == nil && r.root == nil {
		r.saved[e.Task.Path] = true // also if the file existed: another URL stands for another file
	}
	if e.Err == nil && e.Result.Left == "" {
		if r.root == nil {
			r.created()
		}
		if e.Text == "" {
			r.lastSaved = e.Task.Path
		}
	}
	r.setExitCode(e.Err)
	r.reports(e)
}

func (r *run) again(ctx context.Context, f func() error) error {
	tell := func(err error, try int, wait time.Duration) {
		r.print.Tell(fmt.Sprintf("%s; trying again in %.1f s (%d of %d)",
			show.OneLine(err.Error()), wait.Seconds(), try, retry.Count(r.File.Retries)))
	}
	policy := retry.Policy{Retries: r.File.Retries, Unreached: r.File.RetryUnreached, Tell: tell}
	return retry.New(policy).Do(ctx, f)
}
