package show

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mattn/go-runewidth"

	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/internal/printable"
)

// The intervals of plain lines double from the first to the last, so that the log
// of a night stays short.
const (
	firstInterval = 10 * time.Second
	lastInterval  = 2 * time.Minute
)

// Run shows how far a run is: each of its files, and all of them together. A run
// of one file is like any other, but its line names the file.
type Run struct {
	p             *Printer
	mode          Mode
	only          *File // nil: there are many
	known, octets int64 // files and bytes in all; -1 while they are not known
	began         time.Time
	stop          func() // ends the drawing; nil: nothing is drawn

	mu       sync.Mutex
	files    map[*File]int // that are on their way; the lines are in this order
	tasks    map[*batch.Task]*File
	gone     map[string]bool // addresses of the servers that were given up
	nth      int
	totals   batch.Totals
	links    int64 // that were not followed
	speed    speed
	shown    time.Time
	interval time.Duration // from one line to the next
	ended    bool
}

// Run returns what shows a run of so many files and bytes; -1 means unknown.
func (p *Printer) Run(files, octets int64) *Run {
	r := p.newRun(p.mode(false))
	r.known, r.octets = files, octets
	r.start()
	return r
}

func (p *Printer) newRun(mode Mode) *Run {
	now := p.now()
	return &Run{p: p, mode: mode, began: now, shown: now, interval: firstInterval, files: make(map[*File]int),
		tasks: make(map[*batch.Task]*File), gone: make(map[string]bool)}
}

func (r *Run) start() {
	if r.mode == Bar {
		r.stop = r.p.animate(r)
	}
}

// Event shows an event of the run.
func (r *Run) Event(e batch.Event) {
	f := cmp.Or(r.only, r.tasks[e.Task])
	switch {
	case r.only != nil && (e.Kind == batch.Counted || e.Kind == batch.Started):
	case e.Kind == batch.Counted:
		r.Update(e.Totals)
	case e.Kind == batch.Waiting || e.Task == nil:
		r.p.Note(e.Text, e.Kind == batch.Waiting)
	case e.Kind == batch.Started:
		r.tasks[e.Task] = r.File(e.Task.URLs[0], e.Task.Path)
	case e.Kind != batch.Ended:
		f.Event(e.Event)
	default:
		delete(r.tasks, e.Task)
		r.end(f, e)
	}
}

// end shows how a task has ended; f is nil if no file was started. Once a server is
// given up its next files fail for the same reason, which is not worth a line for each.
func (r *Run) end(f *File, e batch.Event) {
	switch at := e.URL.Address(); {
	case e.Link != "":
		r.links++
		r.p.Linked(e)
	case e.GivenUp && r.p.Progress != JSON:
		if !r.gone[at] {
			r.p.Failed(e.URL.Redacted(), e.Err, "; the other files of this server are not tried")
		}
		r.gone[at] = true
	case r.only != nil:
		f.End(e.Result, e.Err, keptNote(e.Result.Kept))
	case f != nil:
		f.End(e.Result, e.Err, "")
	case e.Err != nil:
		r.p.Failed(e.URL.Redacted(), e.Err, "")
	}
}

// remove removes a file that has ended. The last line of a lone one goes with it.
func (r *Run) remove(f *File) {
	r.mu.Lock()
	delete(r.files, f)
	r.mu.Unlock()
	switch {
	case r.stop == nil:
	case r.only != nil:
		r.stop()
	default:
		r.p.draw("")
	}
}

// Update shows how far the run is, if a line about that is due.
func (r *Run) Update(t batch.Totals) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.p.now()
	r.totals = t
	r.speed.update(t.Received, now)
	switch {
	case r.mode == JSON && r.only == nil && now.Sub(r.shown) >= eventInterval:
		r.p.emit(r.event("total"))
	case r.mode == Plain && now.Sub(r.shown) >= r.interval:
		r.interval = min(2*r.interval, lastInterval)
		parts := r.parts()
		if r.only != nil {
			parts[1] = printable.Line(r.only.name) + ": " + parts[1]
			parts = parts[1:]
		}
		r.p.Line("%s", strings.Join(parts, ", "))
	default:
		return
	}
	r.shown = now
}

