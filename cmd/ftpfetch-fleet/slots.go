package main

import (
	"cmp"
	"context"
	crypto "crypto/rand"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"example.com/ftpfetch/ftpexec"
)

// slot is the right to one connection to one host from one egress. It is renewed until it is released, which happens
// after its connection is closed.
type slot struct {
	w    *worker
	host string // its key
	i    int    // below the ceiling, as long as that does not fall

	nonce string
	rev   uint64
	taken time.Time
	at    time.Time // when what the server granted last was asked for: it may have granted it any time later

	ctx    context.Context // of the work with it; ends when the slot is lost, with errSlot, and with the worker
	lose   context.CancelCauseFunc
	held   context.Context // ends when the slot is to be renewed no more
	let    context.CancelFunc
	kept   chan struct{} // closed when nobody renews it any more
	unused chan struct{} // has a value while no connection has the slot
}

var errSlot = errors.New("the slot could not be renewed in time")

func (s *slot) key() string { return s.w.egress + "." + s.host + "." + strconv.Itoa(s.i) }

// acquire takes a slot of a host, or returns nil if none seems to be free before ctx ends. The server creates a key only
// once. The slot does not end with ctx: a connection outlives what has opened it.
func (w *worker) acquire(ctx context.Context, host string) *slot {
	for _, i := range rand.Perm(w.limit(host)) { // so that lanes which start together do not all try the same one
		s := &slot{w: w, host: host, i: i, nonce: crypto.Text(), taken: time.Now()}
		if _, used := w.slots.get(s.key(), nil); used {
			continue
		}
		s.at = s.taken
		bounded, cancel := context.WithTimeout(ctx, slotTTL/3)
		rev, err := w.fleet.slots.Create(bounded, s.key(), []byte(s.nonce))
		if err != nil { // perhaps only the answer was lost
			rev, _ = s.mine(bounded)
		}
		cancel()
		if rev == 0 {
			continue
		}
		s.rev, s.kept, s.unused = rev, make(chan struct{}), make(chan struct{}, 1)
		s.unused <- struct{}{}
		s.ctx, s.lose = context.WithCancelCause(w.ctx)
		s.held, s.let = context.WithCancel(context.WithoutCancel(w.ctx))
		go s.keep()
		return s
	}
	return nil
}

// mine returns the revision of the slot if the server says that it is this one. gone means that it says the opposite.
func (s *slot) mine(ctx context.Context) (rev uint64, gone bool) {
	e, err := s.w.fleet.slots.Get(ctx, s.key())
	if err != nil {
		return 0, errors.Is(err, jetstream.ErrKeyNotFound)
	}
	if string(e.Value()) != s.nonce {
		return 0, true
	}
	return e.Revision(), false
}

// elapsed returns the time since t. One of its clocks stands still while the machine sleeps, the other one may be set.
func elapsed(t time.Time) time.Duration {
	now := time.Now()
	return max(now.Sub(t), now.Round(0).Sub(t.Round(0)))
}

// keep renews the slot every third of its time. After two thirds it is given up, before another lane can have it: what
// works with it ends, and so do its connections.
func (s *slot) keep() {
	defer close(s.kept)
	const end = 2
	for wait(s.held, slotTTL/30) {
		switch age := elapsed(s.at); {
		case age >= end*slotTTL/3:
			s.lose(errSlot)
			return
		case age >= slotTTL/3:
			s.renew(min(slotTTL/6, end*slotTTL/3-age))
		}
	}
}

func (s *slot) renew(within time.Duration) {
	ctx, cancel := context.WithTimeout(s.held, within)
	defer cancel()
	at := time.Now()
	rev, err := s.w.fleet.slots.Update(ctx, s.key(), []byte(s.nonce), s.rev)
	switch {
	case err == nil:
		s.rev, s.at = rev, at
	case errors.Is(err, jetstream.ErrKeyRevisionMismatch):
		// It is no theft if the value is this slot's own nonce: the answer to an earlier renewal was lost.
		if rev, gone := s.mine(ctx); rev != 0 {
			s.rev = rev
		} else if gone {
			s.lose(errSlot)
		}
	}
}

// release gives the slot back, once its connection is closed. If that does not happen the slot expires.
func (s *slot) release() {
	s.lose(nil)
	closed := true
	select {
	case <-s.unused:
	case <-time.After(asking):
		closed = false
	}
	s.let()
	<-s.kept
	if closed {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), asking)
		defer cancel()
		_ = s.w.fleet.slots.Delete(ctx, s.key(), jetstream.LastRevision(s.rev)) // else it expires
	}
}

// due reports whether the slot is to be given back after a chunk. Else one worker had 9,248 files of 20,000, another none.
func (s *slot) due() bool {
	return s.i >= s.w.limit(s.host) || time.Since(s.taken) > 2*slotTTL && s.w.free(s.host) == 0
}

// hand is what a lane works with: a slot of the host that has work, and the Client. Each connection of the Client has a
// slot of its own server, whichever method opens it and for whatever: a further URL, a list of digests.
type hand struct {
	*slot
	client *ftpexec.Client
	from   jetstream.Consumer // of the chunks
	visit  atomic.Pointer[visit]
}

// take is acquire for a lane.
func (w *worker) take(host string, from jetstream.Consumer) *hand {
	s := w.acquire(w.ctx, host)
	if s == nil {
		return nil
	}
	h := &hand{slot: s, client: w.client(), from: from}
	h.client.Admit = h.admit
	h.client.Trace = func(e ftpexec.Event) {
		if e.Mark == "<" && strings.HasPrefix(e.Text, "230") { // the login is complete (RFC 959 section 5.4)
			h.visit.Load().in()
		}
	}
	return h
}

// admit lends a slot to a connection, for as long as that lives: the lane's own, or one that it takes for another host.
// With that one the lane loses its own too, which ends all that it does.
func (h *hand) admit(ctx context.Context, address string) (leave func(), err error) {
	host, own := hostKey(address), h.unused
	if host != h.host {
		own = nil
	}
	// Two lanes that wait for each other's hosts must not wait for ever.
	for end := time.Now().Add(3 * slotTTL); ; {
		select {
		case <-own:
			return func() { own <- struct{}{} }, nil
		default:
		}
		if s := h.w.acquire(ctx, host); s != nil {
			<-s.unused
			ended := context.AfterFunc(s.ctx, func() { h.lose(context.Cause(s.ctx)) })
			return func() {
				ended()
				s.unused <- struct{}{}
				s.release()
			}, nil
		}
		if !wait(ctx, slotTTL/10) || time.Now().After(end) {
			return nil, cmp.Or(context.Cause(ctx), errFull)
		}
	}
}

// release closes the connections and gives the slot back.
func (h *hand) release() {
	if h == nil {
		return
	}
	h.lose(nil)
	h.client.CloseIdleConnections()
	h.slot.release()
}
