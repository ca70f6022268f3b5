package main

import (
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// lane takes a slot and works with it, again and again.
func (w *worker) lane() {
	for w.ctx.Err() == nil {
		changed := [...]<-chan struct{}{w.queued.changed.next(), w.lists.changed.next(), w.slots.changed.next()}
		h, msg := w.find()
		if h == nil { // nothing to do, or no room
			select {
			case <-changed[0]:
			case <-changed[1]:
			case <-changed[2]:
			case <-time.After(slotTTL / 5):
			case <-w.ctx.Done():
			}
			continue
		}
		for h != nil && msg != nil {
			w.busy.Add(1)
			h = w.chunk(h, msg)
			w.last.Store(time.Now().UnixNano())
			w.busy.Add(-1)
			if msg = nil; h != nil && !h.due() && w.first(h.queue) {
				msg = h.fetch()
			}
		}
		if h != nil {
			h.release()
			wait(w.ctx, time.Duration(rand.Int64N(int64(slotTTL/10)))) // others come first
		}
	}
}

// find takes a slot of a host that has work, and the work.
func (w *worker) find() (*hand, jetstream.Msg) {
	for _, q := range w.queues() {
		from := w.consumer(q)
		if from == nil {
			continue
		}
		if w.free(q.host) == 0 {
			w.raise(w.ctx, q.host)
			continue
		}
		h := w.take(q, from)
		if h == nil {
			continue
		}
		if from.CachedInfo().NumPending == 0 { // who has more than one file may give some
			_ = w.Publish(hungrySubject(q.host), nil)
		}
		if msg := h.fetch(); msg != nil {
			return h, msg
		}
		w.dry.Store(q.key(), time.Now())
		h.release()
	}
	return nil, nil
}

func (h *hand) fetch() jetstream.Msg {
	msg, err := h.from.Next(jetstream.FetchMaxWait(time.Second))
	if err == nil && h.ctx.Err() != nil { // it would be nobody's for a minute
		_ = msg.Nak()
		return nil
	}
	return msg
}
