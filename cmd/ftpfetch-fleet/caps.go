package main

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// ceiling is how many connections from one egress a host bears that has refused one. It rises as in internal/schedule.
type ceiling struct {
	Most    int           `json:"most"`
	Patient time.Duration `json:"patient"` // until one more is tried
	Probing bool          `json:"probing"` // Most was raised to try that
}

const (
	firstProbe = 30 * time.Second
	lastProbe  = 10 * time.Minute
	// settle is how long refusals are one. Each for itself would lower the ceiling from 10 to 1 in 0.2 s.
	settle = 4 * time.Second
)

// limit returns how many slots a host has now.
func (w *worker) limit(key string) int {
	var h host
	var c ceiling
	if _, ok := w.hosts.get(key, &h); !ok || !w.caps.whole() { // a ceiling may be there
		return 0
	}
	if _, ok := w.caps.get(w.egress+"."+key, &c); ok {
		return min(c.Most, h.PerHost)
	}
	return h.PerHost
}

// free returns how many slots of a host seem to be free.
func (w *worker) free(key string) int {
	n := w.limit(key)
	for i := range n {
		at := w.egress + "." + key + "." + strconv.Itoa(i)
		if was, used := w.slots.get(at, nil); used && !w.lapsed(at, was) {
			n--
		}
	}
	return n
}

// lower notes that a host refused a connection, after its slot was released. Of several only one lowers the ceiling.
func (w *worker) lower(ctx context.Context, key string) {
	at := w.egress + "." + key
	if _, err := w.refusals.Create(ctx, at, nil); err != nil || !wait(ctx, settle/4) {
		return
	}
	live := 0
	keys, err := w.fleet.slots.ListKeysFiltered(ctx, at+".*")
	if err != nil {
		return
	}
	for range keys.Keys() {
		live++
	}
	w.setCeiling(ctx, at, func(c *ceiling) bool {
		if c.Patient = max(c.Patient, firstProbe); c.Probing {
			c.Patient = min(2*c.Patient, lastProbe)
		}
		c.Most, c.Probing = min(c.Most, max(1, live)), false
		return true
	})
	var h host
	_, _ = w.hosts.get(key, &h)
	w.line("%s has too many connections: continuing with %d", h.Address, max(1, live))
}

// raise tries one more connection, if all that the ceiling allows are in use and it has not changed for long enough.
func (w *worker) raise(ctx context.Context, key string) {
	var c ceiling
	at := w.egress + "." + key
	if seen, ok := w.caps.get(at, &c); !ok || elapsed(seen.seen) < c.Patient {
		return
	}
	w.setCeiling(ctx, at, func(now *ceiling) bool {
		same := *now == c // nobody else has raised it
		now.Most, now.Probing = now.Most+1, true
		return same
	})
}

// setCeiling changes a ceiling, on the server, as if nobody else did so at the same time.
func (w *worker) setCeiling(ctx context.Context, at string, change func(*ceiling) bool) {
	for range 10 {
		c, rev := ceiling{Most: math.MaxInt32}, uint64(0)
		e, err := w.fleet.caps.Get(ctx, at)
		if err == nil && json.Unmarshal(e.Value(), &c) == nil {
			rev = e.Revision()
		} else if !errors.Is(err, jetstream.ErrKeyNotFound) {
			return
		}
		if !change(&c) {
			return
		}
		text, _ := json.Marshal(c)
		if rev == 0 {
			_, err = w.fleet.caps.Create(ctx, at, text)
		} else {
			_, err = w.fleet.caps.Update(ctx, at, text, rev)
		}
		if err == nil {
			return
		}
	}
}
