package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/download/internal/algorithm"
	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/ledger"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/retry"
	"example.com/ftpfetch/internal/schedule"
	"example.com/ftpfetch/urlparse"
)

func (b *engine) file(ctx context.Context, t *schedule.Turn[*job]) schedule.Verdict {
	j := t.Value
	bounded, cancel := b.bound(ctx)
	defer cancel()
	if b.teller != nil {
		return b.ask(bounded, t)
	}
	var result download.Result
	there := false
	to, err := b.group.Find(b.root, j.Path)
	if err == nil {
		defer to.Close(false)
		err = localfile.IsReport(ctx, to.Path, to.Info)
	}
	if err == nil {
		result, there, err = b.there(bounded, j, to)
	}
	if there && err == nil {
		err = to.Settle()
	}
	if b.short(t, err) {
		return schedule.Short
	}
	if there || err != nil {
		(&meter{engine: b, sized: j.size() >= 0}).end(result, err)
		return b.end(ctx, j, result, err, schedule.Untouched)
	}
	if t.GivenUp != nil {
		return b.next(ctx, j, t.GivenUp, schedule.Untouched)
	}
	result, err = b.retrieve(bounded, t, to, b.Each)
	if err == nil && result.Left != "" && to.Info != nil {
		result.ModTime = to.Info.ModTime()
		err = b.remember(j, result)
	}
	switch {
	case err == nil:
		return b.end(ctx, j, result, nil, schedule.Done)
	case b.short(t, err):
		return schedule.Short
	case errors.Is(err, partfile.ErrBusy):
		return b.wait(ctx, t, err)
	case errors.Is(err, fs.ErrExist):
		switch there, nerr := b.named(bounded, j, to); {
		case b.short(t, nerr):
			return schedule.Short
		case there:
			return schedule.Untouched.Then(j.url().Address())
		}
		if result, err = b.compare(bounded, j, err); err == nil {
			result, err = b.verified(bounded, t, to, result)
		}
		if err == nil {
			(&meter{engine: b, sized: j.size() >= 0}).end(result, nil)
			return b.end(ctx, j, result, nil, schedule.Done)
		}
	case b.crowded(t, err):
		return schedule.Full(err)
	case j.link != "" && errors.Is(err, ftpexec.ErrNotFound):
		b.count(func(c *counts) { c.Files--; c.unsized-- })
		j.in.note(func(h *haul) { h.wanted, h.links = h.wanted-1, h.links+1 })
		b.left(j, j.link)
		return schedule.Done
	}
	return b.next(ctx, j, err, verdict(err))
}

// teller is a Source that wants no files, only what listings or else servers tell about them.
type teller interface {
	Tell(u *urlparse.URL, e ftpexec.Entry)
}

func (b *engine) tells(j *job, e ftpexec.Entry) {
	j.in.note(func(h *haul) { h.wanted++ })
	b.count(func(c *counts) { c.file(e.Size); c.Complete++ })
	b.telling.Lock()
	defer b.telling.Unlock()
	j.settle()
	b.teller.Tell(j.url(), e)
}

