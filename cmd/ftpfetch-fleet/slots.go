package main

import (
	"context"
	crypto "crypto/rand"
	"errors"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"example.com/ftpfetch/ftpexec"
)

// slot is the right to one connection to one host from one egress, and the Client that makes it.
type slot struct {
	w      *worker
	host   string // its key
	i      int    // below the ceiling, as long as that does not fall
	client *ftpexec.Client
	from   jetstream.Consumer // of the chunks

	nonce string
	rev   uint64
	taken time.Time
	at    time.Time // when what the server granted last was asked for: it may have granted it any time later

	ctx  context.Context // ends when the slot is lost, with errSlot
	lose context.CancelCauseFunc
	kept chan struct{} // closed when nobody renews it any more
}

var errSlot = errors.New("the slot could not be renewed in time")

func (s *slot) key() string { return s.w.egress + "." + s.host + "." + strconv.Itoa(s.i) }

// acquire takes a slot of a host, or returns nil if none seems to be free. The server creates a key only once.
func (w *worker) acquire(ctx context.Context, host string) *slot {
	for _, i := range rand.Perm(w.limit(host)) { // so that lanes which start together do not all try the same one
		s := &slot{w: w, host: host, i: i, nonce: crypto.Text()}
		if _, used := w.slots.get(s.key(), nil); used {
			continue
		}
		s.taken = time.Now()
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
		s.rev, s.client, s.kept = rev, w.client(), make(chan struct{})
		s.ctx, s.lose = context.WithCancelCause(ctx)
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

// keep renews the slot every third of its time. After two thirds it is given up, before another lane can have it.
func (s *slot) keep() {
	defer close(s.kept)
	const end = 2
	for wait(s.ctx, slotTTL/30) {
		switch age := elapsed(s.at); {
		case age >= end*slotTTL/3:
			s.drop()
		case age >= slotTTL/3:
			s.renew(min(slotTTL/6, end*slotTTL/3-age))
		}
	}
}

func (s *slot) renew(within time.Duration) {
	ctx, cancel := context.WithTimeout(s.ctx, within)
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
			s.drop()
		}
	}
}

// drop closes the connections of a slot that is lost.
func (s *slot) drop() {
	s.lose(errSlot)
	s.client.CloseIdleConnections()
}

// release gives the slot back, once its connections are closed.
func (s *slot) release() {
	if s == nil {
		return
	}
	s.lose(nil)
	<-s.kept
	s.client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), asking)
	defer cancel()
	_ = s.w.fleet.slots.Delete(ctx, s.key(), jetstream.LastRevision(s.rev)) // else it expires
}

// due reports whether the slot is to be given back after a chunk. Else one worker had 9,248 files of 20,000, another none.
func (s *slot) due() bool {
	return s.i >= s.w.limit(s.host) || time.Since(s.taken) > 2*slotTTL && s.w.free(s.host) == 0
}
