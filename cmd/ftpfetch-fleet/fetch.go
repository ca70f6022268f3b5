package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/time/rate"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/internal/local/ledger"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/timing"
)

// ledgerName is the start of the name of a worker's ledger. Machines that append to one file would lose lines.
const ledgerName = ledger.Name

var (
	errFull  = errors.New("the server has too many connections")
	errGone  = errors.New("the server does not serve")
	errShort = errors.New("not every file has an outcome")
	errLeft  = errors.New("this worker cannot fetch the files, but others may")
	errLocal = fmt.Errorf("this machine cannot save files: %w", download.ErrLocal)
)

// mostRounds is how often a host that does not serve is tried before its files fail.
const mostRounds = 4

// chunk fetches the files of a chunk and reports the result to the server. It returns the lease if that still has its
// slot.
func (w *worker) chunk(h *lease, msg jetstream.Msg) *lease {
	defer timing.Every(ackWait/3, func() { _ = msg.InProgress() })()
	c, err := readChunk(msg.Headers(), msg.Data())
	if c.Job == "" {
		w.line("a chunk is of another version of this program: %v", err)
		_ = msg.NakWithDelay(ackWait)
		return h
	}
	state, jerr := w.jobState(c)
	// The chunk may have been sent after the job's chunks were removed.
	cancelled := slices.Contains([]string{"cancelled", deleted}, state)
	done := false
	if jerr == nil && !cancelled {
		done, jerr = w.known(c)
	}
	switch {
	case cancelled:
		_ = msg.Term()
		return h
	case jerr != nil:
		_ = msg.Nak()
		return h
	case done: // an acknowledgement was lost, or came too late
		w.ack(c, msg, nil)
		return h
	case err != nil:
		o := newOutcome(w, c)
		o.unreadable(err)
		w.finish(c, msg, o)
		return h
	case slices.Contains(c.Not, w.name) && !w.agrees(c): // another worker is to try
		if isFirst(msg) {
			w.counts(c, -1)
		}
		_ = msg.NakWithDelay(slotTTL / 3)
		return h
	case w.deadly(c, msg):
		o := newOutcome(w, c)
		o.failRest("", errDeadly)
		w.finish(c, msg, o)
		return h
	case !w.begin(c):
		w.counts(c, -1)
		_ = msg.Nak()
		return h
	}
	w.has.add(c.Job, 1)
	defer w.has.add(c.Job, -1)
	o := newOutcome(w, c)
	h = w.tries(h, c, o, msg)
	o.sharing.Lock() // a share may be under way
	o.shut = true
	o.sharing.Unlock()
	if o.missing() > 0 {
		w.leave(c)
		w.counts(c, -1)
		return h
	}
	w.finish(c, msg, o)
	w.log.Info("a chunk is done", "job", c.Job, "chunk", c.ID, "host", c.Host,
		"files", o.tally.Ended, "failed", o.tally.Failed)
	return h
}

// finish gives the server the result of a chunk, after sending what the chunk has given away.
func (w *worker) finish(c *chunk, msg jetstream.Msg, o *outcome) {
	if w.dropped(c, msg, o) {
		return
	}
	if w.sendPieces(c) && w.publish(c, o) {
		w.ack(c, msg, o)
		return
	}
	_ = msg.Nak()
}

// shareWithIdle answers idle lanes until the subscription ends. Each message reaches one lane, which passes it on if it has
// nothing to give.
func (w *worker) shareWithIdle(host string, c *chunk, o *outcome) (*nats.Subscription, error) {
	return w.QueueSubscribe(w.subject("idle", host), "lanes", func(m *nats.Msg) {
		if !w.share(c, o) {
			_ = m.Sub.Unsubscribe()
			_ = w.Publish(m.Subject, nil)
		}
	})
}

