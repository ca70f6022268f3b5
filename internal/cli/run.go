package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/cli/config"
	"example.com/ftpfetch/internal/cli/show"
	"example.com/ftpfetch/internal/proxy"
	"example.com/ftpfetch/urlparse"
)

// run is one run of the command.
type run struct {
	*config.Config
	watchdog
	in       io.Reader // standard input
	confined bool      // IO.Confine
	logins   *logins
	via      *proxy.Proxy // that --proxy or a variable names, or nil
	source   batch.Source // where files and listings come from

	lists  []*list
	made   []string // directories that open made for -d, the innermost first
	root   *os.Root // of many files
	report *os.File
	saved  map[string]bool // paths that lone files were saved under

	shown *show.Run
	mu    sync.Mutex
	code  int   // the exit code of the first failure
	lost  int64 // URLs that were not even tried
}

// all retrieves every URL, or tells what it was asked for about them. The end of ctx
// ends the run, and so does a closed or blocked standard output.
func (r *run) all(ctx context.Context) {
	defer r.forget()
	if r.Many || r.Info {
		if r.check(ctx); r.code != exitOK {
			return
		}
	}
	defer r.close()
	if err := r.open(); err != nil {
		r.fail("", err)
		return
	}
	r.fence(ctx)
	defer r.keepConnections(ctx)()
	switch {
	case r.Info:
		r.infos(ctx)
	case r.Many && r.DryRun:
		r.plans(ctx)
	case r.Many:
		r.many(ctx)
	default:
		for i := range r.Targets {
			if err := r.one(ctx, i); ctx.Err() != nil || outputClosed(err) {
				break
			}
		}
	}
}

// keepConnections says how many connections the client keeps. For one thing it keeps
// none, and sends nothing for the sake of a second.
func (r *run) keepConnections(ctx context.Context) (done func()) {
	const goodbye = time.Second // nothing depends on its success
	switch f := r.File; {
	case r.Info:
		r.Client.MaxIdle = 1
	case r.Many:
		r.Client.MaxIdle = cmp.Or(r.PerHost, r.Jobs, config.MostJobs)
	case len(r.Targets) == 1 && !f.Newer && !f.Continue && !f.Verify && f.Segments == 1:
		r.Client.MaxIdle = -1
	default:
		r.Client.MaxIdle = f.Segments
	}
	return func() {
		ctx, cancel := context.WithTimeout(ctx, goodbye)
		defer cancel()
		_, _ = await(ctx, func() (any, error) { r.source.CloseIdleConnections(); return nil, nil })
	}
}

// fail reports a failure. The first one's exit code is that of the run.
func (r *run) fail(what string, err error) {
	if err != nil {
		r.print.Failed(what, err, "")
		r.fails(err)
	}
}

func (r *run) fails(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.code = cmp.Or(r.code, exitCode(err))
}

// failed reports the failure of a URL before or without a transfer, if err is one.
func (r *run) failed(ctx context.Context, u *urlparse.URL, err error) error {
	err = r.explained(ctx, u, err)
	r.fail(u.Redacted(), err)
	return err
}

// explained replaces the error of an ended context by its cause, and adds to the
// failure of a URL what the user may have expected.
func (r *run) explained(ctx context.Context, u *urlparse.URL, err error) error {
	var server *ftpexec.Error
	var local *download.Error
	switch {
	case err == nil:
		return nil
	case r.Output == "-" && errors.As(err, &local) && errors.Is(err, download.ErrLocal):
		local.Path = "standard output"
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		err = context.Cause(ctx)
	case errors.Is(err, batch.ErrLate),
		// The limiter gives up early if it knows that the next bytes would come too late.
		r.MaxTime != 0 && errors.Is(err, context.DeadlineExceeded) && !errors.As(err, &server):
		err = &tooLong{r.MaxTime}
	}
	return r.hintFailure(ctx, u, err)
}