// of returns how many files and bytes there are, as far as that is known.
func (r *Run) of() (files, octets int64) {
	files, octets = r.known, r.octets
	if r.only != nil {
		return 1, r.totals.Size
	}
	if files < 0 || r.ended && r.totals.Complete+r.totals.Failed == r.totals.Files { // some may have been named twice
		files = r.totals.Files
	}
	if octets < 0 && r.totals.Listing == 0 && files == r.totals.Files {
		octets = r.totals.Size
	}
	return files, octets
}

// parts returns, for example, "3 of 8 files", "1 failed", "0:40 left", "1.0 MiB/s" and
// "1.2 GiB of 3.0 GiB", the most important first.
func (r *Run) parts() []string {
	files, octets := r.of()
	parts := []string{fmt.Sprintf("%d of %d files", r.totals.Complete, files)}
	if r.totals.Listing > 0 {
		parts[0] += " or more"
	}
	if n := r.totals.Failed + r.totals.Unlisted; n > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", n))
	}
	if left := r.speed.left(r.totals.Done, octets); octets >= 0 && left >= 0 {
		parts = append(parts, clockTime(left)+" left")
	}
	return append(parts, binary(r.speed.rate)+"/s", amount(r.totals.Done, octets, " of "))
}

// rows returns the lines for a terminal of this size: one for each file and one for
// all of them, which stays where there is not room for all.
func (r *Run) rows(width, height int) (rows []string) {
	r.mu.Lock()
	files := slices.SortedFunc(maps.Keys(r.files), func(a, b *File) int { return cmp.Compare(r.files[a], r.files[b]) })
	r.mu.Unlock()
	for _, f := range files {
		if text := f.line(width); text != "" {
			rows = append(rows, text)
		}
	}
	if text := r.line(width); text != "" {
		rows = append(rows, text)
	}
	if most := max(1, height-2); len(rows) > most { // one is for the cursor, one for what was there before
		rows = append(rows[:most-1], rows[len(rows)-1])
	}
	return rows
}

// line returns as many parts as fit into width. Before the first bytes have come it
// says what the run waits for.
func (r *Run) line(width int) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.only != nil || r.p.now().Sub(r.began) < lineDelay {
		return ""
	}
	parts := r.parts()
	if r.totals.Received == 0 && r.totals.Complete == 0 {
		parts = append(parts[:1], r.p.waits.text())
	}
	for len(parts) > 1 && runewidth.StringWidth(strings.Join(parts, ", ")) > width {
		parts = parts[:len(parts)-1]
	}
	return runewidth.Truncate(strings.Join(parts, ", "), width, "")
}

// End prints the last line of the run.
func (r *Run) End(t batch.Totals) {
	if r.stop != nil {
		r.stop()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.totals, r.ended = t, true
	files, _ := r.of()
	switch whole := t.Whole() && t.Complete == files; {
	case r.mode == JSON:
		r.p.emit(r.event("end"))
	case r.mode != None || !whole:
		r.p.Line("%s", r.last(files))
	}
}

// last returns the last line, for example "498 of 500 complete (12 of them
// before), 2 failed; received 1234567 bytes in 3.2 s".
func (r *Run) last(files int64) string {
	t := r.totals
	text := fmt.Sprintf("%d of %d complete", t.Complete, files)
	if t.Before > 0 {
		text += fmt.Sprintf(" (%d of them before)", t.Before)
	}
	if t.Failed > 0 {
		text += fmt.Sprintf(", %d failed", t.Failed)
	}
	if n := t.Unlisted + t.Listing; n > 0 {
		text += ", " + counted(n, "directory", "directories") + " not listed whole"
	}
	if n := r.links; n > 0 {
		text += ", " + counted(n, "link", "links") + " not followed"
	}
	return text + fmt.Sprintf("; received %s in %.1f s", Bytes(t.Received), r.p.now().Sub(r.began).Seconds())
}

// amount returns, for example, "1.0 MiB of 2.0 MiB".
func amount(done, total int64, of string) string {
	if total <= 0 {
		return binary(float64(done))
	}
	return binary(float64(done)) + of + binary(float64(total))
}

// percent rounds down, so that 100 means all.
func percent(done, total int64) int64 { return int64(float64(done) / float64(max(total, 1)) * 100) }
