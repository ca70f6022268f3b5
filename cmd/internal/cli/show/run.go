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
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/internal/schedule"
)

// Run shows the progress of a run: a lone file, or many files and their total.
type Run struct {
	p             *Printer
	lone          bool
	mode          Mode
	watched       bool  // lines go to a terminal that shows no rows
	known, octets int64 // total numbers; -1 until they are known
	began         time.Time
	stop          func()                     // ends the drawing
	say           func(e event, text string) // shows a message that may come once for each of many files

	files  []*file         // files being fetched
	gone   map[string]bool // addresses of servers that were given up
	totals download.Totals
	ended  bool
	speed  speed
	clock  clock

	done, size int64    // bytes of all files: those present, and those found so far (-1: not known)
	received   int64    // bytes that this run received
	before     int64    // files that were complete before
	past       int64    // files that an earlier run fetched, and that are not as it left them (--once)
	verified   int64    // files whose digest was verified
	links      int64    // links that were not followed
	deleted    int64    // files that the server no longer has
	failed     []string // names of the first files that failed, printable
	unmade     int64    // directories that could not be made here
	losses     int      // number of files that failed after them
	place      string   // the one directory below that of -d that holds all present files; "" if there are several
	placed     bool     // a file is present
}

// Run returns a Run that shows either a lone file, which goes to path ("-" is standard output), or, if path is "", so
// many files and bytes; -1 means unknown.
func (p *Printer) Run(path string, files, octets int64) *Run {
	defer p.lock()()
	r := &Run{
		p:      p,
		lone:   path != "",
		known:  files,
		octets: octets,
		mode:   p.mode((path == "-" || p.Report == "-") && IsTerminal(p.Out)),
		began:  p.now(),
		gone:   make(map[string]bool),
		stop:   func() {},
		say:    p.say,
	}
	p.run = r
	if !r.lone {
		r.say = func(e event, text string) { p.sayFew("", e, text) }
	}
	r.clock.last = r.began
	r.watched = r.mode == Plain && p.Progress == Auto && !p.Verbose && IsTerminal(p.err)
	switch {
	case r.mode == Bar:
		r.stop = p.animate(r)
	case r.watched:
		r.stop = p.narrate(r)
	}
	return r
}

// Event shows an event of the run.
func (r *Run) Event(e download.Event) {
	defer r.p.lock()()
	if e.Task == nil {
		r.overall(e)
		return
	}
	var f *file // nil if nothing of the file was fetched
	i := slices.IndexFunc(r.files, func(f *file) bool { return f.task == e.Task })
	if i >= 0 {
		f = r.files[i]
	}
	switch e.Kind {
	case download.Started, download.Ended:
		if f != nil {
			r.files = slices.Delete(r.files, i, i+1)
		}
		if e.Kind == download.Started {
			r.files = append(r.files, r.file(e.Task))
		} else {
			r.end(f, e)
		}
	case download.Progress:
		r.progress(f, e.Done, e.Total)
	default:
		if f == nil { // a dry run tells no Started
			f = r.file(e.Task)
		}
		r.happened(f, e)
	}
}

// overall shows an event that concerns no single file.
func (r *Run) overall(e download.Event) {
	switch {
	case e.Kind == download.Progress:
		r.totals = e.Totals
		r.done = e.Done
		r.size = e.Total
		r.speed.update(r.received, r.p.now())
		if !r.lone && r.clock.due(r.p.now(), r.mode, r.watched) {
			r.p.say(r.event("total"), strings.Join(r.parts(), ", "))
		}
	case e.Detail:
		r.p.note(Detail, event{Text: e.Text})
	default:
		r.p.note(Notice, event{Text: e.Text})
	}
}

// file returns a file of which nothing has arrived yet.
func (r *Run) file(t *download.Task) *file {
	name := t.Path
	if name == "-" {
		name = t.URLs[0].Name
	}
	return &file{
		task:  t,
		path:  r.path(t),
		name:  printable.Line(name),
		made:  r.p.now(),
		try:   1,
		total: -1,
	}
}

// path returns the local path of a task. The paths of many files are relative to the directory of -d.
func (r *Run) path(t *download.Task) string {
	if r.lone || t.Path == "" {
		return t.Path
	}
	return filepath.Join(r.p.Dir, t.Path)
}

// pause excludes the time since from, in which the user was prompted, from the times of what waited for the answer.
// received is the number of bytes received before that.
func (r *Run) pause(from time.Time, received int64) {
	now := r.p.now()
	waited := func(since time.Time) time.Time {
		if since.Before(from) {
			return since.Add(now.Sub(from))
		}
		return now
	}
	for _, f := range r.files {
		if f.began.IsZero() {
			f.made = waited(f.made)
		}
	}
	if r.received == received {
		r.began = waited(r.began)
	}
}

