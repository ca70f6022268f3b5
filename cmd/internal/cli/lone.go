package cli

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"example.com/ftpfetch/cmd/internal/cli/show"
	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/schedule"
	"example.com/ftpfetch/urlparse"
)

// one retrieves one URL as a run of one task, or prints its plan or its listing. All of that must end within
// --max-time.
func (r *run) one(ctx context.Context, t download.Task) {
	ctx, cancel := r.limit(ctx)
	defer cancel()
	u := t.URLs[0]
	if r.Long {
		u = u.Child("", "") // as if the URL ended in "/"
	}
	switch {
	case r.DryRun:
		r.printErrorOf(ctx, u, r.commands(u))
	case u.IsDir() && t.Path == "-":
		err := r.listDir(ctx, u, t.Tree, r.print.Out, show.IsTerminal(r.print.Out))
		err = r.explained(ctx, t.URLs[0], r.noDirectory(ctx, t.URLs[0], err))
		r.printError(t.URLs[0].Redacted(), err)
		end := download.Event{Err: err, Task: &t}
		end.Result.Size = -1
		r.reports(end)
	default:
		r.shown = r.print.Run(t.Path, 1, -1)
		r.event(ctx, download.Event{Kind: download.Started, Task: &t})
		r.event(ctx, r.fetchOne(ctx, &t, u))
	}
}

// fetchOne retrieves u for the task t, and returns the event that reports the outcome.
func (r *run) fetchOne(ctx context.Context, t *download.Task, u *urlparse.URL) download.Event {
	end := download.Event{Kind: download.Ended, Task: t}
	from := download.Source(beforeNext{r.source, r})
	each := withoutSum(r.File)
	if u.IsDir() {
		from = listing{r.source, r, t.Tree}
		each = download.Options{Retries: -1}
		if !r.Compares() { // a listing has no time and no size to compare
			each.Existing = r.File.Existing
		}
	}
	if r.Range != nil {
		if end.Err = r.partly(u, t.Path); end.Err != nil {
			return end
		}
		from = r.ranged(from, r.Range, &each)
	}
	work := *t
	work.URLs = []*urlparse.URL{u}
	work.Tree = nil
	done, err := r.openTarget(ctx, &work, &each)
	if err != nil {
		end.Err = err
		return end
	}
	hint := autoHint{off: work.Writer != nil || each.Segments != 1 || !r.print.Watched(), tell: r.print.Tell}
	o := download.RunOptions{Jobs: 1, PerHost: r.PerHost, Each: each, Report: r.report.Info()}
	o.Events = func(e download.Event) {
		hint.see(e)
		switch {
		case e.Kind == download.Ended:
			end.Result = e.Result
			end.Err = e.Err
		case e.Kind == download.Started, e.Task == nil && e.Kind == download.Progress:
		case e.Task != nil:
			e.Task = t
			fallthrough
		default:
			r.event(ctx, e)
		}
	}
	totals, err := download.Run(ctx, from, slices.Values([]download.Task{work}), &o)
	err = cmp.Or(err, done())
	if givenUp, ok := errors.AsType[*schedule.GivenUp](end.Err); ok {
		end.Err = givenUp.Unwrap()
	}
	end.Err = cmp.Or(end.Err, err)
	end.Result.Kept = max(end.Result.Kept, totals.Kept)
	return end
}

// autoHint mentions -s auto once, if a file will take minutes over one connection.
type autoHint struct {
	tell  func(string)
	off   bool      // it has been mentioned, or must not be
	began time.Time // of the transfer
	from  int64     // bytes that were there then
}

// see looks at an event of the transfer.
func (h *autoHint) see(e download.Event) {
	if e.Kind == download.Progress && h.due(time.Now(), e.Done, e.Total) {
		h.tell("this takes minutes: -s auto may be faster, with several connections")
	}
}

// due reports, once, that a transfer of total bytes will take some more minutes. It needs ten seconds to find out.
func (h *autoHint) due(now time.Time, done, total int64) bool {
	if h.began.IsZero() {
		h.began = now
		h.from = done
	}
	elapsed := now.Sub(h.began)
	if h.off || elapsed < 10*time.Second || total < 64<<20 || done <= h.from {
		return false
	}
	left := float64(total-done) / float64(done-h.from) * elapsed.Seconds()
	h.off = left >= 120
	return h.off
}

// beforeNext is the source of a lone file that other URLs of the command line may follow.
type beforeNext struct {
	download.Source
	run *run
}

// Do tells the source whether a file of the same login follows.
func (f beforeNext) Do(ctx context.Context, req *ftpexec.Request) (*ftpexec.Response, error) {
	again := *req
	again.More = func() bool {
		next := f.run.Targets[f.run.current+1:]
		return len(next) > 0 && next[0].URL.SameLogin(req.URL) && !next[0].URL.IsDir()
	}
	return f.Source.Do(ctx, &again)
}

// openTarget sets in a task where its file goes: to standard output, to a device or FIFO, or below a root. The caller
// calls done when everything is written.
func (r *run) openTarget(ctx context.Context, t *download.Task, o *download.Options) (done func() error, err error) {
	if t.Path == "-" {
		t.Writer = r.print.Out
		if show.IsTerminal(r.print.Out) {
			t.Writer = readable(r.print.Out)
		}
		return func() error { return nil }, nil
	}
	device, done, err := openDevice(ctx, t.Path)
	if device != nil || err != nil {
		t.Writer = device
		return done, err
	}
	dir, name := filepath.Split(t.Path)
	o.Root, err = os.OpenRoot(cmp.Or(dir, "."))
	if err != nil {
		return nil, disk.NoDirectory(cmp.Or(dir, "."), err)
	}
	t.Path = name
	return o.Root.Close, nil
}
