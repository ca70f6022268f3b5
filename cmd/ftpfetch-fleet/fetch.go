package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/cli"
	"example.com/ftpfetch/internal/cli/report"
	"example.com/ftpfetch/internal/cli/show"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/retry"
	"example.com/ftpfetch/internal/schedule"
	"example.com/ftpfetch/urlparse"
)

// ledgerName begins the name of a worker's ledger. Machines that append to the same file would lose lines.
const ledgerName = ".ftpfetch-ledger"

var (
	errFull  = errors.New("the server has too many connections")
	errGone  = errors.New("the server does not serve")
	errShort = errors.New("not every file has an outcome")
	errLocal = fmt.Errorf("this machine cannot save files: %w", download.ErrLocal)
)

// mostRounds is how often a host that does not serve is tried again, before its files fail.
const mostRounds = 4

// chunk fetches the files of a chunk and tells the server what became of them. It returns the hand, if its slot is still had.
func (w *worker) chunk(h *hand, msg jetstream.Msg) *hand {
	defer retry.Every(ackWait/3, func() { _ = msg.InProgress() })()
	c, err := readChunk(msg.Headers(), msg.Data())
	if c.Job == "" {
		w.line("a chunk is of another version of this program: %v", err)
		_ = msg.NakWithDelay(ackWait)
		return h
	}
	switch cancelled, jerr := w.cancelled(c); {
	case cancelled:
		_ = msg.Term()
		return h
	case jerr != nil:
		_ = msg.Nak()
		return h
	case w.known(c): // an acknowledgement was lost, or came too late
		w.ack(c, msg, nil)
		return h
	case err != nil:
		o := newOutcome(w, c)
		o.unreadable(c, err)
		if w.publish(c, o) {
			w.ack(c, msg, o)
		}
		return h
	case !w.begin(c):
		_ = msg.Nak()
		return h
	}
	o := newOutcome(w, c)
	if h = w.tries(h, c, o, msg); o.missing() > 0 {
		w.leave(c)
		return h
	}
	if w.publish(c, o) {
		w.ack(c, msg, o)
	}
	return h
}

// tries tries until all files of a chunk have an outcome. If that is not to be here, it gives the chunk back.
func (w *worker) tries(h *hand, c *chunk, o *outcome, msg jetstream.Msg) *hand {
	for {
		err := w.try(h, c, o)
		if err == nil {
			return h
		}
		if errors.Is(err, errLocal) { // another worker can
			w.stop(err)
		}
		if w.ctx.Err() != nil {
			_ = msg.Nak()
			return h
		}
		h.release()
		if errors.Is(err, errShort) && o.rounds >= mostRounds {
			w.line("%v", err)
			_ = msg.NakWithDelay(ackWait)
			return nil
		}
		pause := slotTTL / 10
		if errors.Is(err, errFull) {
			w.lower(w.ctx, h.host)
			pause = settle // so that this lane has no slot while another one counts them
		}
		// The files so far are here: another worker would fetch them again.
		if h = w.again(h, pause<<min(o.rounds-1, 4)); h == nil {
			_ = msg.NakWithDelay(slotTTL / 3)
			return nil
		}
	}
}

// again waits, and takes a slot in place of one that was released; nil if there is none for a while.
func (w *worker) again(before *hand, pause time.Duration) *hand {
	for end := time.Now().Add(pause + 6*slotTTL); wait(w.ctx, pause) && time.Now().Before(end); pause = slotTTL / 10 {
		if h := w.take(before.host, before.from); h != nil {
			return h
		}
	}
	return nil
}

// try fetches what is left of a chunk with a slot. The error says why it is not over; it is not about a file.
func (w *worker) try(h *hand, c *chunk, o *outcome) error {
	ctx, cancel := context.WithCancelCause(h.ctx)
	defer cancel(nil)
	o.ctx, o.end, o.rounds = ctx, cancel, o.rounds+1
	_, err := batch.Run(localfile.WithAttempt(ctx, c.part()), &source{h, cancel}, o.left(), batch.Options{
		Jobs: 1, PerHost: 1, Ledger: w.ledger, Each: c.Terms.each(w.root), Timeout: c.Terms.Timeout, Events: o.event,
	})
	switch {
	case o.missing() == 0:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, download.ErrLocal): // nothing was retrieved
		w.line("%v", err)
		return errLocal
	}
	if o.twice(); o.missing() == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d of the %d files of a chunk", errShort, o.missing(), len(c.Items))
}

