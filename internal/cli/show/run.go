package show

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// The intervals of plain lines double from the first to the last, so that the log of a night stays short.
const (
	firstInterval = 10 * time.Second
	lastInterval  = 2 * time.Minute
)

// Run shows how far a run is: a lone file, or many files and all of them together.
type Run struct {
	p             *Printer
	lone          bool
	mode          Mode
	known, octets int64 // files and bytes in all; -1 while they are not known
	began         time.Time
	stop          func() // ends the drawing

	files    []*file         // that are on their way
	gone     map[string]bool // addresses of the servers that were given up
	totals   batch.Totals
	links    int64 // that were not followed
	speed    speed
	shown    time.Time
	interval time.Duration // from one line to the next
	ended    bool
}

// file is a file on its way.
type file struct {
	task            *batch.Task
	url, path, host string
	name            string    // printable
	made, began     time.Time // began: its row is as old as that
	flows           bool      // data has begun to flow
	offset          int64     // bytes from before this run
	done, total     int64     // total is -1 if it is unknown
	try             int
	shown           time.Time // when the last event was emitted
	speed           speed
}

// Run returns what shows a run of so many files and bytes; -1 means unknown.
func (p *Printer) Run(files, octets int64) *Run {
	return p.newRun(false, &Run{known: files, octets: octets})
}

// Lone returns what shows a run of nothing but the file that u names, which goes to path, or "-" for standard output.
func (p *Printer) Lone(u *urlparse.URL, path string) *Run {
	return p.newRun(path == "-" && IsTerminal(p.Out), &Run{lone: true, files: []*file{p.newFile(u, path)}})
}

func (p *Printer) newRun(toTerminal bool, r *Run) *Run {
	defer p.lock()()
	now := p.now()
	r.p, r.mode, r.began, r.shown, r.interval, r.gone, r.stop = p, p.mode(toTerminal), now, now, firstInterval, make(map[string]bool), func() {}
	if r.mode == Bar {
		r.stop = p.animate(r)
	}
	return r
}

func (p *Printer) newFile(u *urlparse.URL, to string) *file {
	now := p.now()
	f := &file{url: u.Redacted(), path: to, host: printable.Line(u.Host), name: printable.Line(to), made: now, began: now, try: 1, total: -1}
	if to == "-" {
		f.name = printable.Line(u.Name)
	}
	return f
}

// Event shows an event of the run.
func (r *Run) Event(e batch.Event) {
	if e.Kind == batch.Waiting || e.Task == nil && e.Kind != batch.Counted {
		r.p.Note(e.Text, e.Kind == batch.Waiting)
		return
	}
	defer r.p.lock()()
	i := slices.IndexFunc(r.files, func(f *file) bool { return r.lone || f.task == e.Task })
	var f *file // nil if nothing of it was fetched
	if i >= 0 {
		f = r.files[i]
	}
	switch {
	case r.lone && (e.Kind == batch.Counted || e.Kind == batch.Started):
	case e.Kind == batch.Counted:
		r.count(e.Totals)
	case e.Kind == batch.Started:
		f = r.p.newFile(e.Task.URLs[0], e.Task.Path)
		f.task = e.Task
		r.files = append(r.files, f)
	case e.Kind == batch.Ended:
		if f != nil {
			r.files = slices.Delete(r.files, i, i+1)
		}
		r.end(f, e)
	case e.Kind == download.Progress:
		r.progress(f, e.Done, e.Total)
	case e.Kind != download.Arrived && r.mode != None:
		r.happened(f, e.Event)
	}
}

// progress takes how many bytes of the file are there.
func (r *Run) progress(f *file, done, total int64) {
	now := r.p.now()
	r.begin(f, done, total, now)
	f.done, f.total, f.offset = done, total, min(f.offset, done)
	f.speed.update(done, now)
	switch {
	case r.mode == JSON && now.Sub(f.shown) >= eventInterval:
		f.shown = now
		e := f.event("progress")
		e.Rate = new(int64(f.speed.rate))
		r.p.emit(e)
	case r.mode == Plain && r.lone && r.due(now):
		r.p.line("%s: %s", f.name, strings.Join(f.speed.parts(done, total), ", "))
	}
}

// begin notes that data has begun to flow.
func (r *Run) begin(f *file, offset, total int64, now time.Time) {
	if f.flows {
		return
	}
	if f.flows, f.shown, f.offset, f.done, f.total = true, now, offset, offset, total; !r.lone {
		f.began = now
	}
	if f.speed.begin(offset, now); r.mode == JSON {
		e := f.event("start")
		e.Received = nil
		r.p.emit(e)
	}
}