// one retrieves one URL of the command line, with all of --max-time for it.
func (r *run) one(ctx context.Context, at int) error {
	ctx, cancel := r.limit(ctx, r.MaxTime)
	defer cancel()
	u, err := r.complete(ctx, r.Targets[at])
	if err != nil {
		r.fail("", err) // the error shows the URL itself
		return err
	}
	listed := u.IsDir() || r.Long // -l of a file fails with the listing
	switch {
	case r.DryRun:
		return r.failed(ctx, u, r.plan(u))
	case listed && (r.File.Verify || r.File.Sum.Algorithm != ""):
		return r.failed(ctx, u, config.Usage("--checksum and --verify are for files, but the URL names a directory"))
	case listed && (r.Output == "" || r.Output == "-"):
		return r.failed(ctx, u, r.listDir(ctx, u, r.print.Out, show.IsTerminal(r.print.Out)))
	}
	path, err := r.path(u)
	if err != nil {
		return r.failed(ctx, u, err)
	}
	o := batch.Options{Each: r.File}
	if path == "-" {
		o.Out = r.print.Out
	}
	var from batch.Source = first{r.source, r, at}
	if listed {
		from, o.Each = listing{r.source, r}, download.Options{Existing: r.File.Existing, Retries: -1}
	}
	r.shown = r.print.Lone(u, path)
	o.Events = func(e batch.Event) {
		if r.event(ctx, e); e.Kind == batch.Ended {
			err = e.Err
		}
	}
	item := manifest.Item{URLs: []*urlparse.URL{u}, Path: path, Sum: r.File.Sum}
	_, _ = batch.Run(ctx, from, slices.Values([]batch.Task{{Item: item}}), o)
	return err
}

// first is the source of one URL after another.
type first struct {
	batch.Source
	run *run
	at  int // of Config.Targets
}

// Do says whether a file of the same server follows.
func (f first) Do(ctx context.Context, req *ftpexec.Request) (*ftpexec.Response, error) {
	again := *req
	again.More = func() bool {
		next := f.run.Targets[f.at+1:]
		return len(next) > 0 && next[0].Err == nil && next[0].URL.Scheme == req.URL.Scheme && next[0].URL.Address() == req.URL.Address() &&
			!next[0].URL.IsDir()
	}
	return f.Source.Do(ctx, &again)
}

// HashNames tells package download that NAME.part may be one of the files.
func (f first) HashNames() bool { return len(f.run.Targets) > 1 }

// many retrieves lists and trees, and several URLs at once.
func (r *run) many(ctx context.Context) {
	// The heap of many files is a fixed list of a few bytes a file and little else,
	// which is worth being collected early.
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	r.shown = r.print.Run(r.known())
	ledger := ".ftpfetch-ledger"
	if shard := r.Reading.Shard.String(); shard != "" {
		ledger += "-" + strings.Replace(shard, "/", "-of-", 1)
	}
	totals, err := batch.Run(ctx, r.source, r.tasks(ctx), batch.Options{
		Jobs: r.Jobs, PerHost: r.PerHost, Root: r.root, Ledger: ledger, Each: r.File, Timeout: r.MaxTime,
		Mixed: len(r.lists)+len(r.Targets) > 1, Events: func(e batch.Event) { r.event(ctx, e) },
	})
	if err != nil {
		r.fail("", err)
		return
	}
	totals.Files, totals.Failed = totals.Files+r.lost, totals.Failed+r.lost
	if ctx.Err() != nil {
		r.print.Failed("", context.Cause(ctx), "; the same command fetches the rest")
	} else if !totals.Whole() {
		r.code = cmp.Or(r.code, exitOther)
	}
	r.shown.End(totals)
}

// event shows an event. The end of a task it explains and reports.
func (r *run) event(ctx context.Context, e batch.Event) {
	if e.Kind == download.Noted && e.Err != nil {
		r.print.Warning(e.Err.Error())
		return
	}
	if e.Kind == batch.Ended {
		if errors.Is(e.Err, ftpexec.ErrLogin) {
			r.logins.forget()
		}
		if e.Err = r.explained(ctx, e.URL, e.Err); e.Err == nil && e.Result.Left == "" && r.root == nil {
			r.saved[e.Task.Path] = true
		}
		r.fails(e.Err)
		if r.report != nil {
			if _, err := r.report.Write(reportRow(r.Report, e)); err != nil {
				r.fail("", localError(r.Report, "cannot be written", err))
				r.report.Close()
				r.report = nil
			}
		}
	}
	r.shown.Event(e)
}

// plans prints what would be sent for each file.
func (r *run) plans(ctx context.Context) {
	for t := range r.tasks(ctx) {
		if r.fail(t.URLs[0].Redacted(), r.plan(t.URLs[0])); ctx.Err() != nil {
			return
		}
	}
}

func (r *run) plan(u *urlparse.URL) error {
	plan, err := ftpexec.Plan(u)
	var text strings.Builder
	for _, c := range plan {
		text.WriteString(c.String() + "\n")
	}
	if err == nil {
		_, err = io.WriteString(r.print.Out, text.String())
	}
	return err
}