// outcome is what became of the files of a chunk, over all tries.
type outcome struct {
	w      *worker
	items  []item
	rows   bytes.Buffer
	report *report.File
	done   []*tally // of each item; nil: it has no outcome yet
	tally  tally    // of all
	ctx    context.Context
	end    context.CancelCauseFunc
	rounds int
	sizes  map[*batch.Task]int64 // of what has come
}

type tally struct {
	Ended    int64 `json:"ended"` // files
	Complete int64 `json:"complete"`
	Before   int64 `json:"before"` // of those that are complete
	Failed   int64 `json:"failed"`
	Bytes    int64 `json:"bytes"`
	Code     int   `json:"code"` // the exit code of the first failure
}

func newOutcome(w *worker, c *chunk) *outcome {
	o := &outcome{w: w, items: c.Items, done: make([]*tally, len(c.Items)), sizes: make(map[*batch.Task]int64)}
	o.report, _ = report.Create("-", w.where, &o.rows)
	return o
}

// left returns the files that have no outcome yet. One that this worker cannot read fails. The Line of a task is its place
// in the chunk, from 1 on.
func (o *outcome) left() iter.Seq[batch.Task] {
	var left []batch.Task
	for at, i := range o.items {
		if o.done[at] != nil {
			continue
		}
		m, err := i.unpack()
		if err != nil {
			o.fail(at, fmt.Errorf("this worker cannot read what add has sent, use one version of ftpfetch-fleet: %w", err))
			continue
		}
		m.Line = at + 1
		left = append(left, batch.Task{Item: m})
	}
	return slices.Values(left)
}

// fail is the outcome of a file that was not tried.
func (o *outcome) fail(at int, err error) {
	text, code := cli.Explain(err)
	i := o.items[at]
	row := report.Row{Version: 1, Line: i.Line, Path: filepath.Join(o.w.where, i.path()), Status: "failed", Error: show.OneLine(text), Code: code}
	if len(i.URLs) > 0 {
		row.URL = i.URLs[0]
	}
	_ = o.report.Write(row) // to memory
	o.count(at, tally{Ended: 1, Failed: 1, Code: code})
}

// unreadable is the outcome of a chunk of which only the number of its files can be read.
func (o *outcome) unreadable(c *chunk, err error) {
	text := fmt.Sprintf("a worker cannot read the %d files of a chunk, use one version of ftpfetch-fleet: %v", c.files, err)
	_ = o.report.Write(report.Row{Version: 1, Status: "failed", Error: show.OneLine(text), Code: exitOther})
	o.tally = tally{Ended: c.files, Failed: c.files, Code: exitOther}
	o.w.files.Add(c.files)
	o.w.failed.Add(c.files)
}

// count notes the outcome of a file.
func (o *outcome) count(at int, t tally) {
	o.done[at] = &t
	o.tally.join(t)
	o.w.files.Add(t.Ended)
	o.w.failed.Add(t.Failed)
}

// twice gives a file that a chunk names twice its outcome a second time: package batch tells only of the first.
func (o *outcome) twice() {
	first := make(map[string]*tally)
	for at, i := range o.items {
		if t := o.done[at]; t != nil {
			first[localfile.Key(i.path())] = t
		}
	}
	for at, i := range o.items {
		if t := first[localfile.Key(i.path())]; o.done[at] == nil && t != nil {
			o.count(at, tally{Ended: 1, Complete: t.Complete, Before: t.Complete, Failed: t.Failed, Code: t.Code})
		}
	}
}

// missing returns how many files have no outcome.
func (o *outcome) missing() (n int) {
	for _, t := range o.done {
		if t == nil {
			n++
		}
	}
	return n
}

