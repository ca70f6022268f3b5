package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"example.com/ftpfetch/cmd/internal/cli/report"
	"example.com/ftpfetch/cmd/internal/mirror"
	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/ledger"
	"example.com/ftpfetch/internal/timing"
)

// many retrieves lists, trees or several URLs at once, or tells what is in trees. With --watch it repeats that.
func (r *run) many(ctx context.Context) {
	for r.round(ctx); r.watches(ctx); r.round(ctx) {
		const awake = 30 * time.Second // less than the idle timeout of clients and servers
		for left := r.Watch; left > 0 && r.watches(ctx); left -= awake {
			_ = timing.Wait(ctx, min(left, awake))
			_, err := r.source.Stat(ctx, r.Targets[0].URL) // keeps the connection open
			if errors.Is(err, ftpexec.ErrLogin) {
				r.printErrorOf(ctx, r.Targets[0].URL, err)
			}
		}
	}
	r.interrupted(ctx)
}

// watches reports whether the run looks again. After a refused login it does not: servers lock out clients that try too
// often.
func (r *run) watches(ctx context.Context) bool {
	return r.Watch > 0 && ctx.Err() == nil && !r.loginRefused.Load()
}

// interrupted reports once why ctx has ended, if it has, and what fetches the rest.
func (r *run) interrupted(ctx context.Context) {
	if ctx.Err() == nil || r.endReported {
		return
	}
	r.endReported = true
	advice := "; the same command fetches the rest"
	if r.Watch > 0 || r.Info || r.DryRun {
		advice = ""
	}
	r.print.Failed("", context.Cause(ctx), advice)
}

// round retrieves everything once.
func (r *run) round(ctx context.Context) {
	files, octets := r.known()
	growFast(files)
	r.shown = r.print.Run("", files, octets)
	r.File.Root = r.root
	tree := &mirror.Source{FullSource: r.source, Filter: r.FilterAt(time.Now()), Dates: r.Info}
	tasks := r.tasks(ctx)
	if r.Delete {
		tree.Trees = slices.Collect(tasks)
		tasks = slices.Values(tree.Trees)
	}
	found := &infos{run: r}
	totals, err := r.engine(ctx, r.from(tree), tasks, r.options(ctx, tree, found))
	switch {
	case ctx.Err() != nil:
		r.interrupted(ctx)
	case errors.Is(err, download.ErrLocal):
		r.printError("", err)
		if totals == (download.Totals{}) {
			return
		}
	case err != nil:
		r.code.CompareAndSwap(exitOK, exitOther)
	}
	if r.Info {
		r.shown.Stop()
		found.end(ctx, err == nil)
		return
	}
	totals.Files += r.untried
	totals.Failed += r.untried
	switch {
	case r.DryRun:
		r.shown.Stop()
		r.endPlan(ctx, totals.Failed+totals.Unlisted, tree.LeftOut(), totals.LeftOut)
	case r.Watch > 0 && ctx.Err() != nil: // the round was cut short
		r.shown.Stop()
	default:
		r.shown.End(totals, tree.LeftOut())
	}
}

// withoutSum returns o without the digest, which each Task has.
func withoutSum(o download.Options) download.Options {
	o.Sum = digest.Sum{}
	return o
}

// options returns the options for many files.
func (r *run) options(ctx context.Context, tree *mirror.Source, found *infos) *download.RunOptions {
	o := &download.RunOptions{
		Jobs:    r.Jobs,
		PerHost: r.PerHost,
		Each:    withoutSum(r.File),
		Timeout: r.MaxTime,
		Ledger:  r.ledger(),
		Dry:     r.DryRun,
		Check:   r.Check,
		Report:  r.report.Info(),
		Events:  func(e download.Event) { r.event(ctx, e) },
	}
	o.Once = r.Once && o.Ledger != "" // a dry run may have no directory yet
	if r.Info {
		o.Info = found.add
	}
	if r.runner.Load() != nil {
		o.Done = r.exec
	}
	if r.from(tree) == tree {
		o.LeftOut = tree.LeftOut
		o.Hides = tree.Hides
	}
	if r.Delete && !r.Info {
		o.Finish = func(err error) {
			if ctx.Err() == nil {
				r.delete(ctx, tree, err == nil)
			}
		}
	}
	if r.Delete && r.root != nil {
		way := &mirror.Way{Source: tree, Deletion: r.deletion()}
		o.MakeWay = way.Make
	}
	return o
}

// ledger returns the name of the ledger of the output directory, or "" for none. Each shard of a list has its own.
func (r *run) ledger() string {
	shard := r.Reading.Shard
	switch {
	case r.NoLedger, r.Info, r.DryRun && r.root == nil:
		return ""
	case shard.Of != 0:
		return fmt.Sprintf("%s-%d-of-%d", ledger.Name, shard.Number, shard.Of)
	}
	return ledger.Name
}

// from returns the source of many files: tree if it has to see the listings first.
func (r *run) from(tree *mirror.Source) download.FullSource {
	if r.Info || r.Delete || tree.Filter != (mirror.Filter{}) {
		return tree
	}
	return r.source
}

// delete deletes the files of the trees that the server no longer has, if all trees were listed completely.
func (r *run) delete(ctx context.Context, s *mirror.Source, whole bool) {
	switch {
	case !whole:
		r.print.Warn("nothing deleted: the tree was not listed and fetched completely")
		return
	case r.root == nil: // a dry run without a local directory
		return
	}
	err := s.Delete(ctx, r.deletion())
	if ctx.Err() == nil {
		r.printError("", err)
	}
}

// deletion says how to delete, as the flags say.
func (r *run) deletion() mirror.Deletion {
	return mirror.Deletion{
		Root:     r.root,
		Most:     r.MaxDelete,
		Backup:   r.Backup,
		Dry:      r.DryRun,
		Excluded: r.Excluded,
		Tell:     r.deleted,
	}
}

// deleted reports a file that the server no longer has.
func (r *run) deleted(g mirror.Gone) {
	if r.DryRun {
		r.step(step{Action: "delete", Size: &g.Size, Reason: g.Why}, g.Path, g.URL)
		return
	}
	done := "deleted "
	if r.Backup {
		done = "moved to .ftpfetch-trash: "
	}
	name := filepath.Join(r.Dir, g.Path)
	u := g.URL.WithoutPassword()
	r.shown.Deleted(done, u.Redacted(), name)
	if r.report != nil {
		size := json.Number(strconv.FormatInt(g.Size, 10))
		r.reported(r.report.Write(report.Row{Version: 1, URL: u.String(), Path: name, Status: "deleted", Size: size}))
	}
}
