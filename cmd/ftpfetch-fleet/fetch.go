package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/cli"
	"example.com/ftpfetch/internal/cli/show"
	"example.com/ftpfetch/internal/localfile"
	"example.com/ftpfetch/internal/report"
	"example.com/ftpfetch/internal/retry"
	"example.com/ftpfetch/internal/schedule"
	"example.com/ftpfetch/urlparse"
)

// ledgerName begins the name of a worker's ledger. Machines that append to the same file would lose lines.
const ledgerName = ".ftpfetch-ledger"

var (
	errFull  = errors.New("the server has too many connections")
	errGone  = errors.New("the server does not serve")
	errLocal = fmt.Errorf("this machine cannot save files: %w", download.ErrLocal)
)

// mostRounds is how often a host that does not serve is tried again, before its files fail.
const mostRounds = 4

// chunk fetches the files of a chunk and tells the server what became of them. It returns the slot, if it is still had.
func (w *worker) chunk(s *slot, msg jetstream.Msg) *slot {
	defer retry.Every(ackWait/3, func() { _ = msg.InProgress() })()
	c := new(chunk)
	switch err := json.Unmarshal(msg.Data(), c); {
	case err != nil:
		_ = msg.Term()
		return s
	case w.known(c): // an acknowledgement was lost, or came too late
		w.ack(c, msg, new(outcome))
		return s
	case !w.begin(c):
		_ = msg.Nak()
		return s
	}
	o := newOutcome(w, c)
	for {
		err := w.try(s, c, o)
		if err == nil {
			break
		}
		if errors.Is(err, errLocal) { // another worker can
			w.stop(err)
		}
		if w.ctx.Err() != nil {
			_ = msg.Nak()
			return s
		}
		s.release()
		pause := slotTTL / 10
		if errors.Is(err, errFull) {
			w.lower(w.ctx, s.host)
			pause = settle // so that this lane has no slot while another one counts them
		}
		// The files so far are here: another worker would fetch them again.
		if s = w.again(s, pause<<min(o.rounds-1, 4)); s == nil {
			_ = msg.NakWithDelay(slotTTL / 3)
			return nil
		}
	}
	if w.publish(c, o) {
		w.ack(c, msg, o)
	}
	return s
}

// again waits, and takes a slot in place of one that was released; nil if there is none for a while.
func (w *worker) again(before *slot, pause time.Duration) *slot {
	for end := time.Now().Add(pause + 6*slotTTL); wait(w.ctx, pause) && time.Now().Before(end); pause = slotTTL / 10 {
		if s := w.acquire(w.ctx, before.host); s != nil {
			s.from = before.from
			return s
		}
	}
	return nil
}

// try fetches what is left of a chunk with a slot. The error says why it is not over; it is not about a file.
func (w *worker) try(s *slot, c *chunk, o *outcome) error {
	ctx, cancel := context.WithCancelCause(s.ctx)
	defer cancel(nil)
	o.ctx, o.end, o.rounds = ctx, cancel, o.rounds+1
	src := &source{Client: s.client, slot: s, cancel: cancel}
	defer func() { src.other.release() }()
	each := c.Terms.each()
	each.Root = w.root
	_, err := batch.Run(localfile.WithAttempt(ctx, c.attempt(w.attempt)), src, o.left(), batch.Options{
		Jobs: 1, PerHost: 1, Ledger: w.ledger, Each: each, Timeout: c.Terms.Timeout, Events: o.event,
	})
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil && errors.Is(err, download.ErrLocal) && len(o.done) == 0:
		w.line("%v", err)
		return errLocal
	}
	return nil
}

// outcome is what became of the files of a chunk, over all tries.
type outcome struct {
	w      *worker
	items  []item
	rows   bytes.Buffer
	report *report.File
	done   map[string]bool // by path: whether it left no part
	tally  tally
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
	o := &outcome{w: w, items: c.Items, done: make(map[string]bool), sizes: make(map[*batch.Task]int64)}
	o.report, _ = report.Create("-", w.where, &o.rows)
	return o
}

func (o *outcome) left() iter.Seq[batch.Task] {
	var left []batch.Task
	for _, i := range o.items {
		m, err := i.unpack()
		if _, ended := o.done[m.Path]; err == nil && !ended { // the list was checked
			left = append(left, batch.Task{Item: m})
		}
	}
	return slices.Values(left)
}

func (o *outcome) event(e batch.Event) {
	if e.Task == nil {
		return
	}
	if e.Kind != batch.Ended {
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
	text, code := cli.Explain(e.Err)
	_ = o.report.Add(e, show.OneLine(text), code) // to memory
	o.done[e.Task.Path] = e.Err == nil && e.Result.Left == ""
	if o.w.files.Add(1); e.Err != nil {
		o.w.failed.Add(1)
	}
	o.w.tell(e)
	t := tally{Ended: 1, Failed: 1, Code: code}
	if e.Err == nil {
		t = tally{Ended: 1, Complete: 1, Bytes: e.Result.Size}
	}
	if e.Result.Left != "" {
		t.Before = 1
	}
	o.tally.join(t)
}

// passes returns why a failure is not about the file: the machine's disk is full, or the host serves nobody for a while.
func (o *outcome) passes(err error) error {
	_, givenUp := errors.AsType[*schedule.GivenUp](err)
	switch {
	case err == nil || o.ctx.Err() != nil:
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EIO):
		o.w.line("%v", err)
		return errLocal
	case errors.Is(err, ftpexec.ErrLogin), errors.Is(err, ftpexec.ErrNoCredentials):
	case o.rounds < mostRounds && (givenUp || retry.NoService(err)):
		return errGone
	}
	return nil
}

// source is the Client of a slot, and asks for one of each other host. It notes when a server has too many connections.
type source struct {
	*ftpexec.Client
	slot   *slot
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	other *slot
}

func (o *source) Do(ctx context.Context, req *ftpexec.Request) (*ftpexec.Response, error) {
	c, err := o.at(ctx, req.URL)
	if err != nil {
		return nil, err
	}
	r, err := c.Do(ctx, req)
	return r, o.judge(c, err)
}

func (o *source) Stat(ctx context.Context, u *urlparse.URL) (ftpexec.Entry, error) {
	c, err := o.at(ctx, u)
	if err != nil {
		return ftpexec.Entry{}, err
	}
	e, err := c.Stat(ctx, u)
	return e, o.judge(c, err)
}

// judge ends the try if its own server is full.
func (o *source) judge(c *ftpexec.Client, err error) error {
	if errors.Is(err, ftpexec.ErrTooMany) && c == o.Client {
		o.cancel(errFull)
	}
	return err
}

// at returns the Client for the host of a URL.
func (o *source) at(ctx context.Context, u *urlparse.URL) (*ftpexec.Client, error) {
	host := hostKey(u.Address())
	if host == o.slot.host {
		return o.Client, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.other != nil && o.other.host != host {
		o.other.release()
		o.other = nil
	}
	// Two lanes that wait for each other's hosts must not wait for ever.
	for end := time.Now().Add(3 * slotTTL); o.other == nil; {
		o.other = o.slot.w.acquire(ctx, host)
		if o.other == nil && (!wait(ctx, slotTTL/10) || time.Now().After(end)) {
			return nil, &ftpexec.Error{Op: "connect", URL: u.Redacted(), Err: errFull}
		}
	}
	return o.other.client, nil
}
