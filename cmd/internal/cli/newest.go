package cli

import (
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

// newest retrieves the newest file of each URL (--newest 1 with -o), as if the URL were that of the file.
func (r *run) newest(ctx context.Context) {
	for i, t := range r.Targets {
		if r.ended(ctx) {
			return
		}
		r.current = i
		u := r.newestOf(ctx, t)
		if u == nil {
			continue
		}
		if u != t.URL {
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

// newestOf returns the URL of the newest file of a URL with a pattern or of a tree. It reports why there is none, and
// returns nil then, or if some directory could not be listed: a file in it may be newer.
func (r *run) newestOf(ctx context.Context, t config.Target) (u *urlparse.URL) {
	task, err := r.task(t)
	if err != nil {
		r.printErrorOf(ctx, t.URL, err)
		return nil
	}
	if task.Tree == nil { // a URL without a pattern
		return t.URL
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
	o.Info = func(file *urlparse.URL, _ ftpexec.Entry) { u = file }
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
	case u == nil:
		r.printErrorOf(ctx, t.URL, noneLeft(tree.LeftOut()+totals.LeftOut))
	}
	return u
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
