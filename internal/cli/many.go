package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/internal/cli/show"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/mirror"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/internal/retry"
)

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

// round retrieves everything once.
func (r *run) round(ctx context.Context) {
	files, octets := r.known()
	r.shown = r.print.Run("", files, octets)
	r.File.Root = r.root
	tree := &mirror.Source{Server: r.source, Filter: r.Filter}
	tasks := r.tasks(ctx)
	if r.Delete {
		tree.Trees = slices.Collect(tasks)
		tasks = slices.Values(tree.Trees)
	}
	tell := &teller{Source: tree, run: r}
	reported := localfile.WithReport(ctx, r.report.Info())
	totals, err := r.Batch(reported, r.from(tree, tell), tasks, r.options(ctx))
	switch {
	case ctx.Err() != nil:
		r.print.Failed("", context.Cause(ctx), r.advice())
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
		r.print.Tell("left out by age or size: " + printable.Count(n, "file", "files"))
	}
	if r.Delete && ctx.Err() == nil {
		r.delete(ctx, tree, err == nil)
	}
}

// options returns how a batch fetches many files.
func (r *run) options(ctx context.Context) batch.Options {
	return batch.Options{
		Jobs:    r.Jobs,
		PerHost: r.PerHost,
		Each:    r.File,
		Timeout: r.MaxTime,
		Ledger:  r.ledger(),
		Events:  func(e batch.Event) { r.event(ctx, e) },
	}
}

// ledger returns the name of the ledger of the output directory, or "" for none. Each share of a list has its own.
func (r *run) ledger() string {
	shard := r.Reading.Shard
	switch {
	case r.NoLedger, r.Info:
		return ""
	case shard[1] != 0:
		return fmt.Sprintf(".ftpfetch-ledger-%d-of-%d", shard[0], shard[1])
	}
	return ".ftpfetch-ledger"
}

// from returns where the files of many come from: with what is done with listings before, if anything is.
func (r *run) from(tree *mirror.Source, tell *teller) mirror.Server {
	switch {
	case r.Info:
		return tell
	case r.DryRun:
		return mirror.Listing{Source: tree}
	case r.Delete, r.Filter != (mirror.Filter{}):
		return tree
	}
	return r.source
}

// advice says after an interruption what fetches the rest.
func (r *run) advice() string {
	if r.Watch > 0 || r.Info || r.DryRun {
		return ""
	}
	return "; the same command fetches the rest"
}

// delete deletes what the server no longer has of the trees, if all of them are whole.
func (r *run) delete(ctx context.Context, s *mirror.Source, whole bool) {
	if !whole {
		r.print.Warn("nothing deleted: the tree was not listed and fetched completely")
		return
	}
	done := "deleted "
	switch {
	case r.DryRun:
		done = "would delete "
	case r.Backup:
		done = "moved to .ftpfetch-trash: "
	}
	n := int64(0)
	tell := func(name string) {
		n++
		r.named(done, filepath.Join(r.Dir, name))
	}
	r.fail("", s.Delete(ctx, mirror.Deletion{
		Root:   r.root,
		Most:   max(0, cmp.Or(r.MaxDelete, 100)),
		Backup: r.Backup,
		Dry:    r.DryRun,
		Tell:   tell,
	}))
	if n > 0 {
		r.print.Tell(done + printable.Count(n, "file", "files") + " that the server no longer has")
	}
}

// named names a file that the server no longer has. What --dry-run would delete are data, which other programs read.
func (r *run) named(done, name string) {
	switch {
	case !r.DryRun:
		r.print.Tell(done + printable.Line(name))
	case show.IsTerminal(r.print.Out):
		r.print.Print([]byte(printable.Line(name) + "\n"))
	default:
		r.print.Print([]byte(name + "\n"))
	}
}
