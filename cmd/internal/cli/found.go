package cli

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"time"

	"example.com/ftpfetch/cmd/internal/cli/config"
	"example.com/ftpfetch/cmd/internal/mirror"
	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// foundFirst finds the files of each URL, and retrieves them one by one, as if the command line had their URLs.
func (r *run) foundFirst(ctx context.Context) {
	for i, t := range r.Targets {
		r.current = i
		for _, u := range r.find(ctx, t) {
			if r.ended(ctx) {
				return
			}
			if u != t.URL && r.Tree.Newest == 1 {
				r.print.Tell("the newest is " + u.Redacted())
			}
			task := download.Task{URLs: []*urlparse.URL{u}, Sum: r.File.Sum}
			var err error
			if task.Path, err = r.path(u); err != nil {
				r.printError(u.Redacted(), err)
				continue
			}
			r.one(ctx, task)
		}
	}
}

// find returns the URLs of the files that a URL with a pattern, or of a tree, stands for, in the order of their names. It
// reports why there is none, and returns none if some directory could not be listed: files would be missing.
func (r *run) find(ctx context.Context, t config.Target) (files []*urlparse.URL) {
	if r.ended(ctx) {
		return nil
	}
	task, err := r.task(t)
	if err != nil {
		r.printErrorOf(ctx, t.URL, err)
		return nil
	}
	if task.Tree == nil { // a URL without a pattern
		return []*urlparse.URL{t.URL}
	}
	r.shown = r.print.Run("", -1, -1)
	tree := &mirror.Source{FullSource: r.source, Filter: r.FilterAt(time.Now())}
	found := &infos{run: r}
	o := r.options(ctx, tree, found)
	o.Each.Root = nil
	o.Ledger = ""
	o.Dry = false
	failed := false
	o.Events = func(e download.Event) {
		failed = failed || e.Kind == download.Ended && e.Err != nil
		if e.Kind != download.Progress {
			r.event(ctx, e)
		}
	}
	o.Info = func(u *urlparse.URL, _ ftpexec.Entry) { files = append(files, u) }
	o.LeftOut = tree.LeftOut
	totals, err := download.Run(ctx, tree, slices.Values([]download.Task{task}), o)
	r.shown.Stop()
	switch {
	case ctx.Err() != nil:
		r.interrupted(ctx)
		return nil
	case failed:
		return nil
	case err != nil:
		r.printErrorOf(ctx, t.URL, err)
		return nil
	case len(files) == 0:
		r.printErrorOf(ctx, t.URL, noneLeft(tree.LeftOut()+totals.LeftOut))
	}
	slices.SortFunc(files, func(a, b *urlparse.URL) int {
		return cmp.Or(slices.Compare(a.Dirs, b.Dirs), cmp.Compare(a.Name, b.Name))
	})
	return files
}

// noneLeft is the error of a URL that names no file to save. leftOut is how many files were left out.
func noneLeft(leftOut int64) error {
	if leftOut == 0 {
		return fmt.Errorf("no file in it%.0w", ftpexec.ErrNotFound)
	}
	return fmt.Errorf("%s left out by age or size, and there is no other%.0w",
		printable.Count(leftOut, "file is", "files are"), ftpexec.ErrNotFound)
}

// below returns the path of a file below the directory of its URL of the command line.
func (r *run) below(u *urlparse.URL) string {
	for _, t := range r.Targets {
		top := t.URL.Child("", "").Dirs
		if t.URL.SameLogin(u) && len(top) <= len(u.Dirs) && slices.Equal(top, u.Dirs[:len(top)]) {
			return path.Join(path.Join(u.Dirs[len(top):]...), u.Name)
		}
	}
	return u.Name
}
