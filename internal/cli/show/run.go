package show

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/internal/schedule"
)

// Run shows how far a run is: a lone file, or many files and all of them together.
type Run struct {
	p             *Printer
	lone          bool
	mode          Mode
	known, octets int64 // files and bytes in all; -1 while they are not known
	began         time.Time
	stop          func()                     // ends the drawing
	say           func(e event, text string) // shows what may come for each of many files

	files  []*file         // that are on their way
	gone   map[string]bool // addresses of the servers that were given up
	totals batch.Totals
	ended  bool
	speed  speed
	clock  clock

	done, size, received int64    // bytes of all files: those that are there, those found so far (-1: not known), and what this run brought
	before, links        int64    // files that were complete before; links that were not followed
	failed               []string // what failed first, printable
	losses               int      // and how much more did
	place                string   // the directory that has all files that are there, below that of -d; "" if there are several
	placed               bool     // there is a file
}

type file struct {
	task        *batch.Task
	path        string    // as a program in the current directory opens it
	name        string    // printable
	made, began time.Time // began: data has begun to flow; zero before
	offset      int64     // bytes from before this run
	done, total int64     // total is -1 if it is unknown
	try         int
	speed       speed
	clock       clock
}

// clock says when the next line or event about progress is due.
type clock struct {
	last  time.Time
	pause time.Duration // between lines it doubles, so that the log of a night stays short
}

func (c *clock) due(now time.Time, m Mode) bool {
	least, most := 10*time.Second, 2*time.Minute
	if m == JSON {
		least = time.Second
		most = time.Second
	}
	c.pause = max(c.pause, least)
	if m == Bar || m == None || now.Sub(c.last) < c.pause {
		return false
	}
	c.last, c.pause = now, min(2*c.pause, most)
	return true
}

// Run returns what shows a run: of a lone file, which goes to path ("-" is standard output), or if path is "" of so many
// files and bytes; -1 means unknown.
func (p *Printer) Run(path string, files, octets int64) *Run {
	defer p.lock()()
	r := &Run{p: p, lone: path != "", known: files, octets: octets, mode: p.mode((path == "-" || p.Report == "-") && IsTerminal(p.Out)),
		began: p.now(), gone: make(map[string]bool), stop: func() {}, say: p.say}
	if !r.lone {
		r.say = func(e event, text string) { p.sayFew("", e, text) }
	}
	if r.clock.last = r.began; r.mode == Bar {
		r.stop = p.animate(r)
	}
	return r
}

// Event shows an event of the run.
func (r *Run) Event(e batch.Event) {
	defer r.p.lock()()
	var f *file // nil if nothing of it was fetched
	if i := slices.IndexFunc(r.files, func(f *file) bool { return f.task == e.Task }); i >= 0 {
		f = r.files[i]
		if e.Kind == download.Started || e.Kind == download.Ended {
			r.files = slices.Delete(r.files, i, i+1)
		}
	}
	switch {
	case e.Task == nil && e.Kind == download.Progress:
		r.totals = e.Totals
		r.done = e.Done
		r.size = e.Total
		r.speed.update(r.received, r.p.now())
		if !r.lone && r.clock.due(r.p.now(), r.mode) {
			r.p.say(r.event("total"), strings.Join(r.parts(), ", "))
		}
	case e.Task == nil && e.Wait > 0: // the run would look like one that hangs
		r.p.note(Notice, event{Text: e.Text})
	case e.Task == nil:
		r.p.note(Detail, event{Text: e.Text})
	case e.Kind == download.Started:
		name := e.Task.Path
		if name == "-" {
			name = e.Task.URLs[0].Name
		}
		r.files = append(r.files, &file{task: e.Task, path: r.path(e.Task), name: printable.Line(name), made: r.p.now(), try: 1, total: -1})
	case e.Kind == download.Ended:
		r.end(f, e)
	case e.Kind == download.Progress:
		r.progress(f, e.Done, e.Total)
	default:
		r.happened(f, e.Event)
	}
}

// path returns the local path of a task. Many files are below the directory of -d.
func (r *Run) path(t *batch.Task) string {
	if r.lone || t.Path == "" {
		return t.Path
	}
	return filepath.Join(r.p.Dir, t.Path)
}

func (r *Run) progress(f *file, done, total int64) {
	now := r.p.now()
	f.flow(r, done, total, now)
	f.speed.update(done, now)
	if (r.lone || r.mode == JSON) && f.clock.due(now, r.mode) {
		e := f.event("progress")
		e.Rate = new(int64(f.speed.rate))
		r.p.say(e, f.name+": "+strings.Join(f.speed.parts(done, total), ", "))
	}
}

// flow notes how many bytes of the file are there. The first call tells that data flows.
func (f *file) flow(r *Run, done, total int64, now time.Time) {
	if !f.began.IsZero() {
		r.received += max(0, done-f.done)
	}
	if f.done, f.total = done, total; f.began.IsZero() {
		f.began = now
		f.offset = done
		f.clock.last = now
		f.speed.update(done, now)
		if r.mode == JSON {
			e := f.event("start")
			e.Received = nil
			r.p.say(e, "")
		}
	}
	f.offset = min(f.offset, done)
}

func (r *Run) happened(f *file, e download.Event) {
	text, told := OneLine(e.Text), event{Event: "note", URL: f.task.URLs[0].Redacted(), Path: f.path, Text: OneLine(e.Text)}
	if e.Wait > 0 {
		f.try++
		r.p.said = ""
		why, code := r.p.explain(e.Err)
		text = OneLine(fmt.Sprintf("%s; trying again in %.1f s (%s)", why, e.Wait.Seconds(), e.Text))
		told = f.event("retry")
		told.Attempt, told.Error, told.Code, told.Delay = f.try, OneLine(why), code, seconds(e.Wait)
	}
	if r.mode != None {
		r.say(told, f.name+": "+text)
	}
}