// happened shows what happens to a file.
func (r *Run) happened(f *file, e download.Event) {
	text, told := e.Text, event{Event: "note", URL: f.url, Path: f.path, Text: OneLine(e.Text)}
	if e.Kind == download.Retrying {
		f.try++
		r.p.waits = waits{}
		why, code := r.p.explain(e.Err)
		text = fmt.Sprintf("%s; trying again in %.1f s (%s)", why, e.Wait.Seconds(), e.Text)
		told = f.event("retry")
		told.Attempt, told.Error, told.Code, told.Delay = f.try, OneLine(why), code, new(seconds(e.Wait))
	}
	if r.mode == JSON {
		r.p.emit(told)
	} else {
		r.p.line("%s: %s", f.name, OneLine(text))
	}
}

// end shows how a task has ended. Once a server is given up its next files fail for the same reason, which is not
// worth a line for each.
func (r *Run) end(f *file, e batch.Event) {
	switch at := e.URL.Address(); {
	case e.Link != "":
		if r.links++; !r.p.Quiet {
			r.p.tell("", event{URL: e.URL.Redacted(), Path: e.Task.Path, Text: "leads to " + e.Link + ", not followed"})
		}
	case e.GivenUp && !r.lone && r.p.Progress != JSON:
		if !r.gone[at] {
			r.p.failed(event{URL: e.URL.Redacted()}, e.Err, "; the other files of this server are not tried")
		}
		r.gone[at] = true
	case f != nil:
		r.endFile(f, e.Result, e.Err)
	case e.Err != nil:
		r.p.failed(event{URL: e.URL.Redacted()}, e.Err, "")
	}
}

// endFile shows how the transfer of a file has ended.
func (r *Run) endFile(f *file, done download.Result, err error) {
	now, verified, rest := r.p.now(), "", ""
	if done.Verified != "" {
		verified = " (verified: " + OneLine(done.Verified) + ")"
	}
	if r.lone {
		r.stop()
		if done.Kept > 0 {
			rest = "; " + Bytes(done.Kept) + " kept, run the same command to resume"
		}
	}
	switch {
	case err != nil:
		r.p.failed(f.event("error"), err, rest)
	case r.mode == JSON:
		r.complete(f, done, now)
	case done.Left != "" && !r.p.Quiet && (r.lone || r.mode == Bar):
		r.p.line("%s: %s, left alone%s", f.name, done.Left, verified)
	case done.Left == "" && r.lone && r.mode != None:
		r.p.line("%s: %s in %.1f s%s", f.name, Bytes(done.Size), now.Sub(f.made).Seconds(), verified)
	}
}

// due reports whether it is time for the next plain line.
func (r *Run) due(now time.Time) bool {
	if now.Sub(r.shown) < r.interval {
		return false
	}
	r.shown, r.interval = now, min(2*r.interval, lastInterval)
	return true
}

// count takes how far the run is, and shows it if a line about that is due.
func (r *Run) count(t batch.Totals) {
	now := r.p.now()
	r.totals = t
	r.speed.update(t.Received, now)
	switch {
	case r.mode == JSON && now.Sub(r.shown) >= eventInterval:
		r.shown = now
		r.p.emit(r.event("total"))
	case r.mode == Plain && r.due(now):
		r.p.line("%s", strings.Join(r.parts(), ", "))
	}
}

// of returns how many files and bytes there are, as far as that is known.
func (r *Run) of() (files, octets int64) {
	files, octets = r.known, r.octets
	if files < 0 || r.ended && r.totals.Complete+r.totals.Failed == r.totals.Files { // some may have been named twice
		files = r.totals.Files
	}
	if octets < 0 && r.totals.Listing == 0 && files == r.totals.Files {
		octets = r.totals.Size
	}
	return files, octets
}

// End prints the last line of a run of many files.
func (r *Run) End(t batch.Totals) {
	defer r.p.lock()()
	r.stop()
	r.totals, r.ended = t, true
	files, _ := r.of()
	switch whole := t.Whole() && t.Complete == files; {
	case r.mode == JSON:
		r.p.emit(r.event("end"))
	case r.mode != None || !whole:
		r.p.line("%s", r.last(files))
	}
}

// last returns the last line, for example "498 of 500 complete (12 of them before), 2 failed; received 1234567 bytes
// in 3.2 s".
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
	if r.links > 0 {
		text += ", " + counted(r.links, "link", "links") + " not followed"
	}
	return text + fmt.Sprintf("; received %s in %.1f s", Bytes(t.Received), r.p.now().Sub(r.began).Seconds())
}
