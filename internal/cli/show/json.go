package show

import (
	"strings"
	"time"

	"example.com/ftpfetch/internal/printable"
)

// event is one line of --progress json, which docs/progress.md documents. A field is absent if its value is unknown or
// does not apply.
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

// say shows e as one line of JSON, or as a line of text if that is not empty.
func (p *Printer) say(e event, text string) {
	if p.Progress == JSON {
		e.Version = 1 // a change that breaks a reader must raise it
		e.Time = p.now().UTC().Format("2006-01-02T15:04:05.000Z")
		text = strings.TrimSuffix(string(printable.JSON(e)), "\n")
	}
	if text != "" {
		p.line("%s", text)
	}
}

// event returns an event with the state of the file.
func (f *file) event(kind string) event {
	e := event{Event: kind, URL: f.task.URLs[0].Redacted(), Path: f.task.Path}
	if !f.began.IsZero() {
		e.Attempt, e.Received, e.Offset = f.try, &f.done, &f.offset
	}
	if f.total >= 0 {
		e.Size = &f.total
	}
	return e
}

// event returns an event with the state of the whole run.
func (r *Run) event(kind string) event {
	files, size := r.of()
	t := r.totals
	e := event{Event: kind, Files: &files, Complete: &t.Complete, Failed: new(t.Failed + t.Unlisted), Received: &r.received, Rate: new(int64(r.speed.rate))}
	if size >= 0 {
		e.Size = &size
	}
	if took := r.p.now().Sub(r.began); r.ended {
		e.Seconds, e.Rate = seconds(took), average(r.received, took)
	}
	return e
}

// average returns the bytes per second of n bytes.
func average(n int64, took time.Duration) *int64 {
	return new(int64(float64(n) / max(took.Seconds(), 0.001)))
}

// seconds returns d in seconds, rounded to milliseconds.
func seconds(d time.Duration) *float64 {
	return new(float64(d.Round(time.Millisecond).Milliseconds()) / 1000)
}
