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
		s, msg := w.find()
		if s == nil { // nothing to do, or no room
			select {
			case <-changed[0]:
			case <-changed[1]:
			case <-time.After(slotTTL / 5):
			case <-w.ctx.Done():
			}
			continue
		}
		for s != nil && msg != nil {
			w.busy.Add(1)
			s = w.chunk(s, msg)
			w.last.Store(time.Now().UnixNano())
			w.busy.Add(-1)
			if msg = nil; s != nil && !s.due() {
				msg = s.fetch()
			}
		}
		if s != nil {
			s.release()
			wait(w.ctx, time.Duration(rand.Int64N(int64(slotTTL/10)))) // others come first
		}
	}
}

// find takes a slot of a host that has work, and the work.
func (w *worker) find() (*slot, jetstream.Msg) {
	keys := w.hosts.keys()
	rand.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	for _, key := range keys {
		from := w.queue(key)
		if from == nil {
			continue
		}
		if w.free(key) == 0 {
			w.raise(w.ctx, key)
			continue
		}
		s := w.acquire(w.ctx, key)
		if s == nil {
			continue
		}
		s.from = from
		if msg := s.fetch(); msg != nil {
			return s, msg
		}
		w.dry.Store(key, time.Now())
		s.release()
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

func (s *slot) fetch() jetstream.Msg {
	msg, err := s.from.Next(jetstream.FetchMaxWait(time.Second))
	if err == nil && s.ctx.Err() != nil { // it would be nobody's for a minute
		_ = msg.Nak()
		return nil
	}
	return msg
}
