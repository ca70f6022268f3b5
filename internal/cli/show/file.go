package show

import (
	"fmt"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mattn/go-runewidth"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// lineDelay is how old a transfer is when it gets a line. Small files get none: the
// screen would flicker.
const lineDelay = 300 * time.Millisecond

// File shows the transfer of one file. It is safe for concurrent use, except that
// End comes last.
type File struct {
	run                    *Run
	url, path, name, label string
	host                   string
	made                   time.Time

	mu          sync.Mutex
	flows       bool // data has begun to flow
	began       time.Time
	offset      int64 // bytes from before this run
	done, total int64 // total is -1 if it is unknown
	attempt     int
	shown       time.Time // when the last event was emitted
	speed       speed
}

// Lone returns what shows a run of nothing but the file that u names, which goes to
// path, or "-" for standard output.
func (p *Printer) Lone(u *urlparse.URL, path string) *Run {
	r := p.newRun(p.mode(path == "-" && IsTerminal(p.Out)))
	r.only = r.File(u, path)
	r.start()
	return r
}

// keptNote says how many bytes were kept, if the same command would use them.
func keptNote(kept int64) string {
	if kept == 0 {
		return ""
	}
	return "; " + Bytes(kept) + " kept, run the same command to resume"
}

// lone reports whether the run is for this file alone.
func (f *File) lone() bool { return f.run.only == f }

// File returns what shows the transfer of one of the files.
func (r *Run) File(u *urlparse.URL, to string) *File {
	f := &File{run: r, url: u.Redacted(), path: to, name: to, host: printable.Line(u.Host), made: r.p.now(), attempt: 1, total: -1}
	if to == "-" {
		f.name = u.Name
	}
	f.label = printable.Line(path.Base(filepath.ToSlash(f.name)))
	f.began = f.made
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files[f] = r.nth
	r.nth++
	return f
}

// Update says how many bytes of the file are there; total is -1 if it is unknown.
func (f *File) Update(done, total int64) {
	f.update(done, total)
	if f.lone() {
		f.run.Update(batch.Totals{Files: 1, Size: total, Done: done, Received: done})
	}
}

func (f *File) update(done, total int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.run.p.now()
	if f.begin(done, total, now); f.run.mode == JSON {
		defer f.moved(now)
	}
	f.done, f.total, f.offset = done, total, min(f.offset, done)
	f.speed.update(done, now)
}

// begin notes that data has begun to flow.
func (f *File) begin(offset, total int64, now time.Time) {
	if f.flows {
		return
	}
	if f.flows, f.shown, f.offset, f.done, f.total = true, now, offset, offset, total; !f.lone() {
		f.began = now
	}
	f.speed.begin(offset, now)
	if f.run.mode == JSON {
		f.started()
	}
}

// Event shows an event.
func (f *File) Event(e download.Event) {
	switch e.Kind {
	case download.Progress:
		f.Update(e.Done, e.Total)
		return
	case download.Arrived:
		return
	}
	p := f.run.p
	f.mu.Lock()
	if e.Kind == download.Retrying {
		f.attempt++
		p.waits.anew()
	}
	state := f.state("retry")
	state.Attempt = f.attempt
	f.mu.Unlock()
	text := e.Text
	if e.Kind == download.Retrying {
		state.Error, state.Code = p.explain(e.Err)
		text = fmt.Sprintf("%s; trying again in %.1f s (%s)", state.Error, e.Wait.Seconds(), e.Text)
	}
	switch {
	case f.run.mode == None:
	case f.run.mode != JSON:
		p.Line("%s: %s", printable.Line(f.name), OneLine(text))
	case e.Kind != download.Retrying:
		p.emit(event{Event: "note", URL: f.url, Path: f.path, Text: OneLine(text)})
	default:
		state.Error, state.Delay = OneLine(state.Error), new(seconds(e.Wait))
		p.emit(state)
	}
}

// End shows how the transfer has ended. If it failed, rest follows the reason.
func (f *File) End(done download.Result, err error, rest string) {
	f.run.remove(f)
	p, now := f.run.p, f.run.p.now()
	name := printable.Line(f.name)
	switch mode := f.run.mode; {
	case err != nil:
		f.mu.Lock()
		e := f.state("error")
		f.mu.Unlock()
		p.failed(e, err, rest)
	case mode == JSON:
		f.complete(done, now)
	case done.Left != "" && !p.Quiet && (f.lone() || mode == Bar):
		p.Line("%s: %s, left alone%s", name, done.Left, verified(done))
	case done.Left == "" && f.lone() && mode != None:
		p.Line("%s: %s in %.1f s%s", name, Bytes(done.Size), now.Sub(f.made).Seconds(), verified(done))
	}
}

// verified says what the file's digest was compared with.
func verified(done download.Result) string {
	if done.Verified == "" {
		return ""
	}
	return " (verified: " + OneLine(done.Verified) + ")"
}

// line returns the line for a terminal of this width: at first what the only file
// waits for, then how far the file is.
func (f *File) line(width int) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.run.p.now().Sub(f.began) < lineDelay:
		return ""
	case f.flows:
		return f.figures(width)
	case f.lone():
		return runewidth.Truncate(f.host+": "+f.run.p.waits.text(), width, "")
	}
	return ""
}

