package download

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"time"

	"example.com/ftpfetch/download/internal/decide"
	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/guard"
	"example.com/ftpfetch/internal/local/ledger"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/schedule"
	"example.com/ftpfetch/internal/timing"
	"example.com/ftpfetch/urlparse"
)

// file saves a file, unless its target may stay.
func (b *engine) file(ctx context.Context, t *schedule.Turn[*job]) schedule.Verdict {
	j := t.Value
	if b.Info != nil {
		return b.ask(ctx, t)
	}
	if b.Dry {
		return b.plan(ctx, t)
	}
	bounded, cancel := b.bound(ctx)
	defer cancel()
	m := b.member(bounded, t)
	result, err := b.save(bounded, m)
	_, givenUp := errors.AsType[*schedule.GivenUp](err)
	switch {
	case b.freeFiles(t, err):
		return schedule.Short
	case givenUp:
		return b.next(ctx, j, result, err, schedule.Untouched)
	case errors.Is(err, partfile.ErrBusy):
		return b.wait(ctx, t, err)
	case err == nil && m.begun:
		return b.end(ctx, j, result, b.done(ctx, m, result), schedule.Done)
	case err == nil:
		return b.end(ctx, j, result, b.done(ctx, m, result), schedule.Untouched)
	case !m.begun:
		return b.end(ctx, j, result, err, schedule.Untouched)
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

// save fetches a file, unless its target may stay.
func (b *engine) save(ctx context.Context, m *member) (result Result, err error) {
	j := m.job
	if j.Writer != nil {
		if err = m.begin(); err == nil {
			result, err = fetchTo(ctx, m.fetch(false), j.Writer, j.Path)
			j.written = result.Size > 0
		}
	} else {
		result, err = b.saveTo(ctx, m)
	}
	m.meter.end(result, err)
	return result, err
}

// saveTo saves the file of m under its path.
func (b *engine) saveTo(ctx context.Context, m *member) (result Result, err error) {
	if b.root == nil {
		return result, errNoRoot
	}
	place, err := b.find(ctx, m.job)
	if err != nil {
		return result, err
	}
	defer func() { place.Close(err != nil) }()
	return save(ctx, place, func() *fetch { return m.fetch(true) })
}

// find returns the place of a file. In a dry run the place is nil if way would be made for the file.
func (b *engine) find(ctx context.Context, j *job) (*partfile.Place, error) {
	place, err := b.group.Find(b.root, j.Path)
	if err != nil {
		place, err = b.findAgain(ctx, j, err)
	}
	if err == nil && place != nil && b.Report != nil && os.SameFile(b.Report, place.Info) {
		err = &localfile.Error{Path: place.Path, Reason: "is the report of this run: give the report another name"}
		place.Close(false)
	}
	return place, err
}

// member is a file of a run while it is fetched: the caller of its fetch.
type member struct {
	ctx      context.Context // of the job
	run      *engine
	turn     *schedule.Turn[*job]
	job      *job
	spares   spareConnections
	meter    meter
	begun    bool
	foretold *foretold      // nil if no server was asked about the file before its turn
	todo     *ledger.Record // the record of the file if RunOptions.Done is to be called with it, else nil
}

func (b *engine) member(ctx context.Context, t *schedule.Turn[*job]) *member {
	j := t.Value
	return &member{
		ctx: ctx, run: b, turn: t, job: j, foretold: b.ahead.take(j),
		spares: spareConnections{turn: t, urls: j.URLs, used: map[*urlparse.URL]int{j.url(): 1}},
		meter:  meter{engine: b, sized: j.size() >= 0},
	}
}

// fetch returns the fetch of the file. turns reports whether the file gets another turn when the server is full.
func (m *member) fetch(turns bool) *fetch {
	j := m.job
	o := m.run.Each
	o.Size = j.Size
	o.Sum = j.Sum
	f := newFetch(m.run.src, j.url(), o, m, &m.run.lists, turns)
	if j.in != nil {
		f.inTree = true
		f.listed = decide.Stamp{Size: j.listed, Time: j.modTime}
	}
	return f
}

func (m *member) begin() error {
	m.run.admit(m.ctx, m.turn)
	switch {
	case m.turn.GivenUp != nil:
		return m.turn.GivenUp
	case !m.begun && !m.run.Dry:
		m.run.tell(Event{Kind: Started, Task: m.job.Task})
	}
	m.begun = true
	return nil
}

func (m *member) spare() *urlparse.URL                { return m.spares.next() }
func (m *member) giveBack(u *urlparse.URL, err error) { m.spares.free(u, err) }
func (m *member) wanted() bool                        { return m.turn.Wanted() }
func (m *member) follows() bool                       { return m.turn.Follows() }
func (m *member) arrived()                            { m.turn.Release(m.begun) }
func (m *member) commits() bool                       { return m.run.ledger != nil }
func (m *member) tell(e Event)                        { m.run.tell(m.meter.event(e, m.job)) }

func (m *member) relist(ctx context.Context) (int64, error) { return m.run.relist(ctx, m.job) }

func (m *member) recorded(newest time.Time, info fs.FileInfo) *record {
	if m.run.ledger == nil {
		return nil
	}
	return m.run.recorded(m.job, newest, info)
}

func (m *member) before() *ledger.Record { return m.run.before(m.job) }
func (m *member) remembers() bool        { return m.run.Once }

// takesOver records that a file whose record is in the ledger is not complete, if what is here of it is only a part: a
// run was killed before it gave the file its name. Without the part, the record would say that the file was fetched.
func (m *member) takesOver(target fs.FileInfo, unnamed func(size int64) bool) error {
	if m.run.ledger == nil || target != nil && m.recorded(time.Time{}, target) != nil {
		return nil
	}
	_ = m.run.ledger.Refresh() // what it reads is better than nothing
	r, ok := m.run.ledger.Last(m.job.Path)
	if !ok || r.Size < 0 || !unnamed(r.Size) {
		return nil
	}
	not := ledger.Of(m.job.Path)
	not.URL, not.Login, not.Todo = r.URL, r.Login, r.Todo
	not.Size = -1
	return m.run.group.Record(func() error { return m.run.record(not) })
}

func (m *member) commit(r Result, told time.Time) error {
	out := m.run.recordOf(m.job, r, told)
	if m.run.Done != nil {
		out.Todo = true
		m.todo = &out
	}
	return m.run.record(out)
}

func (m *member) announcement() func() error {
	if m.run.Done == nil {
		return nil
	}
	return func() error { return m.run.record(m.run.todo(m.job)) }
}

func (m *member) stays(r Result, told time.Time, compared bool) error {
	if m.run.ledger == nil {
		return nil
	}
	out := m.run.recordOf(m.job, r, told)
	if m.run.undone(m.job) {
		out.Todo = true
		m.todo = &out
	}
	if !compared {
		return nil
	}
	m.arrived() // the next file can be compared meanwhile
	return m.run.group.Record(func() error { return m.run.record(out) })
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

// tells passes what the listing says of a file of a tree to [RunOptions.Info].
func (b *engine) tells(j *job, e ftpexec.Entry) {
	j.in.withSurvey(func(h *survey) { h.wanted++ })
	b.count(func(c *counts) { c.file(e.Size); c.Complete++ })
	j.makeTask()
	b.inform(j, e)
}

// inform calls [RunOptions.Info], while nothing else is told. The lock is released even if the callback panics.
func (b *engine) inform(j *job, e ftpexec.Entry) {
	b.telling.Lock()
	defer b.telling.Unlock()
	b.Info(j.url(), e)
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
		b.inform(j, e)
	}
	return b.end(ctx, j, Result{}, err, verdict(err))
}

// pause is how long a file waits for another run that writes it.
const pause = time.Second

// wait releases the connection, pauses, and queues the file again, because another run is writing it. That run will
// complete the file, or leave a part to resume from.
func (b *engine) wait(ctx context.Context, t *schedule.Turn[*job], err error) schedule.Verdict {
	j := t.Value
	if !j.waited {
		b.notice(err.Error() + "; waiting for it")
	}
	j.waited = true
	t.Release(true)
	_ = timing.Wait(ctx, pause)
	if ctx.Err() != nil {
		return b.end(ctx, j, Result{}, err, schedule.Untouched)
	}
	return schedule.Untouched.Then(j.url().Address())
}

// next queues the file with its next URL after err. If there is none, or if another URL cannot help, the file has
// failed.
func (b *engine) next(ctx context.Context, j *job, has Result, err error,
	v schedule.Verdict) schedule.Verdict {
	heed(ctx, err)
	if local(err) || len(j.URLs) == 1 || j.written {
		b.count(func(c *counts) { c.Kept += has.Kept })
		return b.end(ctx, j, has, err, v)
	}
	j.URLs = j.URLs[1:]
	b.detail(err.Error() + "; trying " + j.url().Redacted())
	return v.Then(j.url().Address())
}

// end reports the outcome of a file. If the run was interrupted, the file counts neither as complete nor as failed.
func (b *engine) end(ctx context.Context, j *job, result Result, err error,
	v schedule.Verdict) schedule.Verdict {
	heed(ctx, err)
	if errors.Is(err, guard.ErrPanic) {
		b.count(func(c *counts) { c.broken = err })
	}
	if err == nil || ctx.Err() == nil {
		e := j.ending(err)
		e.Result = result
		b.ended(e)
	}
	return v
}

// skipLink ends a link that is not followed.
func (b *engine) skipLink(j *job, target string) {
	b.leaveOut(j, "leads to "+cmp.Or(target, "an unknown place")+", not followed")
}

// leaveOut ends an entry that is no file; why is the [Event.Text].
func (b *engine) leaveOut(j *job, why string) {
	b.ended(Event{Text: why, Task: j.Task})
}

func (b *engine) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if b.Timeout == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, b.Timeout, schedule.ErrLate)
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
		c.addSize(size)
	}
}

// end replaces the bytes counted for the file by its size. After a failure it counts none, because the next try counts
// them again.
func (m *meter) end(r Result, err error) {
	m.count(func(c *counts) {
		if err != nil {
			m.reach(c, 0, -1)
		} else {
			m.reach(c, r.Size, r.Size)
		}
	})
}

// event counts the bytes that an event of the fetch of j reports, and returns the event for the caller of Run.
func (m *meter) event(e Event, j *job) Event {
	if e.Kind == Progress {
		if m.started {
			m.received.Add(max(0, e.Done-m.last))
		}
		m.count(func(c *counts) { m.reach(c, e.Done, e.Total) })
		m.started = true
	}
	e.Task = j.Task
	return e
}