// tries calls fetch until all files of a chunk have an outcome. If this worker cannot achieve that, it returns the
// chunk to the server.
func (w *worker) tries(h *lease, c *chunk, o *outcome, msg jetstream.Msg) *lease {
	for {
		err := w.fetch(h, c, o)
		if err == nil {
			return h
		}
		if errors.Is(err, errLocal) { // another worker can
			w.stop(err)
		}
		if errors.Is(err, errLocal) || errors.Is(err, errLeft) {
			w.giveBack(c, o, msg)
			return h
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
			if why, cause := w.shut(c); cause != nil {
				o.failRest(why, cause)
				return nil
			}
			pause = settle // until then this lane must have no slot that another lane would count
		}
		// Keep the chunk: another worker would fetch its complete files again.
		if h = w.again(h, pause<<min(o.rounds-1, 4)); h == nil {
			_ = msg.NakWithDelay(slotTTL / 3)
			return nil
		}
	}
}

// giveBack gives the files without an outcome to other workers. The outcomes so far become the chunk's result.
func (w *worker) giveBack(c *chunk, o *outcome, msg jetstream.Msg) {
	o.sharing.Lock()
	defer o.sharing.Unlock()
	o.shut = true
	if w.dropped(c, msg, o) {
		return
	}
	var rest, not piece
	for at := range c.Items {
		switch {
		case o.done[at] != nil || c.given[at]:
		case o.noted[at]:
			not.Items = append(not.Items, at)
		default:
			rest.Items = append(rest.Items, at)
		}
	}
	w.log.Warn("files go back", "job", c.Job, "chunk", c.ID, "host", c.Host, "files",
		len(rest.Items)+len(not.Items))
	rest.Not = c.Not
	not.Not = append(slices.Clone(c.Not), w.name)
	pieces := slices.DeleteFunc([]piece{rest, not}, func(p piece) bool { return len(p.Items) == 0 })
	if len(not.Items) == 0 && o.tally.Ended == 0 || !w.split(c, pieces) {
		_ = msg.Nak()
	}
}

// again waits, and takes a slot in place of a released one. It returns nil if there is none for a while.
func (w *worker) again(before *lease, pause time.Duration) *lease {
	end := time.Now().Add(pause + 6*slotTTL)
	for ; wait(w.ctx, pause) && time.Now().Before(end); pause = slotTTL / 10 {
		if h := w.take(before.queue, before.from); h != nil {
			return h
		}
	}
	return nil
}

// writable returns an error if the worker's ledger exists and cannot be opened for writing. download.Run would go on
// without it, but this worker may be killed, and another machine can do the chunk. ledger may be "".
func writable(root *os.Root, ledger string) error {
	if ledger == "" {
		return nil
	}
	f, err := root.OpenFile(ledger, os.O_WRONLY|os.O_APPEND, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return localfile.Failure(ledger, "the ledger cannot be used", err)
	}
	return f.Close()
}

// try fetches what is left of a chunk with a slot. The error says why files are left; it does not concern a single
// file.
func (w *worker) try(h *lease, c *chunk, o *outcome) error {
	if o.missing() == 0 { // other workers have the rest
		return nil
	}
	ctx, cancel := context.WithCancelCause(h.ctx)
	defer cancel(nil)
	o.ctx = ctx
	o.end = cancel
	o.rounds++
	clear(o.noted)
	each := c.Terms.each(w.root)
	if limit := h.rate(); limit < rate.Inf {
		limiter := rate.NewLimiter(limit, burst)
		each.Limit = limiter
		defer timing.Every(slotTTL/5, func() { limiter.SetLimit(h.rate()) })()
	}
	left := o.left()
	left.may = func() bool { return w.may(h.queue) }
	if sub, err := w.shareWithIdle(h.host, c, o); err == nil {
		defer sub.Unsubscribe()
	}
	from := &source{lease: h, end: cancel}
	tasks, ledger := left.tasks(ctx), w.ledger
	if w.sink != nil {
		tasks, ledger = o.toSink(ctx, from, tasks), ""
		defer o.drop()
	}
	if err := writable(each.Root, ledger); err != nil {
		w.line("%v", err)
		return errLocal
	}
	each.Attempt = c.part()
	_, err := download.Run(ctx, from, tasks, &download.RunOptions{
		Jobs: 1, PerHost: 1, Ledger: ledger,
		Each: each, Timeout: c.Terms.Timeout, Events: o.event,
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
	o.twice()
	switch n := o.missing(); {
	case n == 0:
		return nil
	case n == len(o.noted) || !w.may(h.queue):
		return errLeft
	default:
		return fmt.Errorf("%w: %d of the %d files of a chunk", errShort, n, len(c.Items))
	}
}