// end shows how a task has ended. Once a server is given up its next files fail alike, which is not worth a line for each.
func (r *Run) end(f *file, e batch.Event) {
	u := e.Task.URLs[0]
	_, givenUp := errors.AsType[*schedule.GivenUp](e.Err)
	switch {
	case e.Err != nil && len(r.failed) < mostAgain:
		r.failed = append(r.failed, printable.Line(cmp.Or(e.Task.Path, u.Redacted())))
	case e.Err != nil:
		r.losses++
	case e.Text == "":
		top, _, below := strings.Cut(e.Task.Path, "/")
		if !below || r.placed && top != r.place {
			top = ""
		}
		r.place = top
		r.placed = true
	}
	if e.Result.Left != "" {
		r.before++
	}
	switch {
	case e.Err == nil && e.Text != "":
		r.links++
		r.p.note(Notice, event{URL: u.Redacted(), Path: r.path(e.Task), Text: "leads to " + e.Text + ", not followed"})
	case givenUp && r.p.Progress != JSON:
		if at := u.Address(); !r.gone[at] {
			r.gone[at] = true
			r.p.failed(event{URL: u.Redacted()}, e.Err, "; the other files of this server are not tried")
		}
	case f != nil:
		r.endFile(f, e.Result, e.Err)
	case e.Err != nil:
		r.p.failed(event{URL: u.Redacted()}, e.Err, "")
	}
}

func (r *Run) endFile(f *file, done download.Result, err error) {
	if r.lone {
		r.stop()
	}
	if err != nil {
		kept := ""
		if r.lone && done.Kept > 0 {
			kept = "; " + printable.Size(done.Kept) + " kept: the same command resumes"
		}
		r.p.failed(f.event("error"), err, kept)
		return
	}
	now, text, shown := r.p.now(), done.Left+", left alone", r.lone || r.mode == Bar || r.mode == JSON
	f.total = done.Size
	if done.Left == "" {
		f.flow(r, done.Resumed, done.Size, now)
		f.done = done.Size
		shown = r.mode == JSON || r.lone && r.mode != None
	}
	if !shown || r.p.Quiet {
		return
	}
	e := f.event("done")
	if e.Skipped, e.Verified = done.Left != "", done.Verified; !e.Skipped {
		took := now.Sub(f.made)
		e.Seconds, e.Rate = seconds(took), average(f.done-f.offset, now.Sub(f.began))
		text = ending(f.done-f.offset, took)
		if f.offset > 0 {
			text += "; " + printable.Size(done.Size) + " in all"
		}
	}
	if done.Verified != "" {
		text += " (verified: " + OneLine(done.Verified) + ")"
	}
	r.say(e, f.name+": "+text)
}

// of returns how many files and bytes there are, as far as that is known.
func (r *Run) of() (files, octets int64) {
	files = r.known
	octets = r.octets
	if files < 0 || r.ended && r.totals.Complete+r.totals.Failed == r.totals.Files { // some may have been named twice
		files = r.totals.Files
	}
	if octets < 0 && files == r.totals.Files {
		octets = r.size
	}
	return files, octets
}

// End shows how a run of many files has ended, for example as "498 of 500 complete in m/, 12 already there, 2 failed: 108
// MiB in 16.1 s, 6.7 MiB/s". After a long run it names the files that failed once more.
func (r *Run) End(t batch.Totals) {
	all := cmp.Or(printable.Line(r.p.Report), "--report FILE") + " has them all"
	r.p.Rest(": " + all)
	defer r.p.lock()()
	r.stop()
	r.totals = t
	r.ended = true
	files, _ := r.of()
	took := r.p.now().Sub(r.began)
	text := fmt.Sprintf("%d of %d complete", t.Complete, files)
	if place := path.Join(filepath.ToSlash(r.p.Dir), r.place); place != "" && t.Complete > 0 {
		text += " in " + printable.Line(strings.TrimSuffix(place, "/")) + "/"
	}
	also := func(n int64, one, more string) {
		if n > 0 {
			text += ", " + printable.Count(n, one, more)
		}
	}
	also(r.before, "already there", "already there")
	also(t.Failed, "failed", "failed")
	also(t.Unlisted+t.Listing, "directory could not be fully listed", "directories could not be fully listed")
	also(r.links, "link not followed", "links not followed")
	if r.received > 0 || t.Complete > r.before {
		text += ": " + ending(r.received, took)
	}
	if r.mode != None && r.mode != JSON && took >= time.Minute {
		for _, name := range r.failed {
			r.p.line("failed: %s", name)
		}
		if r.losses > 0 {
			r.p.line("... and %d more: %s", r.losses, all)
		}
	}
	if whole := t.Listing+t.Unlisted == 0 && t.Complete == files; !whole || r.mode != None && !(r.p.Again && t.Complete == r.before) {
		r.p.say(r.event("end"), text)
	}
}

func (f *file) event(kind string) event {
	e := event{Event: kind, URL: f.task.URLs[0].Redacted(), Path: f.path}
	if !f.began.IsZero() {
		e.Attempt, e.Received, e.Offset = f.try, &f.done, &f.offset
	}
	if f.total >= 0 {
		e.Size = &f.total
	}
	return e
}

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

func average(n int64, took time.Duration) *int64 {
	return new(int64(float64(n) / max(took.Seconds(), 0.001)))
}

func seconds(d time.Duration) *float64 {
	return new(float64(d.Round(time.Millisecond).Milliseconds()) / 1000)
}