func (o *outcome) event(e batch.Event) {
	if e.Task == nil {
		return
	}
	if e.Kind != download.Ended {
		if o.w.tell(e); e.Kind == download.Progress {
			o.w.bytes.Add(max(0, e.Done-o.sizes[e.Task]))
			o.sizes[e.Task] = e.Done
		}
		return
	}
	delete(o.sizes, e.Task)
	if why := o.passes(e.Err); why != nil {
		o.end(why)
		return
	}
	at := e.Task.Line - 1
	text, code := cli.Explain(e.Err)
	e.Task.Line = o.items[at].Line
	_ = o.report.Add(e, show.OneLine(text), code) // to memory
	o.w.tell(e)
	t := tally{Ended: 1, Failed: 1, Code: code}
	if e.Err == nil {
		t = tally{Ended: 1, Complete: 1, Bytes: e.Result.Size}
	}
	if e.Result.Left != "" {
		t.Before = 1
	}
	o.count(at, t)
}

// passes returns why a failure is not about the file: the machine's disk is full, or the host serves nobody for a while.
func (o *outcome) passes(err error) error {
	_, givenUp := errors.AsType[*schedule.GivenUp](err)
	local, _ := errors.AsType[*localfile.Error](err)
	switch {
	case err == nil || o.ctx.Err() != nil:
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EIO),
		localfile.Failed(err), local != nil && strings.HasPrefix(filepath.Base(local.Path), ledgerName):
		o.w.line("%v", err)
		return errLocal
	case errors.Is(err, ftpexec.ErrLogin), errors.Is(err, ftpexec.ErrNoCredentials):
	case o.rounds < mostRounds && (givenUp || retry.NoService(err)):
		return errGone
	}
	return nil
}

// source is the Client of a lane. It notes when a server has too many connections, and has no method that does not: none
// is promoted.
type source struct {
	hand *hand
	end  context.CancelCauseFunc // of the try
}

func (o *source) Do(ctx context.Context, req *ftpexec.Request) (*ftpexec.Response, error) {
	r, err := o.hand.client.Do(ctx, req)
	return r, o.judge(ctx, req.URL, err)
}

func (o *source) Stat(ctx context.Context, u *urlparse.URL) (ftpexec.Entry, error) {
	e, err := o.hand.client.Stat(ctx, u)
	return e, o.judge(ctx, u, err)
}

func (o *source) Hash(ctx context.Context, u *urlparse.URL, algorithm string) ([]byte, error) {
	sum, err := o.hand.client.Hash(ctx, u, algorithm)
	return sum, o.judge(ctx, u, err)
}

func (o *source) List(ctx context.Context, u *urlparse.URL) iter.Seq2[ftpexec.Entry, error] {
	return o.listing(ctx, u, o.hand.client.List(ctx, u))
}

func (o *source) Entries(ctx context.Context, u *urlparse.URL) iter.Seq2[ftpexec.Entry, error] {
	return o.listing(ctx, u, o.hand.client.Entries(ctx, u))
}

func (o *source) listing(ctx context.Context, u *urlparse.URL, all iter.Seq2[ftpexec.Entry, error]) iter.Seq2[ftpexec.Entry, error] {
	return func(yield func(ftpexec.Entry, error) bool) {
		for e, err := range all {
			if !yield(e, o.judge(ctx, u, err)) {
				return
			}
		}
	}
}

// CloseIdleConnections gives back the slots of connections without work, except the lane's own.
func (o *source) CloseIdleConnections() { o.hand.client.CloseIdleConnections() }

// judge lowers the ceiling of a server that is full. If that is the lane's own, the try ends, and the slot is released first.
func (o *source) judge(ctx context.Context, u *urlparse.URL, err error) error {
	switch host := hostKey(u.Address()); {
	case !errors.Is(err, ftpexec.ErrTooMany):
	case host == o.hand.host:
		o.end(errFull)
	default:
		o.hand.w.lower(ctx, host)
	}
	return err
}
