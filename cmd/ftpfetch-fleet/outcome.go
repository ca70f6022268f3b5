package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"example.com/ftpfetch/cmd/internal/cli"
	"example.com/ftpfetch/cmd/internal/cli/report"
	"example.com/ftpfetch/cmd/internal/cli/show"
	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec/retry"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/internal/schedule"
	"example.com/ftpfetch/urlparse"
)

// outcome records what became of the files of a chunk, over all tries.
type outcome struct {
	w    *worker
	c    *chunk
	rows bytes.Buffer
	done []*tally // by item; nil: no outcome yet
	// the items that could not be fetched in this try, although the server did not refuse them
	noted  map[int]bool
	tally  tally // of all items
	ctx    context.Context
	end    context.CancelCauseFunc
	rounds int
	sizes  map[*download.Task]int64 // bytes received
	open   []*object                // of this try
	events sync.Mutex               // held while recording an event

	sharing sync.Mutex // held while giving files to others
	backlog *backlog   // of this try
	shut    bool       // no more files may be given away
}

// tally counts the files of a chunk, or of a job.
type tally struct {
	Ended    int64 `json:"ended"` // number of files
	Complete int64 `json:"complete"`
	Before   int64 `json:"before"` // number of complete files that were there before
	Failed   int64 `json:"failed"`
	Bytes    int64 `json:"bytes"`
	Code     int   `json:"code"` // the exit code of the first failure
	// By counts the failed files by exit code, host and worker, separated by spaces.
	By      map[string]int64 `json:"by,omitempty"`
	Rest    int              `json:"rest,omitempty"`    // chunks split from this one: the record is not a result
	Retried int64            `json:"retried,omitempty"` // earlier failures that were put back
	Lost    int64            `json:"lost,omitempty"`    // failed files that cannot be retried
}

func newOutcome(w *worker, c *chunk) *outcome {
	return &outcome{
		w: w, c: c, done: make([]*tally, len(c.Items)), noted: make(map[int]bool),
		sizes: make(map[*download.Task]int64),
	}
}

// left returns the files that have no outcome yet. A file whose item this worker cannot read fails. The Line of a task
// is its index in the chunk plus 1. Of several files with the same path, only the first is tried.
func (o *outcome) left() *backlog {
	o.sharing.Lock()
	defer o.sharing.Unlock()
	var left []download.Task
	met := make(map[string]bool)
	for at, i := range o.c.Items {
		key := i.path()
		if o.done[at] != nil || o.c.given[at] || met[key] {
			continue
		}
		m, err := i.unpack()
		if err != nil {
			err = fmt.Errorf("this worker cannot read what add has sent, use one version of ftpfetch-fleet: %w", err)
			o.fail(at, "", err)
			continue
		}
		met[key] = true
		m.Line = at + 1
		left = append(left, download.TaskOf(m))
	}
	o.backlog = newBacklog(left)
	return o.backlog
}

// fail records the failure of a file that was not tried, because of err. why comes before what is said of that.
func (o *outcome) fail(at int, why string, err error) {
	text, code := cli.Explain(err)
	text = why + text
	i := o.c.Items[at]
	row := report.Row{
		Version: 1, Line: i.Line, Path: i.path(),
		Status: "failed", Error: show.OneLine(text), Code: code,
	}
	if len(i.URLs) > 0 {
		row.URL = i.URLs[0]
	}
	o.keep(row, &i)
	o.tellFailed(at, text)
	o.count(at, tally{Ended: 1, Failed: 1, Code: code})
}

// failRest records the failure of all files that have no outcome.
func (o *outcome) failRest(why string, cause error) {
	o.sharing.Lock()
	defer o.sharing.Unlock()
	o.shut = true
	for at := range o.c.Items {
		if o.done[at] == nil && !o.c.given[at] {
			o.fail(at, why, cause)
		}
	}
}

func (o *outcome) tellFailed(at int, cause string) {
	c := o.c
	o.w.log.Warn("a file has failed", "job", c.Job, "chunk", c.ID, "host", c.Host,
		"file", c.Items[at].path(), "cause", show.OneLine(cause))
}

// stored is a row in a result: a row of the report, and the item of a file that has failed.
type stored struct {
	report.Row
	Item *item `json:"item,omitempty"`
}

// keep adds a row, with where the file is and, for a failed file, its item.
func (o *outcome) keep(row report.Row, failed *item) {
	o.rows.Write(printable.JSON(stored{row.At(o.w.where + row.Path), failed}))
}

// unreadable records the outcome of a chunk of which only the number of files can be read.
func (o *outcome) unreadable(err error) {
	n := o.c.files
	text := fmt.Sprintf("a worker cannot read the %d files of a chunk, use one version of ftpfetch-fleet: %v", n, err)
	o.rows.Write(printable.JSON(report.Row{Version: 1, Status: "failed", Error: show.OneLine(text), Code: exitOther}))
	o.tally = tally{Ended: n, Failed: n, Code: exitOther, Lost: n,
		By: map[string]int64{o.by(exitOther): n}}
	o.w.files.Add(n)
}

