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
	key := urlparse.KeyOf(r.URL)
	return slices.ContainsFunc(task.URLs, func(u *urlparse.URL) bool { return u.Key() == key }) &&
		(task.Size == nil || *task.Size == r.Size) && !newest.After(cmp.Or(r.Told, r.Modified))
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

// record adds a file to the ledger. The record of a file of a tree includes the login directory, which the tree's URL
// is relative to. told is the server's time if the disk made another of it, or zero.
func (b *engine) record(j *job, r Result, told time.Time) error {
	if b.spared.Load() {
		return nil
	}
	out := recordOf(j.Task, j.url(), r)
	out.Told = told.UTC()
	if j.in != nil {
		j.in.withSurvey(func(*survey) { out.Login = j.in.dir.login })
	}
	return b.unrecorded(b.ledger.Add(out))
}

// unrecorded warns once if err says that the ledger cannot be written. The run goes on without it: of a file without a
// record, a later run asks the server for size and time.
func (b *engine) unrecorded(err error) error {
	if err != nil && b.spared.CompareAndSwap(false, true) {
		b.warn("%w: going on without it", err)
	}
	return nil
}
