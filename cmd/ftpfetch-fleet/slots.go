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

// slot is the right to one connection to one host from one egress. The worker renews it until it releases it, after
// closing the connection. A slot that is not renewed has lapsed. Others may take it once reclaim has found out that its
// connection is closed.
type slot struct {
	w    *worker
	host string // its key
	i    int    // below the ceiling, unless that falls

	nonce string
	rev   uint64
	taken time.Time
	// when the last granted request was sent: the server may have granted it at any time after that
	at time.Time

	// for the work with the slot; ends with the worker, or with errSlot when the slot is lost
	ctx    context.Context
	lose   context.CancelCauseFunc
	held   context.Context // ends when the slot must not be renewed any more
	let    context.CancelFunc
	kept   chan struct{} // closed when the renewals have ended
	unused chan struct{} // has a value while no connection has the slot
}

var errSlot = errors.New("the slot could not be renewed in time")

func (s *slot) key() string { return s.w.egress + "." + s.host + "." + strconv.Itoa(s.i) }

// value is the value of a slot on the server: who has it, and where that worker was heard of last.
func (s *slot) value() []byte { return []byte(s.w.me + " " + s.nonce + " " + s.w.heardBy()) }

// heardBy returns which server of a cluster, and which account of it, hears of this worker.
func (f *fleet) heardBy() string { return f.ConnectedServerId() + "/" + f.user }

// mostTried is how many slots of a host a lane tries before it takes the host for full for a while. Nobody watches
// slots, because each renewal would go to all workers. A worker that releases a slot tells one lane that waits for it.
const mostTried = 4

// acquire takes a slot of a host. It tries mostTried of them, and one that was just released, and returns nil if it gets
// none. The server creates a key only once.
// The slot does not end with ctx, because a connection outlives the request that opened it.
func (w *worker) acquire(ctx context.Context, host string) *slot {
	begun := time.Now()
	order := rand.Perm(w.limit(host)) // so that lanes that start together do not all try the same slot
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
	w.full.Store(host, begun)
	return nil
}

// lacks returns the key of what a queue has no free slot of, the job or the host, as far as is known; "": nothing.
func (w *worker) lacks(q queue) string {
	switch {
	case q.bounded && w.isFull(q.jobKey()):
		return q.jobKey()
	case w.isFull(q.host):
		return q.host
	}
	return ""
}

// isFull reports whether no free slot of a host, or of a job, was found a moment ago, and its bounds are the same since.
func (w *worker) isFull(key string) bool {
	if w.limit(key) == 0 {
		return true
	}
	at, ok := w.full.Load(key)
	return ok && time.Since(at.(time.Time)) < slotTTL/10 && !w.limitSeen(key).After(at.(time.Time))
}

// limitSeen returns when a host, or a job, has changed for the last time, and perhaps its number of slots with it.
func (w *worker) limitSeen(key string) time.Time {
	if id, ok := strings.CutPrefix(key, jobPrefix); ok {
		return w.lists.seen(id)
	}
	at, lowered := w.hosts.seen(key), w.caps.seen(w.egress+"."+key)
	if lowered.After(at) {
		return lowered
	}
	return at
}

// vacant reports whether a slot is free, or can be reclaimed.
func (w *worker) vacant(ctx context.Context, key string) bool {
	bounded, cancel := context.WithTimeout(ctx, slotTTL/3)
	defer cancel()
	e, err := w.fleet.slots.Get(bounded, key)
	if err != nil {
		return errors.Is(err, jetstream.ErrKeyNotFound)
	}
	return w.reclaim(ctx, key, held{value: e.Value(), rev: e.Revision(), made: e.Created()})
}

// used returns how many slots of a host, or of a job, are in use.
func (w *worker) used(ctx context.Context, host string) (n int, err error) {
	all, err := readAll(ctx, w.fleet, w.fleet.slots, w.egress+"."+host+".*")
	return len(all), err
}

// owned returns the revision of the slot if the server says that this slot has it. gone means that the server says the
// opposite.
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

// How long after the last renewal the server is believed when it says that a worker has gone. Later, it may have
// dropped the connection of a worker that is only frozen. From then on the slot stays taken until it expires.
const trusted = 4 // times slotTTL

// released is the answer of a worker that has closed the connection of a slot.
const released = "released"

// answer answers questions about this worker's slots, even while their host has no work. A frozen worker does not
// answer.
func (w *worker) answer() (*nats.Subscription, error) {
	return w.Subscribe(w.subject("holder", w.me), func(m *nats.Msg) {
		text := released
		if _, is := w.mine.Load(string(m.Data)); is {
			text = "held"
		}
		_ = m.Respond([]byte(text))
	})
}

// lapsed reports whether a slot was not renewed in time, and its worker was not asked recently.
func (w *worker) lapsed(key string, was held) bool {
	asked, ok := w.asked.Load(key)
	return w.age(was) >= slotTTL && !(ok && time.Since(asked.(time.Time)) < slotTTL/2)
}