func (o *outcome) by(code int) string {
	return fmt.Sprintf("%d %s %s", code, cmp.Or(o.c.Host, "-"), keyOf(o.w.name))
}

// count records the outcome of a file.
func (o *outcome) count(at int, t tally) {
	if t.Failed > 0 {
		t.By = map[string]int64{o.by(t.Code): t.Failed}
	}
	o.done[at] = &t
	o.tally.join(t)
	o.w.files.Add(t.Ended)
}

// twice repeats the outcome of a file that a chunk names twice, because download.Run reports only the first.
func (o *outcome) twice() {
	o.sharing.Lock() // a worker without work may take some of the files at this moment
	defer o.sharing.Unlock()
	first := make(map[string]*tally)
	for at, i := range o.c.Items {
		if t := o.done[at]; t != nil {
			first[i.path()] = t
		}
	}
	for at, i := range o.c.Items {
		t := first[i.path()]
		if o.done[at] == nil && !o.c.given[at] && t != nil {
			o.count(at, tally{Ended: 1, Complete: t.Complete, Before: t.Complete,
				Failed: t.Failed, Code: t.Code})
		}
	}
}

// missing returns how many files still need an outcome in this chunk.
func (o *outcome) missing() (n int) {
	o.sharing.Lock()
	defer o.sharing.Unlock()
	for at, t := range o.done {
		if t == nil && !o.c.given[at] {
			n++
		}
	}
	return n
}

func (o *outcome) event(e download.Event) {
	if e.Task == nil {
		if e.Kind == download.Noted && isDisk(e.Err) { // the ledger can no longer be written; the next chunk fails
			o.w.line("%v", e.Err)
		}
		return
	}
	o.events.Lock()
	defer o.events.Unlock()
	if e.Kind != download.Ended {
		if e.Kind == download.Progress {
			o.w.bytes.Add(max(0, e.Done-o.sizes[e.Task]))
			o.sizes[e.Task] = e.Done
		}
		return
	}
	delete(o.sizes, e.Task)
	at := e.Task.Line - 1
	defer o.backlog.end(e.Result.Left != "")
	if to, ok := e.Task.Writer.(*object); ok {
		e.Err = to.end(&e.Result, e.Err)
	}
	if why := o.passes(at, e); why != nil || o.noted[at] {
		if why != nil {
			o.end(why)
		}
		return
	}
	text, code := cli.Explain(e.Err)
	e.Task.Line = o.c.Items[at].Line
	t := tally{Ended: 1, Failed: 1, Code: code}
	failed := &o.c.Items[at]
	if e.Err == nil {
		t = tally{Ended: 1, Complete: 1, Bytes: e.Result.Size}
		failed = nil
	} else {
		o.tellFailed(at, text)
	}
	o.keep(report.RowOf(e, show.OneLine(text), code), failed)
	if e.Result.Left != "" {
		t.Before = 1
	}
	o.count(at, t)
}

// passes returns why a failure does not count against the file, and ends the try: the machine's disk is full, the host
// serves nobody for a while, or it does not serve this worker. It notes a file that this machine cannot save, for other
// workers to try.
func (o *outcome) passes(at int, e download.Event) error {
	err := e.Err
	_, givenUp := errors.AsType[*schedule.GivenUp](err)
	switch {
	case err == nil || o.ctx.Err() != nil:
		return nil
	case isDisk(err), isHere(err) && o.w.sink != nil && o.w.usable(o.ctx) != nil:
		o.w.line("%v", err)
		return errLocal
	case isLogin(err), givenUp, retry.NoService(err), aboutHost(err):
		return o.unserved(at, urlOf(err, e.Task.URLs[0]), err)
	}
	o.noted[at] = isHere(err) && !o.w.agrees(o.c)
	return nil
}

// unserved does what passes does, for a URL that this worker is not served.
func (o *outcome) unserved(at int, u *urlparse.URL, err error) error {
	gone := o.w.gates.gone(u) != nil
	if !gone && o.rounds < mostRounds {
		return errGone
	}
	if !gone && aboutHost(err) {
		o.w.depart(u, err)
	}
	host := hostKey(o.c.Host)
	switch _, away := o.w.gates.away(host); {
	case o.w.hopeless(host): // the file fails
	case away:
		return errLeft
	default:
		o.noted[at] = !o.w.agrees(o.c)
	}
	return nil
}

// isDisk reports whether an error would occur on this machine with any file.
func isDisk(err error) bool {
	local, _ := errors.AsType[*localfile.Error](err)
	for _, cause := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO} {
		if errors.Is(err, cause) {
			return true
		}
	}
	return localfile.Failed(err) ||
		local != nil && strings.HasPrefix(filepath.Base(local.Path), ledgerName)
}

// isHere reports whether an error comes from this machine's disk, and not from the file's name in the list.
func isHere(err error) bool {
	local, ok := errors.AsType[*localfile.Error](err)
	return ok && !local.Elsewhere && !errors.Is(err, localfile.ErrName) &&
		!errors.Is(err, fs.ErrExist)
}
