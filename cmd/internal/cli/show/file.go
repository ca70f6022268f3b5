package show

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/printable"
)

// file is a file that is being fetched.
type file struct {
	task        *download.Task
	path        string    // relative to the current directory
	name        string    // printable
	made, began time.Time // began: when data began to flow; zero before that
	offset      int64     // bytes that earlier runs have left
	done, total int64     // total is -1 if unknown
	try         int
	speed       speed
	clock       clock
}

// clock says when the next line or event about progress is due.
type clock struct {
	last  time.Time
	pause time.Duration // doubles from line to line, so that the log of a night stays short
}

// due reports whether a line or an event is due. watched says that a person looks at the lines.
func (c *clock) due(now time.Time, m Mode, watched bool) bool {
	least, most := 10*time.Second, 2*time.Minute
	switch {
	case m == JSON:
		least = time.Second
		most = time.Second
	case watched:
		least = narration
	}
	c.pause = max(c.pause, least)
	if m == Bar || m == None || now.Sub(c.last) < c.pause {
		return false
	}
	c.last = now
	c.pause = min(2*c.pause, most)
	return true
}

func (r *Run) progress(f *file, done, total int64) {
	now := r.p.now()
	f.flow(r, done, total, now)
	f.speed.update(done, now)
	if (r.lone || r.mode == JSON) && f.clock.due(now, r.mode, r.watched) {
		e := f.event("progress")
		e.Rate = new(int64(f.speed.rate))
		r.p.say(e, f.name+": "+strings.Join(f.speed.parts(done, total), ", "))
	}
}

// flow records how many bytes of the file are there. The first call means that data flows.
func (f *file) flow(r *Run, done, total int64, now time.Time) {
	if !f.began.IsZero() {
		r.received += max(0, done-f.done)
	}
	f.done = done
	f.total = total
	if f.began.IsZero() {
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

// happened shows what happened to a file, such as a new try.
func (r *Run) happened(f *file, e download.Event) {
	text := OneLine(e.Text)
	told := event{Event: "note", URL: f.task.URLs[0].Redacted(), Path: f.path, Text: text}
	if e.Wait > 0 {
		f.try++
		r.p.waits.what = ""
		why, code := r.p.explain(e.Err)
		text = OneLine(fmt.Sprintf("%s; trying again in %.1f s (%s)", why, e.Wait.Seconds(), e.Text))
		told = f.event("retry")
		told.Attempt = f.try
		told.Error = OneLine(why)
		told.Code = code
		told.Delay = seconds(e.Wait)
	}
	if r.mode != None {
		r.say(told, f.name+": "+text)
	}
}

// endFile shows the end of a file of which something was fetched.
func (r *Run) endFile(f *file, done download.Result, err error) {
	if r.lone {
		r.stop()
	}
	if err != nil {
		kept := ""
		over := errors.Is(err, ftpexec.ErrMore) || errors.Is(err, ftpexec.ErrFewer)
		if r.lone && done.Kept > 0 && !over {
			kept = "; " + printable.Size(done.Kept) + " kept: the same command resumes"
		}
		r.p.failed(f.event("error"), err, kept)
		return
	}
	now := r.p.now()
	left := done.Left != ""
	f.total = done.Size
	if !left {
		f.flow(r, done.Resumed, done.Size, now)
		f.done = done.Size
	}
	if r.p.Quiet || !r.shows(left) {
		return
	}
	e := f.event("done")
	e.Skipped = left
	e.Verified = done.Verified
	text := done.Left + ", left alone"
	if !left {
		took := now.Sub(f.made)
		e.Seconds = seconds(took)
		e.Rate = average(f.done-f.offset, took)
		text = ending(f.done-f.offset, took)
	}
	if f.offset > 0 && !left {
		text += "; " + printable.Size(done.Size) + " in all"
	}
	if done.Verified != "" {
		text += " (verified: " + OneLine(done.Verified) + ")"
	}
	if r.p.Progress == Plain { // the user asked for all lines
		r.p.say(e, f.name+": "+text)
		return
	}
	r.say(e, f.name+": "+text)
}

// shows reports whether the end of a file gets a line. One of many files that was left alone gets a line only where
// those of the other files do not scroll by.
func (r *Run) shows(left bool) bool {
	switch r.mode {
	case JSON:
		return true
	case Bar:
		return left || r.lone
	case None:
		return left && r.lone
	}
	return r.lone || r.p.Progress == Plain && !left // Progress is Plain only if the user asked for it
}
