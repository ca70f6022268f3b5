package batch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/internal/decide"
	"example.com/ftpfetch/download/internal/fetch"
	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/schedule"
	"example.com/ftpfetch/internal/timing"
	"example.com/ftpfetch/urlparse"
)

// file saves a file, unless its target may stay.
func (b *engine) file(ctx context.Context, t *schedule.Turn[*job]) schedule.Verdict {
	j := t.Value
	if b.teller != nil {
		return b.ask(ctx, t)
	}
	if b.Dry {
		return b.plan(ctx, t)
	}
	bounded, cancel := b.bound(ctx)
	defer cancel()
	result, begun, err := b.save(bounded, t)
	_, givenUp := errors.AsType[*schedule.GivenUp](err)
	switch {
	case b.freeFiles(t, err):
		return schedule.Short
	case givenUp:
		return b.next(ctx, j, result, err, schedule.Untouched)
	case errors.Is(err, partfile.ErrBusy):
		return b.wait(ctx, t, err)
	case !begun:
		return b.end(ctx, j, result, err, schedule.Untouched)
	case err == nil:
		return b.end(ctx, j, result, nil, schedule.Done)
	case j.Writer == nil && b.freeConnections(t, err):
		return schedule.Full(err)
	case j.link != "" && namesNoFile(err):
		b.leadsNowhere(j)
		return schedule.Done
	}
	return b.next(ctx, j, result, err, verdict(err))
}

// namesNoFile reports whether err means that the URL does not name a file.
func namesNoFile(err error) bool {
	return errors.Is(err, ftpexec.ErrNotFound) || errors.Is(err, ftpexec.ErrIsDirectory)
}

// leadsNowhere takes a file out of the counts because a symbolic link to it leads to no file, and reports the link as
// not followed.
func (b *engine) leadsNowhere(j *job) {
	b.count(func(c *counts) {
		c.Files--
		c.unsized--
	})
	j.in.withSurvey(func(h *survey) {
		h.wanted--
		h.links++
	})
	b.skipLink(j, j.link)
}

// save fetches a file, unless its target may stay. begun reports whether save used the server.
func (b *engine) save(
	ctx context.Context, t *schedule.Turn[*job],
) (result download.Result, begun bool, err error) {
	j := t.Value
	m := &meter{engine: b, sized: j.size() >= 0}
	f := b.fetchOf(t, m)
	if j.Writer == nil {
		if b.root == nil {
			return result, false, errNoRoot
		}
		f.Place, err = b.group.Find(b.root, j.Path)
		if err != nil {
			f.Place, err = b.findAgain(ctx, j, err)
		}
		if err != nil {
			return result, false, err
		}
		defer func() { f.Place.Close(err != nil) }()
		if err = localfile.IsReport(ctx, f.Place.Path, f.Place.Info); err != nil {
			return result, false, err
		}
	}
	f.Begin = func() error {
		switch {
		case t.GivenUp != nil:
			return t.GivenUp
		case !begun:
			begun = true
			b.tell(Event{Event: download.Event{Kind: download.Started}, Task: j.Task})
		}
		return nil
	}
	var fetched fetch.Result
	if j.Writer == nil {
		fetched, err = fetch.File(ctx, f)
	} else if err = f.Begin(); err == nil {
		f.Many = false // a Writer's bytes cannot be taken back, so the file gets no other turn
		fetched, err = fetch.To(ctx, f, j.Writer, j.Path)
	}
	result = download.Result(fetched)
	m.end(result, err)
	return result, begun, err
}

// fetchOf returns the fetch.Job for the file of a turn, without Place and Begin.
func (b *engine) fetchOf(t *schedule.Turn[*job], m *meter) fetch.Job {
	j := t.Value
	f := fetch.Job{
		Options: optionsOf(b.Each, j.Item),
		Source:  b.src,
		URL:     j.url(),
		Lists:   &b.lists,
		Many:    true,
		Wanted:  t.Wanted,
		Follows: t.Follows,
		Arrived: t.Release,
		Tell:    func(e fetch.Event) { b.tell(Event{Event: m.event(e), Task: j.Task}) },
	}
	spare := &spareConnections{turn: t, urls: j.URLs, used: map[*urlparse.URL]int{j.url(): 1}}
	f.Further = spare.next
	f.Freed = spare.free
	if j.in != nil {
		f.Listed = decide.Stamp{Size: j.listed, Time: j.modTime}
		f.Relist = func(ctx context.Context) (int64, error) { return b.relist(ctx, j) }
	}
	if b.ledger != nil {
		f.Record = func(newest time.Time, info fs.FileInfo) *fetch.Record {
			return b.recorded(j, newest, info)
		}
		f.Commit = func(r fetch.Result, told time.Time) error { return b.record(j, download.Result(r), told) }
		f.Compared = func(r fetch.Result, told time.Time) error {
			return b.group.Record(func() error { return b.record(j, download.Result(r), told) })
		}
	}
	return f
}

// optionsOf returns the fetch.Options for one item.
func optionsOf(o download.Options, item manifest.Item) fetch.Options {
	return fetch.Options{
		Flags:   decide.Flags{Existing: decide.Existing(o.Existing), NoResume: o.NoResume, Verify: o.Verify},
		Retries: o.Retries, Segments: o.Segments,
		Size: item.Size, Sum: item.Sum, Limit: o.Limit,
	}
}

