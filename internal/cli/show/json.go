package show

import (
	"bytes"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/internal/printable"
)

// docs/progress.md documents these events. A change that breaks a reader must raise eventVersion.
const (
	eventVersion  = 1
	eventInterval = time.Second // the least time between two "progress" events of a file
)

// event is one line of --progress json. A field is absent if its value is unknown or does not apply.
type event struct {
	Event    string   `json:"event"`
	Version  int      `json:"version"`
	Time     string   `json:"time"`
	URL      string   `json:"url,omitempty"`
	Path     string   `json:"path,omitempty"`
	Size     *int64   `json:"size,omitempty"`
	Offset   *int64   `json:"offset,omitempty"`
	Received *int64   `json:"received,omitempty"`
	Rate     *int64   `json:"rate,omitempty"`
	Attempt  int      `json:"attempt,omitempty"`
	Delay    *float64 `json:"delay,omitempty"`
	Seconds  *float64 `json:"seconds,omitempty"`
	Skipped  bool     `json:"skipped,omitempty"`
	Verified string   `json:"verified,omitempty"`
	Text     string   `json:"text,omitempty"`
	Error    string   `json:"error,omitempty"`
	Code     int      `json:"code,omitempty"`
	Files    *int64   `json:"files,omitempty"`
	Complete *int64   `json:"complete,omitempty"`
	Failed   *int64   `json:"failed,omitempty"`
}

// emit writes one event as one line to standard error.
func (p *Printer) emit(e event) {
	e.Version = eventVersion
	e.Time = p.now().UTC().Format("2006-01-02T15:04:05.000Z")
	p.line("%s", bytes.TrimSuffix(printable.JSON(e), []byte("\n")))
}

// event returns an event with the state of the file.
func (f *file) event(kind string) event {
	e := event{Event: kind, URL: f.url, Path: f.path}
	if f.flows {
		e.Attempt, e.Received, e.Offset = f.try, new(f.done), new(f.offset)
	}
	if f.total >= 0 {
		e.Size = new(f.total)
	}
	return e
}

// complete emits the "done" event.
func (r *Run) complete(f *file, done download.Result, now time.Time) {
	if done.Left == "" {
		r.begin(f, done.Resumed, done.Size, now)
		f.offset = min(f.offset, done.Resumed)
		f.speed.first = min(f.speed.first, f.offset)
		f.done = done.Size
	}
	f.total = done.Size
	e := f.event("done")
	if e.Skipped, e.Verified = done.Left != "", done.Verified; done.Left == "" {
		e.Seconds, e.Rate = new(seconds(now.Sub(f.made))), new(int64(f.speed.average(f.done, now)))
	}
	r.p.emit(e)
}

// event returns the state of the whole run.
func (r *Run) event(kind string) event {
	files, size := r.of()
	t := r.totals
	e := event{Event: kind, Files: &files, Complete: &t.Complete, Failed: new(t.Failed + t.Unlisted), Received: &t.Received, Rate: new(int64(r.speed.rate))}
	if size >= 0 {
		e.Size = &size
	}
	if now := r.p.now(); r.ended {
		e.Seconds, e.Rate = new(seconds(now.Sub(r.began))), new(int64(r.speed.average(t.Received, now)))
	}
	return e
}

// seconds returns d in seconds, rounded to milliseconds.
func seconds(d time.Duration) float64 {
	return float64(d.Round(time.Millisecond).Milliseconds()) / 1000
}
