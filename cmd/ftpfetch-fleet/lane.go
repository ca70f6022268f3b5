package main

import (
	"cmp"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// lane takes a slot and works with it, again and again.
func (w *worker) lane() {
	const soon = 10 // fractions of slotTTL
	for pause := slotTTL / soon; w.ctx.Err() == nil; {
		changed := w.changed.next()
		h, msg, full := w.find()
		if len(full) > 0 { // there is something to do, but no slot for it
			w.last.Store(time.Now().UnixNano())
		}
		if h == nil { // no work, or no free slot
			w.idle(changed, pause, full)
			pause = min(2*pause, slotTTL/2)
			continue
		}
		pause = slotTTL / soon
		for h != nil && msg != nil {
			w.busy.Add(1)
			h = w.chunk(h, msg)
			w.last.Store(time.Now().UnixNano())
			w.busy.Add(-1)
			msg = nil
			if h != nil && !h.due() && w.first(h.queue) {
				msg = h.fetch()
			}
		}
		if h != nil {
			h.release()
			wait(w.ctx, time.Duration(rand.Int64N(int64(slotTTL/20)))) // so that others come first
		}
	}
}

// idle waits until something has changed, or for a pause: a random one, so that the lanes of a large fleet do not all ask
// at once when nothing has.
func (w *worker) idle(changed <-chan struct{}, pause time.Duration, full []string) {
	for _, host := range full {
		if sub, err := w.await(host); err == nil {
			defer sub.Unsubscribe()
		}
	}
	select {
	case <-changed:
	case <-time.After(pause/2 + rand.N(pause)):
	case <-w.ctx.Done():
	}
}

// mostAsked is how many queues a lane asks before it pauses.
const mostAsked = 4

// find takes a slot of a host that has work, and a chunk of that work. Otherwise it returns the hosts, and
// jobs, that have work but no free slot.
func (w *worker) find() (_ *lease, _ jetstream.Msg, full []string) {
	asked := 0
	for _, q := range w.queues() {
		if key := w.lacks(q); key != "" {
			full = append(full, key)
			continue
		}
		asked++
		if asked > mostAsked {
			break
		}
		from := w.consumer(q)
		if from == nil {
			continue
		}
		h := w.take(q, from)
		if h == nil {
			key := cmp.Or(w.lacks(q), q.host)
			full = append(full, key)
			if key == q.host {
				w.raise(w.ctx, key)
			}
			continue
		}
		if from.CachedInfo().NumPending == 0 { // lanes with several files may give some
			_ = w.Publish(w.subject("idle", q.host), nil)
		}
		if msg := h.fetch(); msg != nil {
			return h, msg, nil
		}
		w.dry.Store(q.key(), time.Now())
		h.release()
	}
	return nil, nil, full[:min(len(full), mostAsked)]
}

func (h *lease) fetch() jetstream.Msg {
	msg, err := h.from.Next(jetstream.FetchMaxWait(time.Second))
	if err == nil && h.ctx.Err() != nil { // without Nak, no worker would get it for a minute
		_ = msg.Nak()
		return nil
	}
	return msg
}
