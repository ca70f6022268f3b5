package download

import (
	"cmp"
	"io/fs"
	"slices"
	"time"

	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/internal/local/ledger"
	"example.com/ftpfetch/urlparse"
)

// recorded returns the ledger's record of the file that info describes, unless the recorded time is before newest. If
// there is none, recorded reads the ledger again, because another run may have added the file since this run began.
func (b *engine) recorded(j *job, newest time.Time, info fs.FileInfo) *record {
	r, ok := b.ledger.Find(j.Path, info)
	ok = ok && fits(r, j.Task, newest)
	if !ok && b.ledger.Refresh() == nil {
		r, ok = b.ledger.Find(j.Path, info)
		ok = ok && fits(r, j.Task, newest)
	}
	if !ok {
		return nil
	}
	sum, _ := digest.Parse(r.Sum)
	return &record{sum: sum, verified: r.Verified, checked: r.Checked, told: r.Told}
}

// fits reports whether r is the record of what task asks for, and whether the server's time was not before newest.
func fits(r ledger.Record, task *Task, newest time.Time) bool {
	if task.Sum.Algorithm != "" {
		return r.Sum == task.Sum.String()
	}
	return cameFrom(r, task) &&
		(task.Size == nil || *task.Size == r.Size) && !newest.After(cmp.Or(r.Told, r.Modified))
}

// cameFrom reports whether r is the record of a file that came from one of the task's URLs.
func cameFrom(r ledger.Record, task *Task) bool {
	key := urlparse.KeyOf(r.URL)
	return slices.ContainsFunc(task.URLs, func(u *urlparse.URL) bool { return u.Key() == key })
}

// recordOf returns the record of a file that came from u.
func recordOf(task *Task, u *urlparse.URL, r Result) ledger.Record {
	out := ledger.Of(task.Path)
	out.URL = u.Key()
	out.Size = r.Size
	out.Modified = r.ModTime.UTC()
	out.Sum = r.Sum.String()
	out.Verified = r.Verified
	out.Checked = r.Checked
	return out
}

// before returns the record of the file that an earlier run fetched and, if Verify asks for that, verified, or nil. It
// is nil too if Done must still be called with the file: if the file is gone, it is fetched for that. Another run may
// have added the record since this run began.
func (b *engine) before(j *job) *ledger.Record {
	if !b.Once || b.ledger == nil {
		return nil
	}
	_ = b.ledger.Refresh() // what it reads is better than nothing
	r, ok := b.ledger.Last(j.Path)
	if !ok || !fits(r, j.Task, time.Time{}) || r.Size < 0 {
		return nil
	}
	if b.Each.Verify && r.Verified == "" || b.Done != nil && r.Todo {
		return nil
	}
	return &r
}

// fetched reports whether Once may leave out a file of this size at a path, if its time is that of the record.
func (b *engine) fetched(path string, size int64) bool {
	if !b.Once || b.ledger == nil {
		return false
	}
	r, ok := b.ledger.Last(path)
	return ok && r.Size == size
}

// resultOf returns the result for a file that is left out, from its record.
func resultOf(r *ledger.Record, why string) Result {
	sum, _ := digest.Parse(r.Sum)
	return Result{Size: r.Size, ModTime: r.Modified, Left: why, Sum: sum, Verified: r.Verified, Checked: r.Checked}
}

// recordOf returns the record of the file of j. That of a file of a tree includes the login directory, which the tree's
// URL is relative to. told is the server's time if the disk made another of it, or zero.
func (b *engine) recordOf(j *job, r Result, told time.Time) ledger.Record {
	out := recordOf(j.Task, j.url(), r)
	out.Told = told.UTC()
	if j.in != nil {
		j.in.withSurvey(func(*survey) { out.Login = j.in.dir.login })
	}
	return out
}

// record adds a record to the ledger.
func (b *engine) record(r ledger.Record) error {
	if b.noLedger.Load() != nil {
		return nil
	}
	return b.unrecorded(b.ledger.Add(r))
}

// unrecorded notes the first err that says that the ledger cannot be written. The run goes on without it: of a file
// without a record, a later run asks the server for size and time. If the ledger must remember more than that, err is an
// error. unrecorded tells nobody, because the goroutine of another run may call it, in a batch that both have files in.
func (b *engine) unrecorded(err error) error {
	if b.Once || b.Done != nil {
		return err
	}
	if err != nil {
		b.noLedger.CompareAndSwap(nil, &err)
	}
	return nil
}

// tellUnrecorded warns once if the ledger cannot be written.
func (b *engine) tellUnrecorded() {
	if err := b.noLedger.Load(); err != nil {
		b.toldNoLedger.Do(func() { b.warn("%w: going on without it", *err) })
	}
}