// figures returns, for example, "name.tar.gz [==>--]   1.0 MiB / 2.0 MiB   50 %  1.0 MiB/s  0:01",
// in width columns. The figures of several files stand below each other. The
// name is cut in the middle, because names often differ at an end.
func (f *File) figures(width int) string {
	const leastName, amountColumn, paceColumn = 10, 24, 29
	facts := f.pace()
	facts += strings.Repeat(" ", max(0, paceColumn-runewidth.StringWidth(facts)))
	if width >= leastName+amountColumn+runewidth.StringWidth(facts) {
		facts = pad(amount(f.done, f.total, " / ")+" ", amountColumn) + facts
	}
	room := max(0, width-runewidth.StringWidth(facts)-1)
	name := middle(f.label, room)
	name += f.graph(room - runewidth.StringWidth(name))
	return strings.TrimRight(runewidth.Truncate(runewidth.FillRight(name, room)+" "+facts, max(width, 0), ""), " ")
}

// graph returns, for example, " [=====>----]", in room columns, or nothing if that is
// too little.
func (f *File) graph(room int) string {
	room -= len(" []")
	if f.total <= 0 || room < 5 {
		return ""
	}
	full := min(room, int(float64(room)*float64(f.done)/float64(f.total)))
	if full == room {
		return " [" + strings.Repeat("=", room) + "]"
	}
	return " [" + strings.Repeat("=", full) + ">" + strings.Repeat("-", room-full-1) + "]"
}

// pace returns, for example, " 50 %  1.0 MiB/s  0:01  try 2".
func (f *File) pace() string {
	text := ""
	if f.total > 0 {
		text = pad(strconv.FormatInt(percent(f.done, f.total), 10), 4) + " %"
	}
	text += pad(binary(f.speed.rate), 12) + "/s"
	if left := f.speed.left(f.done, f.total); left >= 0 {
		text += pad(clockTime(left), 8)
	}
	if f.attempt > 1 {
		text += "  try " + strconv.Itoa(f.attempt)
	}
	return text
}

// pad returns s with spaces before it, n characters or more.
func pad(s string, n int) string { return strings.Repeat(" ", max(0, n-len(s))) + s }

// middle cuts s in the middle to at most n columns.
func middle(s string, n int) string {
	const mark = "..."
	switch width := runewidth.StringWidth(s); {
	case width <= n:
		return s
	case n <= len(mark):
		return runewidth.Truncate(s, n, "")
	}
	head := runewidth.Truncate(s, (n-len(mark)+1)/2, "")
	return head + mark + runewidth.TruncateLeft(s, runewidth.StringWidth(s)-(n-len(mark)-runewidth.StringWidth(head)), "")
}
