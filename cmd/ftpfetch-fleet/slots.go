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

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"example.com/ftpfetch/ftpexec"
)

// slot is the right to one connection to one host from one egress. It is renewed until it is released, which happens
// after its connection is closed. One that is not renewed has lapsed; others may have it once it is sure that its connection
// is closed, which reclaim finds out.
type slot struct {
	w    *worker
	host string // its key
	i    int    // below the ceiling, as long as that does not fall

	nonce string
	rev   uint64
	taken time.Time
	// when what the server granted last was asked for: it may have granted it any time later
	at time.Time

	// of the work with it; ends when the slot is lost, with errSlot, and with the worker
	ctx    context.Context
	lose   context.CancelCauseFunc
	held   context.Context // ends when the slot is to be renewed no more
	let    context.CancelFunc
	kept   chan struct{} // closed when nobody renews it any more
	unused chan struct{} // has a value while no connection has the slot
}

var errSlot = errors.New("the slot could not be renewed in time")

func (s *slot) key() string { return s.w.egress + "." + s.host + "." + strconv.Itoa(s.i) }

// value is what the server holds of a slot: who has it, and which server has last heard of that.
func (s *slot) value() []byte { return []byte(s.w.me + " " + s.nonce + " " + s.w.ConnectedServerId()) }

// mostTried is how many slots of a host are looked at before it counts as full for a while. Nobody watches slots: then each
// renewal would go to all workers. Who releases a slot tells one lane that waits for it.
const mostTried = 4

// acquire takes a slot of a host, or returns nil if it finds none before ctx ends. The server creates a key only once. The
// slot does not end with ctx: a connection outlives what has opened it.
func (w *worker) acquire(ctx context.Context, host string) *slot {
	order := rand.Perm(w.limit(host)) // so that lanes which start together do not all try the same one
	order = order[:min(len(order), mostTried)]
	if i, ok := w.freed.LoadAndDelete(host); ok && i.(int) < w.limit(host) {
		order = append([]int{i.(int)}, order...)
	}
	for _, i := range order {
		s := &slot{w: w, host: host, i: i, nonce: crypto.Text()}
		if !w.vacant(ctx, s.key()) {
			continue
		}
		s.taken = time.Now()
		s.at = s.taken
		w.mine.Store(s.nonce, true)
		bounded, cancel := context.WithTimeout(ctx, slotTTL/3)
		rev, err := w.fleet.slots.Create(bounded, s.key(), s.value())
		if err != nil { // perhaps only the answer was lost
			rev, _ = s.owned(bounded)
		}
		cancel()
		if rev == 0 {
			w.mine.Delete(s.nonce)
			continue
		}
		s.rev = rev
		s.kept = make(chan struct{})
		s.unused = make(chan struct{}, 1)
		s.unused <- struct{}{}
		s.ctx, s.lose = context.WithCancelCause(w.ctx)
		s.held, s.let = context.WithCancel(context.WithoutCancel(w.ctx))
		go s.keep()
		return s
	}
	w.full.Store(host, time.Now())
	return nil
}

// isFull reports whether no free slot of a host was found a moment ago.
func (w *worker) isFull(host string) bool {
	at, ok := w.full.Load(host)
	return w.limit(host) == 0 || ok && time.Since(at.(time.Time)) < slotTTL/10
}

// vacant reports whether nobody has a slot, or nobody any more.
func (w *worker) vacant(ctx context.Context, key string) bool {
	bounded, cancel := context.WithTimeout(ctx, slotTTL/3)
	defer cancel()
	e, err := w.fleet.slots.Get(bounded, key)
	if err != nil {
		return errors.Is(err, jetstream.ErrKeyNotFound)
	}
	return w.reclaim(ctx, key, held{value: e.Value(), rev: e.Revision(), made: e.Created()})
}

// used returns how many slots of a host are in use.
func (w *worker) used(ctx context.Context, host string) (n int, err error) {
	keys, err := w.fleet.slots.ListKeysFiltered(ctx, w.egress+"."+host+".*")
	if err == nil {
		for range keys.Keys() {
			n++
		}
	}
	return n, err
}

// owned returns the revision of the slot if the server says that it is this one. gone means that it says the opposite.
func (s *slot) owned(ctx context.Context) (rev uint64, gone bool) {
	e, err := s.w.fleet.slots.Get(ctx, s.key())
	if err != nil {
		return 0, errors.Is(err, jetstream.ErrKeyNotFound)
	}
	if fields := strings.Fields(string(e.Value())); len(fields) < 2 || fields[1] != s.nonce {
		return 0, true
	}
	return e.Revision(), false
}

// How long the server's word counts that a worker is no more, after the slot was renewed: later it may have dropped the
// connection of one that is frozen. From then on the slot stays taken until it expires.
const trusted = 4 // times slotTTL

// released is the answer of a worker that has closed the connection of a slot.
const released = "released"

func holderSubject(worker string) string { return "holder." + worker }

// answer answers for the slots of this worker, also while their host has no work. One that is frozen does not answer.
func (w *worker) answer() (*nats.Subscription, error) {
	return w.Subscribe(holderSubject(w.me), func(m *nats.Msg) {
		text := released
		if _, is := w.mine.Load(string(m.Data)); is {
			text = "held"
		}
		_ = m.Respond([]byte(text))
	})
}

// lapsed reports whether a slot was not renewed in time, and its worker not asked for a while.
func (w *worker) lapsed(key string, was held) bool {
	asked, ok := w.asked.Load(key)
	return w.age(was) >= slotTTL && !(ok && time.Since(asked.(time.Time)) < slotTTL/2)
}