// relist lists the directory of a file again, and returns the size that the file has now.
func (b *engine) relist(ctx context.Context, j *job) (int64, error) {
	for e, err := range b.src.Entries(ctx, j.in.url()) {
		switch {
		case err != nil && !errors.Is(err, ftpexec.ErrLine):
			return -1, err
		case err == nil && path.Base(e.Name) == j.name:
			j.listed = e.Size
			return e.Size, nil
		}
	}
	return -1, fmt.Errorf("%s: %w: its directory no longer lists it", j.url().Redacted(),
		ftpexec.ErrChanged)
}

// teller is a Source that wants the entries of files, not the files. Run calls Tell with each entry from the listings,
// or asks the server for entries that the listings lack.
type teller interface {
	Tell(u *urlparse.URL, e ftpexec.Entry)
}

func (b *engine) tells(j *job, e ftpexec.Entry) {
	j.in.withSurvey(func(h *survey) { h.wanted++ })
	b.count(func(c *counts) { c.file(e.Size); c.Complete++ })
	b.telling.Lock()
	defer b.telling.Unlock()
	j.settle()
	b.teller.Tell(j.url(), e)
}

func (b *engine) ask(ctx context.Context, t *schedule.Turn[*job]) schedule.Verdict {
	j := t.Value
	bounded, cancel := b.bound(ctx)
	defer cancel()
	err := t.GivenUp
	var e ftpexec.Entry
	if err == nil {
		err = b.again(bounded, func() (err error) { e, err = b.src.Stat(bounded, j.url()); return err })
	}
	if b.freeConnections(t, err) {
		return schedule.Full(err)
	}
	if err == nil {
		b.telling.Lock()
		b.teller.Tell(j.url(), e)
		b.telling.Unlock()
	}
	return b.end(ctx, j, download.Result{}, err, verdict(err))
}

const pause = time.Second

// wait releases the connection, pauses, and queues the file again, because another run is writing it. That run will
// complete the file, or leave a part to resume from.
func (b *engine) wait(ctx context.Context, t *schedule.Turn[*job], err error) schedule.Verdict {
	j := t.Value
	if !j.waited {
		b.notice(err.Error() + "; waiting for it")
	}
	j.waited = true
	t.Release()
	_ = timing.Wait(ctx, pause)
	if ctx.Err() != nil {
		return b.end(ctx, j, download.Result{}, err, schedule.Untouched)
	}
	return schedule.Untouched.Then(j.url().Address())
}

// next queues the file with its next URL after err. If there is none, or if another URL cannot help, the file has
// failed.
func (b *engine) next(ctx context.Context, j *job, has download.Result, err error,
	v schedule.Verdict) schedule.Verdict {
	if local(err) || len(j.URLs) == 1 || j.Writer != nil && has.Size > 0 {
		b.count(func(c *counts) { c.Kept += has.Kept })
		return b.end(ctx, j, has, err, v)
	}
	j.URLs = j.URLs[1:]
	b.detail(err.Error() + "; trying " + j.url().Redacted())
	return v.Then(j.url().Address())
}

// end reports the outcome of a file. If the run was interrupted, the file counts neither as complete nor as failed.
func (b *engine) end(ctx context.Context, j *job, result download.Result, err error,
	v schedule.Verdict) schedule.Verdict {
	if err == nil || ctx.Err() == nil {
		e := j.failed(err)
		e.Result = result
		b.ended(e)
	}
	return v
}

// skipLink ends an entry that is not followed: a link, or a special file; what says what it is or where it leads.
func (b *engine) skipLink(j *job, what string) {
	b.ended(Event{Event: download.Event{Text: what}, Task: j.Task})
}

func (b *engine) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if b.Timeout == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, b.Timeout, schedule.ErrLate)
}

// event counts the bytes that an event reports, and returns the event for the caller of Run.
func (m *meter) event(e fetch.Event) download.Event {
	kind := download.Noted
	if e.Progress {
		kind = download.Progress
		if m.started {
			m.received.Add(max(0, e.Done-m.last))
		}
		m.count(func(c *counts) { m.reach(c, e.Done, e.Total) })
		m.started = true
	}
	return download.Event{Kind: kind, Text: e.Text, Done: e.Done, Total: e.Total, Err: e.Err,
		Wait: e.Wait}
}

// meter counts the bytes of one file.
type meter struct {
	*engine
	sized   bool // the file's size has been counted
	started bool
	last    int64
}

// reach counts the bytes up to done, and the file's size once it is known.
func (m *meter) reach(c *counts, done, size int64) {
	c.done += done - m.last
	m.last = done
	if !m.sized && size >= 0 {
		m.sized = true
		c.unsized--
		c.sized(size)
	}
}

// end replaces the bytes counted for the file by its size. After a failure it counts none, because the next try counts
// them again.
func (m *meter) end(r download.Result, err error) {
	m.count(func(c *counts) {
		if err != nil {
			m.reach(c, 0, -1)
		} else {
			m.reach(c, r.Size, r.Size)
		}
	})
}