// reclaim frees a slot that has lapsed, if its connection is closed: its worker says so, or has ended. A process that
// was killed loses its connections at once, to the FTP server and to the fleet's server, which then reports no
// responders. A frozen process keeps its connections, and does not answer.
func (w *worker) reclaim(ctx context.Context, key string, was held) bool {
	fields := strings.Fields(string(was.value))
	if !w.lapsed(key, was) || len(fields) != 3 {
		return false
	}
	w.asked.Store(key, time.Now())
	bounded, cancel := context.WithTimeout(ctx, slotTTL/4)
	defer cancel()
	answer, err := w.RequestWithContext(bounded, w.subject("holder", fields[0]), []byte(fields[1]))
	switch {
	case err == nil && string(answer.Data) == released:
	case errors.Is(err, nats.ErrNoResponders) &&
		fields[2] == w.heardBy() && w.age(was) < trusted*slotTTL:
	default:
		return false
	}
	return w.fleet.slots.Delete(bounded, key, jetstream.LastRevision(was.rev)) == nil
}

// age returns how long ago something was written, by the server's clock.
func (w *worker) age(was held) time.Duration {
	return w.began.made.Add(elapsed(w.began.seen)).Sub(was.made)
}

// elapsed returns the time since t. It uses two clocks: one stands still while the machine sleeps, the other may be
// set.
func elapsed(t time.Time) time.Duration {
	now := time.Now()
	return max(now.Sub(t), now.Round(0).Sub(t.Round(0)))
}

// keep renews the slot each time a third of slotTTL has passed. After two thirds without success it gives the slot up,
// before another lane can have it: the work with the slot ends, and so do its connections. So a worker that was frozen
// first closes them.
func (s *slot) keep() {
	defer close(s.kept)
	const end = 2
	early := rand.N(slotTTL / 12) // so that the slots of a fleet are not all renewed at once
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
		// The slot is not lost if the value has its own nonce: then the answer to an earlier renewal was lost.
		if rev, gone := s.owned(ctx); rev != 0 {
			s.rev = rev
		} else if gone {
			s.lose(errSlot)
		}
	}
}

// release returns the slot after its connection is closed. If the server does not receive that, this worker tells those
// who ask for the slot.
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
		_ = s.w.Publish(s.w.freeSubject(s.host), []byte(strconv.Itoa(s.i)))
	}
}

// freeSubject is where lanes that wait for a slot of a host are told of one. Each message goes to one of them.
func (w *worker) freeSubject(host string) string { return w.subject("free", w.egress, host) }

// await waits for slots of a host until the subscription ends. It also answers lanes that ask whether somebody waits.
func (w *worker) await(host string) (*nats.Subscription, error) {
	return w.QueueSubscribe(w.freeSubject(host), "lanes", func(m *nats.Msg) {
		i, err := strconv.Atoi(string(m.Data))
		if err != nil {
			_ = m.Respond(nil)
			return
		}
		w.freed.Store(host, i)
		w.full.Delete(host)
		w.changed.ring()
	})
}

// due reports whether the slot should be released after a chunk because another lane waits for it. Without this, one
// worker fetched 9,248 files of 20,000, and another none.
func (s *slot) due() bool {
	if s.i >= s.w.limit(s.host) {
		return true
	}
	if time.Since(s.taken) < slotTTL {
		return false
	}
	s.taken = time.Now()
	_, err := s.w.Request(s.w.freeSubject(s.host), nil, slotTTL/10)
	return err == nil
}

// lease is what a lane works with: a slot of the host that has work, and the Client. Each connection of the Client has a
// slot of its own server, whichever method opens it and whatever it is for: a further URL, a list of digests.
type lease struct {
	*slot
	jobSlot *slot // nil: the job has no bounds
	client  *ftpexec.Client
	queue   queue
	from    jetstream.Consumer // delivers the chunks
	visit   atomic.Pointer[visit]
}

// take does for a lane what acquire does, and makes the Client.
func (w *worker) take(q queue, from jetstream.Consumer) *lease {
	var jobSlot *slot
	if w.limit(q.jobKey()) > 0 {
		if jobSlot = w.acquire(w.ctx, q.jobKey()); jobSlot == nil {
			return nil
		}
	}
	s := w.acquire(w.ctx, q.host)
	if s == nil {
		if jobSlot != nil {
			jobSlot.release()
		}
		return nil
	}
	h := &lease{slot: s, jobSlot: jobSlot, client: w.client(), queue: q, from: from}
	if jobSlot != nil {
		context.AfterFunc(jobSlot.ctx, func() { h.lose(context.Cause(jobSlot.ctx)) })
	}
	h.client.Admit = h.admit
	h.client.Trace = &ftpexec.Trace{Reply: func(e ftpexec.ReplyInfo) {
		if e.Code == 230 { // the login is complete (RFC 959 section 5.4)
			h.visit.Load().in()
		}
	}}
	return h
}

// admit lends a slot to a connection for as long as it lives: the lane's own, or one that it takes for another host. If
// the lane loses the other slot, it loses its own too, which ends all of its work.
func (h *lease) admit(ctx context.Context, address string) (leave func(), err error) {
	host, own := hostKey(address), h.unused
	if host != h.host {
		own = nil
	}
	// Two lanes that wait for each other's hosts must not wait forever.
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

// release closes the connections and returns the slot.
func (h *lease) release() {
	if h == nil {
		return
	}
	h.lose(nil)
	h.client.CloseIdleConnections()
	h.slot.release()
	if h.jobSlot != nil {
		h.jobSlot.release()
	}
}

// due reports whether a slot should be released after a chunk, or the job has bounds since a while ago.
func (h *lease) due() bool {
	if h.jobSlot != nil {
		return h.slot.due() || h.jobSlot.due()
	}
	return h.slot.due() || h.w.limit(h.queue.jobKey()) > 0
}