// reclaim frees a slot that has lapsed, if its connection is closed: its worker says so, or is no more. A process that was
// killed has lost its connections at once, to the FTP server and to ours, which then says that nobody listens. A frozen one
// has not, and does not answer.
func (w *worker) reclaim(ctx context.Context, key string, was held) bool {
	fields := strings.Fields(string(was.value))
	if !w.lapsed(key, was) || len(fields) != 3 {
		return false
	}
	w.asked.Store(key, time.Now())
	bounded, cancel := context.WithTimeout(ctx, slotTTL/4)
	defer cancel()
	answer, err := w.RequestWithContext(bounded, holderSubject(fields[0]), []byte(fields[1]))
	switch {
	case err == nil && string(answer.Data) == released:
	case errors.Is(err, nats.ErrNoResponders) &&
		fields[2] == w.ConnectedServerId() && w.age(was) < trusted*slotTTL:
	default:
		return false
	}
	return w.fleet.slots.Delete(bounded, key, jetstream.LastRevision(was.rev)) == nil
}

// age is how long ago something was written, by the server's clock.
func (w *worker) age(was held) time.Duration {
	return w.began.made.Add(elapsed(w.began.seen)).Sub(was.made)
}

// elapsed returns the time since t. One of its clocks stands still while the machine sleeps, the other one may be set.
func elapsed(t time.Time) time.Duration {
	now := time.Now()
	return max(now.Sub(t), now.Round(0).Sub(t.Round(0)))
}

// keep renews the slot about every third of its time. After two thirds it is given up, before another lane can have it: what
// works with it ends, and so do its connections. So a worker that was frozen closes them first.
func (s *slot) keep() {
	defer close(s.kept)
	const end = 2
	early := rand.N(slotTTL / 12) // so that the slots of a fleet are not renewed all at once
	for wait(s.held, slotTTL/30) {
		switch age := elapsed(s.at); {
		case age >= end*slotTTL/3:
			s.lose(errSlot)
			return
		case age >= slotTTL/3-early:
			s.renew(min(slotTTL/6, end*slotTTL/3-age))
		}
	}
}

func (s *slot) renew(within time.Duration) {
	ctx, cancel := context.WithTimeout(s.held, within)
	defer cancel()
	at := time.Now()
	rev, err := s.w.fleet.slots.Update(ctx, s.key(), s.value(), s.rev)
	switch {
	case err == nil:
		s.rev, s.at = rev, at
	case errors.Is(err, jetstream.ErrKeyRevisionMismatch):
		// It is no theft if the value is this slot's own nonce: the answer to an earlier renewal was lost.
		if rev, gone := s.owned(ctx); rev != 0 {
			s.rev = rev
		} else if gone {
			s.lose(errSlot)
		}
	}
}

// release gives the slot back, once its connection is closed. If the server does not hear of that, this worker tells who
// asks for the slot.
func (s *slot) release() {
	s.lose(nil)
	select {
	case <-s.unused:
		s.let()
	case <-time.After(asking):
		s.let()
		go func() {
			<-s.unused
			s.w.mine.Delete(s.nonce)
		}()
		return
	}
	<-s.kept
	s.w.mine.Delete(s.nonce)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), asking)
	defer cancel()
	if s.w.fleet.slots.Delete(ctx, s.key(), jetstream.LastRevision(s.rev)) == nil {
		_ = s.w.Publish(freeSubject(s.w.egress, s.host), []byte(strconv.Itoa(s.i)))
	}
}

// freeSubject is where lanes that wait for a slot of a host hear of one. Each message goes to one of them.
func freeSubject(egress, host string) string { return "free." + egress + "." + host }

// await waits for slots of a host, until the subscription ends. Who asks is told that somebody waits.
func (w *worker) await(host string) (*nats.Subscription, error) {
	return w.QueueSubscribe(freeSubject(w.egress, host), "lanes", func(m *nats.Msg) {
		i, err := strconv.Atoi(string(m.Data))
		if err != nil {
			_ = m.Respond(nil)
			return
		}
		w.freed.Store(host, i)
		w.full.Delete(host)
		w.offered.ring()
	})
}

// due reports whether the slot is to be given back after a chunk, because somebody waits for it. Else one worker had 9,248
// files of 20,000, another none.
func (s *slot) due() bool {
	if s.i >= s.w.limit(s.host) {
		return true
	}
	if time.Since(s.taken) < slotTTL {
		return false
	}
	s.taken = time.Now()
	_, err := s.w.Request(freeSubject(s.w.egress, s.host), nil, slotTTL/10)
	return err == nil
}

// hand is what a lane works with: a slot of the host that has work, and the Client. Each connection of the Client has a
// slot of its own server, whichever method opens it and for whatever: a further URL, a list of digests.
type hand struct {
	*slot
	client *ftpexec.Client
	queue  queue
	from   jetstream.Consumer // of the chunks
	visit  atomic.Pointer[visit]
}

// take is acquire for a lane.
func (w *worker) take(q queue, from jetstream.Consumer) *hand {
	s := w.acquire(w.ctx, q.host)
	if s == nil {
		return nil
	}
	h := &hand{slot: s, client: w.client(), queue: q, from: from}
	h.client.Admit = h.admit
	h.client.Trace = func(e ftpexec.Event) {
		if e.Mark == ftpexec.MarkReceived && strings.HasPrefix(e.Text, "230") { // the login is complete (RFC 959 section 5.4)
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
