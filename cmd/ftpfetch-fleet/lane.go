package main

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// lane takes a slot and works with it, again and again.
func (w *worker) lane() {
	for w.ctx.Err() == nil {
		changed := [...]<-chan struct{}{w.hosts.changed.next(), w.slots.changed.next()}
		h, msg := w.find()
		if h == nil { // nothing to do, or no room
			select {
			case <-changed[0]:
			case <-changed[1]:
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
			if msg = nil; h != nil && !h.due() {
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
	keys := w.hosts.names()
	rand.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	for _, key := range keys {
		if _, away := w.gates.away(key); away && !w.hopeless(key) {
			continue
		}
		from := w.queue(key)
		if from == nil {
			continue
		}
		if w.free(key) == 0 {
			w.raise(w.ctx, key)
			continue
		}
		h := w.take(key, from)
		if h == nil {
			continue
		}
		if from.CachedInfo().NumPending == 0 { // who has more than one file may give some
			_ = w.Publish(hungrySubject(key), nil)
		}
		if msg := h.fetch(); msg != nil {
			return h, msg
		}
		w.dry.Store(key, time.Now())
		h.release()
	}
	return nil, nil
}

// queue returns where the chunks of a host come from, or nil if there are none. What another worker has now may come back.
func (w *worker) queue(key string) jetstream.Consumer {
	var h host
	known, _ := w.hosts.get(key, &h) // changes with every job
	if dry, ok := w.dry.Load(key); ok && time.Since(dry.(time.Time)) < slotTTL/3 && known.seen.Before(dry.(time.Time)) {
		return nil
	}
	ctx, cancel := context.WithTimeout(w.ctx, asking)
	defer cancel()
	c, err := w.work.Consumer(ctx, key)
	if err != nil {
		return nil
	}
	if info := c.CachedInfo(); info.NumPending == 0 && info.NumAckPending == 0 {
		w.dry.Store(key, time.Now())
		return nil
	}
	return c
}

func (h *hand) fetch() jetstream.Msg {
	msg, err := h.from.Next(jetstream.FetchMaxWait(time.Second))
	if err == nil && h.ctx.Err() != nil { // it would be nobody's for a minute
		_ = msg.Nak()
		return nil
	}
	return msg
}
