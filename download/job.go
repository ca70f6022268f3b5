package download

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/download/internal/sums"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/retry"
	"example.com/ftpfetch/urlparse"
)

// job says what to download, and how.
type job struct {
	src     Source
	extra   Source // for further connections
	u       *urlparse.URL
	url     string // of u, as journals write it
	o       *Options
	retry   *retry.Retrier
	arrives func()          // see member
	reports bool            // there are Progress events,
	quiet   func()          // which this ends
	place   *partfile.Place // has been looked at, or nil
	lists   *sums.Cache
	many    bool // it is one of many, of which some may be lists of digests
}

// text reports whether the transfer is in ASCII type, which has neither a comparable size nor offsets.
func (j *job) text() bool { return j.u != nil && j.u.Type == urlparse.TypeASCII }

// newJob returns a job with a copy of o that has its defaults filled in.
func newJob(src Source, u *urlparse.URL, o *Options) *job {
	j := &job{src: src, u: u, url: u.WithoutPassword().String(), o: new(Options), extra: src, arrives: func() {}, quiet: func() {}, lists: new(sums.Cache)}
	if o != nil {
		*j.o = *o
	}
	j.o.checkpoint = cmp.Or(j.o.checkpoint, checkpointInterval)
	if tell := j.o.Events; tell != nil {
		var one sync.Mutex
		j.o.Events = func(e Event) { one.Lock(); defer one.Unlock(); tell(e) }
	}
	policy := retry.Policy{Retries: j.o.Retries, Connect: j.o.RetryConnect}
	policy.Tell = func(err error, try int, wait time.Duration) {
		j.o.notify(Event{Err: err, Text: fmt.Sprintf("%d of %d", try, retry.Count(j.o.Retries)), Wait: wait})
	}
	if m, ok := src.(member); ok {
		j.extra, j.arrives, j.place, j.lists, j.many, policy.ReturnCrowded = m.Extra(), m.Arrived, m.Place(), m.Lists(), true, true
	}
	j.retry = retry.New(policy)
	return j
}

// cannotResumeText says why a file in ASCII type starts over.
const cannotResumeText = "a file in ASCII type (;type=a) cannot be resumed"

// undated says why pieces of a file are not joined.
const undated = "the server does not always report the file's time, so it may be another file"

// dated reports whether pieces of a file with this time may be joined. Without a time only Continue says so: the size and
// the laps are all that can be compared.
func (j *job) dated(modTime time.Time) bool { return !modTime.IsZero() || j.o.Continue }

// sized returns an error if something has n bytes, which may be unknown, and Options.Size says another number.
func (j *job) sized(what string, n int64) error {
	if want := j.o.Size; want != nil && n >= 0 && n != *want && !j.text() {
		return because(ftpexec.ErrChanged, "%s %d bytes, not the expected %d", what, n, *want)
	}
	return nil
}

// stat asks the server for its file's size and time. If the server refuses to tell anything nothing is known: only RETR
// shows whether there is a file.
func (j *job) stat(ctx context.Context) (*ftpexec.Entry, error) {
	info, err := j.src.Stat(ctx, j.u)
	if e, ok := errors.AsType[*ftpexec.Error](err); ok && e.Stage == "transfer" && e.Code == 550 {
		return &ftpexec.Entry{Size: -1}, nil
	}
	return &info, err
}

// ask is stat with retries.
func (j *job) ask(ctx context.Context) (info *ftpexec.Entry, err error) {
	err = j.retry.Do(ctx, func() error { info, err = j.stat(ctx); return err })
	return info, err
}

// report tells the result of count at each progressInterval from the first call on, until quiet is called. It only
// reads counters and does not slow the data down.
func (j *job) report(count func() (done, total int64)) {
	if j.o.Events == nil || j.reports {
		return
	}
	j.reports = true
	tell := func() {
		done, total := count()
		j.o.Events(Event{Kind: Progress, Done: done, Total: total})
	}
	tell()
	end := retry.Every(progressInterval, tell)
	j.quiet = func() { end(); tell() }
}
