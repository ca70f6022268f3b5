package cli

import (
	"fmt"
	"math"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/mattn/go-runewidth"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/internal/printable"
)

// newPart returns the meter for one of many files. Only a bar and JSON show each
// file; of the others a retry is worth a line.
func (p *printer) newPart(t transfer) meter {
	switch p.mode(false) {
	case progressJSON:
		return newJSONMeter(p, t)
	case progressBar:
		return newBarMeter(p, t, path.Base(t.path), true)
	case progressPlain:
		return retryMeter{print: p, name: t.name}
	}
	return silentMeter{}
}

// silentMeter shows nothing.
type silentMeter struct{}

func (silentMeter) update(int64, int64)        {}
func (silentMeter) event(download.Event)       {}
func (silentMeter) end(download.Result, error) {}

// retryMeter prints a line for each retry.
type retryMeter struct {
	silentMeter
	print *printer
	name  string
}

func (m retryMeter) event(e download.Event) {
	if e.Kind == download.Retrying {
		m.print.happened(m.name, e)
	}
}

// overview shows how far a run of many files is.
type overview struct {
	print        *printer
	files, bytes int64        // in all; -1 while they are not known
	bar          *passingLine // nil: none

	mu       sync.Mutex
	totals   batch.Totals
	speed    speed
	began    time.Time
	shown    time.Time
	interval time.Duration // from one line to the next
	ended    bool
}

const (
	// The intervals of plain lines double from the first to the last, so that
	// the log of a night stays short.
	firstOverview = 10 * time.Second
	lastOverview  = 2 * time.Minute
)

func (p *printer) newOverview(files, bytes int64) *overview {
	now := p.now()
	o := &overview{print: p, files: files, bytes: bytes, began: now, shown: now, interval: firstOverview}
	if p.mode(false) == progressBar {
		o.bar = &passingLine{priority: math.MaxInt32, text: o.line}
		p.lines.add(p.err.w, o.bar)
	}
	return o
}

// update shows t.
func (o *overview) update(t batch.Totals) {
	o.mu.Lock()
	now := o.print.now()
	o.totals = t
	o.speed.update(t.Received, now)
	line := ""
	mode := o.print.mode(false)
	if due := o.interval; mode == progressJSON && now.Sub(o.shown) >= eventInterval || mode == progressPlain && now.Sub(o.shown) >= due {
		o.shown, o.interval = now, min(2*due, lastOverview)
		line = o.text()
	}
	o.mu.Unlock()
	switch {
	case line != "" && mode == progressJSON:
		o.print.emit(o.event("total"))
	case line != "":
		o.print.line("%s", line)
	}
}

// of returns how many files and bytes there are, as far as that is known.
func (o *overview) of() (files, bytes int64) {
	files, bytes = o.files, o.bytes
	if files < 0 || o.ended && o.totals.Abandoned == 0 { // some may have been named twice
		files = o.totals.Files
	}
	if bytes < 0 && o.totals.Unsized == 0 && o.totals.Listing == 0 && files == o.totals.Files {
		bytes = o.totals.Size
	}
	return files, bytes
}

// text returns, for example, "3 of 8 files, 1 failed, 0:40 left, 1.0 MiB/s, 1.2 GiB of 3.0 GiB".
func (o *overview) text() string { return strings.Join(o.parts(), ", ") }

// line returns as much of text as fits into width, the most important first. Before
// the first bytes have come it says what the run waits for.
func (o *overview) line(width int) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.print.now().Sub(o.began) < lineDelay {
		return ""
	}
	parts := o.parts()
	if o.totals.Received == 0 && o.totals.Complete == 0 {
		parts = append(parts[:1], o.print.waits.text())
	}
	for len(parts) > 1 && runewidth.StringWidth(strings.Join(parts, ", ")) > width {
		parts = parts[:len(parts)-1]
	}
	return strings.Join(parts, ", ")
}

// parts returns the parts of text.
func (o *overview) parts() []string {
	files, bytes := o.of()
	parts := []string{fmt.Sprintf("%d of %d files", o.totals.Complete, files)}
	if o.totals.Listing > 0 {
		parts[0] += " or more"
	}
	if n := o.totals.Failed + o.totals.Unlisted; n > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", n))
	}
	if left := o.speed.left(o.totals.Done, bytes); bytes >= 0 && left >= 0 && !o.ended {
		parts = append(parts, clockTime(left)+" left")
	}
	amount := binary(float64(o.totals.Done))
	if bytes >= 0 {
		amount += " of " + binary(float64(bytes))
	}
	return append(parts, binary(o.speed.rate)+"/s", amount)
}

// end prints the last line of the run.
func (o *overview) end(t batch.Totals) {
	o.mu.Lock()
	o.totals, o.ended = t, true
	o.mu.Unlock()
	if o.bar != nil {
		o.print.removeLine(o.bar)
	}
	switch mode := o.print.mode(false); {
	case mode == progressJSON:
		o.print.emit(o.event("end"))
	case mode != progressNone || !o.whole():
		o.print.line("%s", o.last())
	}
}

// whole reports whether all files are there.
func (o *overview) whole() bool {
	files, _ := o.of()
	return o.totals.Whole() && o.totals.Complete == files
}

// last returns the last line, for example "498 of 500 complete (12 of them
// before), 2 failed: 1234567 bytes in 3.2 s".
func (o *overview) last() string {
	files, _ := o.of()
	text := fmt.Sprintf("%d of %d complete", o.totals.Complete, files)
	if o.totals.Before > 0 {
		text += fmt.Sprintf(" (%d of them before)", o.totals.Before)
	}
	if o.totals.Failed > 0 {
		text += fmt.Sprintf(", %d failed", o.totals.Failed)
	}
	if n := o.totals.Unlisted + o.totals.Listing; n > 0 {
		text += ", " + counted(n, "directory", "directories") + " not listed whole"
	}
	if n := o.totals.Links; n > 0 {
		text += ", " + counted(n, "link", "links") + " not followed"
	}
	return text + fmt.Sprintf("; received %s in %.1f s", bytesOf(o.totals.Received), o.print.now().Sub(o.began).Seconds())
}

// counted returns, for example, "1 link" or "2 links".
func counted(n int64, one, more string) string {
	if n == 1 {
		more = one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// event returns the state as an event of --progress json.
func (o *overview) event(kind string) event {
	o.mu.Lock()
	defer o.mu.Unlock()
	files, bytes := o.of()
	complete, received, failed := o.totals.Complete, o.totals.Received, o.totals.Failed+o.totals.Unlisted
	e := event{Event: kind, Files: &files, Complete: &complete, Failed: &failed, Received: &received}
	if bytes >= 0 {
		e.Size = &bytes
	}
	rate := int64(o.speed.rate)
	if o.ended {
		took := o.print.now().Sub(o.began)
		seconds := millis(took)
		e.Seconds = &seconds
		rate = int64(o.speed.average(o.totals.Received, o.print.now()))
	}
	e.Rate = &rate
	return e
}

// linked reports a symbolic link or special file that was not retrieved.
func (p *printer) linked(o batch.Outcome) {
	what := "leads to " + o.Link + ", not followed"
	if p.progress == progressJSON {
		p.emit(event{Event: "note", URL: o.URL.Redacted(), Path: o.Path, Text: oneLine(what)})
		return
	}
	p.line("%s: %s", printable.Line(o.Path), oneLine(what))
}