func (b *engine) ask(ctx context.Context, t *schedule.Turn[*job]) schedule.Verdict {
	j, err := t.Value, t.GivenUp
	var e ftpexec.Entry
	if err == nil {
		err = b.again(ctx, func() (err error) { e, err = b.src.Stat(ctx, j.url()); return err })
	}
	if b.crowded(t, err) {
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

// wait waits for another run, without a connection. Then the file's turn comes again: the other run has completed it, or
// has left a part to resume from.
func (b *engine) wait(ctx context.Context, t *schedule.Turn[*job], err error) schedule.Verdict {
	j := t.Value
	if !j.waited {
		b.note(pause, err.Error()+": waiting for it")
	}
	j.waited = true
	t.Release()
	if _ = retry.Wait(ctx, pause); ctx.Err() != nil {
		return b.end(ctx, j, download.Result{}, err, schedule.Untouched)
	}
	return schedule.Untouched.Then(j.url().Address())
}

func (b *engine) named(ctx context.Context, j *job, to *partfile.Place) (there bool, err error) {
	if b.ledger == nil {
		return false, nil
	}
	if err = cmp.Or(b.ledger.Refresh(), to.Look()); err == nil {
		_, there, err = b.there(ctx, j, to)
	}
	return there, err
}

// compare takes a file that is there and in no ledger for the server's if it has that one's size and time. Else the error
// says how they differ, or is err if the server does not tell.
func (b *engine) compare(ctx context.Context, j *job, err error) (download.Result, error) {
	has, lerr := b.root.Lstat(j.Path)
	if lerr != nil || !has.Mode().IsRegular() || j.url().Type == urlparse.TypeASCII {
		return download.Result{}, err
	}
	size, modTime := j.listed, j.modTime
	if size < 0 || modTime.IsZero() && size == has.Size() {
		aerr := b.again(ctx, func() error {
			e, err := b.src.Stat(ctx, j.url())
			size, modTime = e.Size, e.ModTime
			return err
		})
		if aerr != nil || size < 0 {
			return download.Result{}, err
		}
	}
	how := ""
	switch age := modTime.Sub(has.ModTime()); {
	case size != has.Size():
		how = fmt.Sprintf("differs from the server's (%d bytes there, %d here): -N updates it", size, has.Size())
	case modTime.IsZero():
		how = "has the size of the server's, which tells no time: --overwrite replaces it"
	case age.Abs() <= ledger.Slack:
		return download.Result{Size: size, ModTime: has.ModTime(), Left: "already there"}, nil
	case age > 0:
		how = "is older than the server's, and of the same size: -N updates it"
	default:
		how = "is newer than the server's, and of the same size: -N leaves it, --overwrite replaces it"
	}
	return download.Result{}, &localfile.Error{Path: filepath.Join(b.root.Name(), j.Path), Reason: how, Err: localfile.ErrOther}
}

// next turns to the file's next URL after err. Without one the file has failed.
func (b *engine) next(ctx context.Context, j *job, err error, v schedule.Verdict) schedule.Verdict {
	if local(err) || len(j.URLs) == 1 {
		return b.end(ctx, j, download.Result{}, err, v)
	}
	j.URLs = j.URLs[1:]
	b.note(0, err.Error()+"; trying "+j.url().Redacted())
	return v.Then(j.url().Address())
}

// end reports how a file ended. If the run was interrupted it is neither complete nor has it failed.
func (b *engine) end(ctx context.Context, j *job, result download.Result, err error, v schedule.Verdict) schedule.Verdict {
	if err == nil || ctx.Err() == nil {
		e := j.failed(err)
		e.Result = result
		b.ended(e)
	}
	return v
}

func (b *engine) left(j *job, what string) {
	b.ended(Event{Event: download.Event{Text: what}, Task: j.Task})
}

// verified compares the digest of a file that is as good as the server's, if that was asked for.
func (b *engine) verified(ctx context.Context, t *schedule.Turn[*job], to *partfile.Place, has download.Result) (download.Result, error) {
	if !b.Each.Verify {
		return has, to.Settle()
	}
	o := b.Each
	o.Skip = true // so that it stays, whatever the digest is
	result, err := b.retrieve(ctx, t, to, o)
	if err == nil {
		has.Sum, has.Verified, has.Checked = result.Sum, result.Verified, result.Checked
		err = b.remember(t.Value, has)
	}
	return has, err
}

// remember records a file that was there already, if its digest has been compared.
func (b *engine) remember(j *job, r download.Result) error {
	if b.ledger == nil || r.Verified == "" {
		return nil
	}
	return b.group.Record(func() error { return b.record(j, r) })
}

// record adds a file to the ledger, that of a tree with the login directory from which the tree's URL leads.
func (b *engine) record(j *job, r download.Result) error {
	out := ledger.Of(j.Item, j.url(), r)
	if j.in != nil {
		j.in.note(func(*haul) { out.Login = j.in.dir.login })
	}
	return b.ledger.Add(out)
}

func (b *engine) retrieve(ctx context.Context, t *schedule.Turn[*job], to *partfile.Place, o download.Options) (download.Result, error) {
	j := t.Value
	m := &meter{engine: b, sized: j.size() >= 0}
	o.Segments, o.Size, o.Sum = 1+t.Spare(b.Each.Segments-1), j.Size, j.Sum
	if b.ledger != nil {
		o.Commit = func(r download.Result) error { return b.record(j, r) }
	}
	o.Events = func(e download.Event) {
		if e.Kind == download.Progress {
			if m.started {
				m.received.Add(max(0, e.Done-m.last))
			}
			m.count(func(c *counts) { m.reach(c, e.Done, e.Total) })
			m.started = true
		}
		b.tell(Event{Event: e, Task: j.Task})
	}
	b.tell(Event{Event: download.Event{Kind: Started}, Task: j.Task})
	result, err := download.File(ctx, &first{b.src, t, to, &b.lists}, j.url(), j.Path, &o)
	m.end(result, err)
	return result, err
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
	sized   bool // the size counts in Totals
	started bool
	last    int64
}

// reach counts the bytes up to done, and the file's size if it is known by now.
func (m *meter) reach(c *counts, done, size int64) {
	c.done, m.last = c.done+done-m.last, done
	if !m.sized && size >= 0 {
		m.sized = true
		c.unsized--
		c.sized(size)
	}
}

// end replaces what was counted by the size of the whole file. What a failed try brought counts in the next one.
func (m *meter) end(r download.Result, err error) {
	m.count(func(c *counts) {
		if err != nil {
			m.reach(c, 0, -1)
		} else {
			m.reach(c, r.Size, r.Size)
		}
	})
}

// there reports whether the file is there and needs no server: because the ledger has it, because its digest is right, or
// because it is as new as the server's. With Verify only a digest that has been compared counts.
func (b *engine) there(ctx context.Context, j *job, to *partfile.Place) (_ download.Result, ok bool, _ error) {
	if to.Info == nil || !to.Info.Mode().IsRegular() || b.Each.Overwrite {
		return download.Result{}, false, nil
	}
	item, info := j.Item, to.Info
	result := download.Result{Size: info.Size(), ModTime: info.ModTime(), Left: "already complete"}
	if item.Size != nil && *item.Size != info.Size() && !b.replaces() {
		return download.Result{}, false, b.other(item, ftpexec.ErrChanged, "%d bytes, but the list says %d", info.Size(), *item.Size)
	}
	if j.size() >= 0 && j.size() != info.Size() || b.Each.Newer && item.Sum.Algorithm == "" && (j.size() < 0 || j.modTime.IsZero()) { // only the server knows whether its file is newer
		return download.Result{}, false, nil
	}
	if b.ledger != nil {
		if r, ok := b.ledger.Find(item, j.modTime, info); ok && (r.Verified != "" || !b.Each.Verify) {
			result.Sum, _ = digest.Parse(r.Sum)
			result.Verified, result.Checked = r.Verified, r.Checked
			return result, true, nil
		}
	}
	switch {
	case item.Sum.Algorithm != "":
		return b.verify(ctx, j, to, result)
	case b.Each.Newer && !b.Each.Verify && !j.modTime.After(info.ModTime().Add(ledger.Slack)):
		result.Left = "not newer on the server"
		return result, true, nil
	}
	return download.Result{}, false, nil
}

func (b *engine) replaces() bool { return b.Each.Newer || b.Each.Continue }

// other returns the error about a file that is there and is not the one that the list describes. With Skip, what is wrong
// with it is the cause.
func (b *engine) other(item manifest.Item, cause error, format string, args ...any) error {
	if !b.Each.Skip && !b.Each.Overwrite {
		cause = localfile.ErrOther
		format += ": --overwrite replaces it"
	}
	return &localfile.Error{Path: filepath.Join(b.root.Name(), item.Path), Reason: "exists with " + fmt.Sprintf(format, args...), Err: cause, Elsewhere: cause != localfile.ErrOther}
}

func (b *engine) verify(ctx context.Context, j *job, to *partfile.Place, result download.Result) (download.Result, bool, error) {
	item := j.Item
	h := algorithm.New(item.Sum.Algorithm)
	err := to.Copy(ctx, h)
	sum := digest.Sum{Algorithm: item.Sum.Algorithm, Digest: h.Sum(nil)}
	if err == nil && sum.String() != item.Sum.String() && !b.replaces() {
		err = b.other(item, download.ErrDigest, "%s, but the list says %s", sum, item.Sum)
	}
	if err != nil || sum.String() != item.Sum.String() {
		return download.Result{}, false, err
	}
	result.Sum, result.Verified, result.Checked = sum, sum.Algorithm+" given", time.Now().UTC()
	err = b.remember(j, result)
	return result, err == nil, err
}
