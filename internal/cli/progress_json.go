package cli

import (
	"bytes"
	"errors"
	"sync"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// docs/progress.md documents these events. A change that breaks a reader must
// raise eventVersion.
const (
	eventVersion  = 1
	eventInterval = time.Second // the least time between two "progress" events of a file
)

// event is one line of --progress json. A field is absent if its value is
// unknown or does not apply.
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
func (p *printer) emit(e event) {
	e.Version = eventVersion
	e.Time = p.now().UTC().Format("2006-01-02T15:04:05.000Z")
	p.line("%s", bytes.TrimSuffix(printable.JSON(e), []byte("\n")))
}

// emitFailure reports err, described by what, with the last state of its meter.
func (p *printer) emitFailure(subject string, err error, what string) {
	var malformed *urlparse.Error
	if subject == "" && errors.As(err, &malformed) {
		subject = malformed.Input
	}
	var e event
	if known := p.failing.Swap(nil); known != nil && known.URL == subject {
		e = *known
	}
	e.Event, e.URL, e.Error, e.Code = "error", subject, what, exitCode(err)
	p.emit(e)
}

// jsonMeter writes events.
type jsonMeter struct {
	print *printer
	transfer
	made time.Time

	mu          sync.Mutex
	started     bool
	attempt     int
	offset      int64
	done, total int64 // total is -1 if it is unknown
	last        time.Time
	speed       speed
}

func newJSONMeter(p *printer, t transfer) *jsonMeter {
	return &jsonMeter{print: p, transfer: t, made: p.now(), attempt: 1, total: -1}
}

// start writes the "start" event, once.
func (m *jsonMeter) start(offset, total int64) {
	if m.started {
		return
	}
	m.last = m.print.now()
	m.started, m.offset, m.done, m.total = true, offset, offset, total
	m.speed.begin(offset, m.last)
	e := m.state("start")
	e.Received = nil
	m.print.emit(e)
}

// state returns an event with the current state of the transfer.
func (m *jsonMeter) state(kind string) event {
	e := event{Event: kind, URL: m.url, Path: m.path}
	if m.started {
		done, offset := m.done, m.offset
		e.Attempt, e.Received, e.Offset = m.attempt, &done, &offset
	}
	if m.total >= 0 {
		total := m.total
		e.Size = &total
	}
	return e
}

func (m *jsonMeter) update(done, total int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.start(done, total)
	now := m.print.now()
	m.done, m.total, m.offset = done, total, min(m.offset, done)
	m.speed.update(done, now)
	if now.Sub(m.last) < eventInterval {
		return
	}
	m.last = now
	e := m.state("progress")
	rate := int64(m.speed.rate)
	e.Rate = &rate
	m.print.emit(e)
}

func (m *jsonMeter) event(e download.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e.Kind != download.Retrying {
		m.print.emit(event{Event: "note", URL: m.url, Path: m.path, Text: oneLine(e.Text)})
		return
	}
	m.attempt++
	out := m.state("retry")
	wait := millis(e.Wait)
	out.Attempt, out.Delay = m.attempt, &wait
	out.Error, out.Code = oneLine(describe(e.Err)), exitCode(e.Err)
	m.print.emit(out)
}

func (m *jsonMeter) end(done download.Result, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case err != nil:
		known := m.state("")
		m.print.failing.Store(&known)
		return
	case done.Skipped:
		m.total = done.Size
	default:
		m.start(done.Resumed, done.Size)
		m.offset = min(m.offset, done.Resumed)
		m.speed.first = min(m.speed.first, m.offset)
		m.done, m.total = done.Size, done.Size
	}
	e := m.state("done")
	e.Skipped, e.Verified = done.Skipped, done.Verified
	if !done.Skipped {
		m.finish(&e)
	}
	m.print.emit(e)
}

// finish adds the elapsed time and the average rate.
func (m *jsonMeter) finish(e *event) {
	now := m.print.now()
	took := millis(now.Sub(m.made))
	rate := int64(m.speed.average(m.done, now))
	e.Seconds, e.Rate = &took, &rate
}

// millis returns d in seconds, rounded to milliseconds.
func millis(d time.Duration) float64 { return float64(d.Round(time.Millisecond).Milliseconds()) / 1000 }