// end shows how a task has ended. After a server is given up, its remaining files fail alike and get no line each.
func (r *Run) end(f *file, e download.Event) {
	u := e.Task.URLs[0]
	r.note(e)
	_, givenUp := errors.AsType[*schedule.GivenUp](e.Err)
	switch {
	case e.Err == nil && e.Text != "":
		r.links++
		r.p.note(Notice, event{URL: u.Redacted(), Path: r.path(e.Task), Text: e.Text})
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

// Deleted shows that a file was deleted, or what else done says. With Rounds, only the last line counts deleted files.
func (r *Run) Deleted(done, url, path string) {
	defer r.p.lock()()
	r.deleted++
	text := done + printable.Line(path)
	if r.mode == None || r.p.Rounds && r.p.Progress != Plain {
		text = ""
	}
	e := event{Event: "delete", URL: url, Path: path}
	switch {
	case r.p.Progress == Plain: // the user asked for all lines
		r.p.say(e, text)
	case r.mode != None:
		r.p.sayFew("", e, text)
	}
}

// note records the outcome of a task for the end of the run: what failed, and which directory holds the other files.
func (r *Run) note(e download.Event) {
	if e.Task.URLs[0].IsDir() && errors.Is(e.Err, download.ErrLocal) {
		r.unmade++
	}
	switch {
	case e.Err != nil && len(r.failed) < mostAgain:
		r.failed = append(r.failed, printable.Line(cmp.Or(e.Task.Path, e.Task.URLs[0].Redacted())))
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
	switch {
	case e.Err != nil:
	case e.Result.Left == download.LeftBefore:
		r.past++
	case e.Result.Left != "":
		r.before++
	}
	if e.Result.Verified != "" && e.Err == nil {
		r.verified++
	}
}

// of returns the total numbers of files and bytes, as far as they are known.
func (r *Run) of() (files, octets int64) {
	files = r.known
	octets = r.octets
	if files < 0 || r.ended && r.totals.Complete+r.totals.Failed == r.totals.Files { // a file may have been named twice
		files = r.totals.Files
	}
	if octets < 0 && files == r.totals.Files {
		octets = r.size
	}
	return files, octets
}

// End shows how a run of many files has ended, for example as "498 of 500 complete in m/, 12 already there, 2 failed:
// 108 MiB in 16.1 s, 6.7 MiB/s". leftOut is how many files were left out of listings. After a long run, End names the
// failed files again.
func (r *Run) End(t download.Totals, leftOut int64) {
	all := cmp.Or(printable.Line(r.p.Report), "--report FILE") + " has them all"
	r.p.Rest(": " + all)
	defer r.p.lock()()
	r.stop()
	r.totals = t
	r.ended = true
	files, _ := r.of()
	took := r.p.now().Sub(r.began)
	whole := t.Listing+t.Unlisted == 0 && t.Complete == files
	if r.mode != None && r.mode != JSON && took >= time.Minute {
		for _, name := range r.failed {
			r.p.line("failed: %s", name)
		}
		if r.losses > 0 {
			r.p.line("... and %d more: %s", r.losses, all)
		}
	}
	if !whole || r.mode != None {
		r.p.say(r.event("end"), r.summary(files, leftOut, took))
	}
}

// Stop ends the drawing of a run without a message.
func (r *Run) Stop() {
	defer r.p.lock()()
	r.stop()
}

// summary returns the last line of a run.
func (r *Run) summary(files, leftOut int64, took time.Duration) string {
	t := r.totals
	unlisted := t.Unlisted + t.Listing - r.unmade
	text := fmt.Sprintf("%d of %d complete", t.Complete, files)
	if place := path.Join(filepath.ToSlash(r.p.Dir), r.place); place != "" && t.Complete > 0 {
		text += " in " + printable.Line(strings.TrimSuffix(place, "/")) + "/"
	}
	for _, also := range []struct {
		n         int64
		one, more string
	}{
		{r.before, "already there", "already there"},
		{r.past, "fetched before", "fetched before"},
		{r.verified, "verified", "verified"},
		{t.Failed, "failed", "failed"},
		{unlisted, "directory could not be fully listed", "directories could not be fully listed"},
		{r.unmade, "directory could not be made here", "directories could not be made here"},
		{r.deleted, "deleted", "deleted"},
		{leftOut, "left out by age or size", "left out by age or size"},
		{t.LeftOut, "older left out", "older left out"},
		{r.links, "link not followed", "links not followed"},
	} {
		if also.n > 0 {
			text += ", " + printable.Count(also.n, also.one, also.more)
		}
	}
	if r.received > 0 || t.Complete > r.before+r.past {
		text += ": " + ending(r.received, took)
	}
	return text
}

func (f *file) event(kind string) event {
	e := event{Event: kind, URL: f.task.URLs[0].Redacted(), Path: f.path}
	if !f.began.IsZero() {
		e.Attempt = f.try
		e.Received = &f.done
		e.Offset = &f.offset
	}
	if f.total >= 0 {
		e.Size = &f.total
	}
	return e
}

func (r *Run) event(kind string) event {
	files, size := r.of()
	t := r.totals
	e := event{
		Event:    kind,
		Files:    &files,
		Complete: &t.Complete,
		Failed:   new(t.Failed + t.Unlisted),
		Received: &r.received,
		Rate:     new(int64(r.speed.rate)),
	}
	if size >= 0 {
		e.Size = &size
	}
	if r.deleted > 0 {
		e.Deleted = &r.deleted
	}
	if r.past > 0 {
		e.Once = &r.past
	}
	if r.ended {
		took := r.p.now().Sub(r.began)
		e.Seconds = seconds(took)
		e.Rate = average(r.received, took)
	}
	return e
}

func average(n int64, took time.Duration) *int64 {
	return new(int64(float64(n) / max(took.Seconds(), 0.001)))
}

func seconds(d time.Duration) *float64 {
	return new(float64(d.Round(time.Millisecond).Milliseconds()) / 1000)
}
