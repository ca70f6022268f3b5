package main

import (
	"cmp"
	"context"
	"errors"
	"math"
	"strings"
	"time"
)

// Each lane that works for a job with bounds has a slot of the job too. In the keys of slots it stands where others have
// their host, behind this prefix, which no key of a host has.
const jobPrefix = "job-"

// ceiling is the number of connections that a host which has refused one accepts from one egress. It rises as in
// internal/schedule.
type ceiling struct {
	Most    int           `json:"most"`
	Patient time.Duration `json:"patient"` // until one more connection is tried
	Probing bool          `json:"probing"` // Most was raised for that
}

const (
	firstProbe = 30 * time.Second
	lastProbe  = 10 * time.Minute
	// settle is the time in which several refusals count as one. Counted one by one, they would lower the ceiling from
	// 10 to 1 in 0.2 s.
	settle = 4 * time.Second
)

// limit returns the current number of slots of a host, or of a job that has bounds. 0 means that a host is not known
// yet or is closed, and that a job has no bounds.
func (w *worker) limit(key string) int {
	if id, ok := strings.CutPrefix(key, jobPrefix); ok {
		j, _ := valueOf[job](w.lists, id)
		if !j.bounded() {
			return 0
		}
		return cmp.Or(j.PerJob, mostLanes)
	}
	h, ok := valueOf[host](w.hosts, key)
	if !ok || !w.caps.whole() { // there may be a ceiling that w.caps has not read yet
		return 0
	}
	if c, ok := valueOf[ceiling](w.caps, w.egress+"."+key); ok {
		return min(c.Most, h.PerHost)
	}
	return h.PerHost
}

// lower records that a host refused a connection, after the slot was released. Of several refusals, only one lowers the
// ceiling.
func (w *worker) lower(ctx context.Context, key string) {
	at := w.egress + "." + key
	if _, err := w.refusals.Create(ctx, at, nil); err != nil || !wait(ctx, settle/4) {
		return
	}
	live, err := w.used(ctx, key)
	if err != nil {
		return
	}
	w.setCeiling(ctx, at, func(c *ceiling) bool {
		c.Patient = max(c.Patient, firstProbe)
		if c.Probing {
			c.Patient = min(2*c.Patient, lastProbe)
		}
		c.Most = min(c.Most, max(1, live))
		c.Probing = false
		return true
	})
	h, _ := valueOf[host](w.hosts, key)
	w.line("%s has too many connections: continuing with %d", h.Address, max(1, live))
}

// raise tries one more connection, if all that the ceiling allows are in use and the ceiling has not changed for long
// enough.
func (w *worker) raise(ctx context.Context, key string) {
	at := w.egress + "." + key
	c, ok := valueOf[ceiling](w.caps, at)
	if !ok || elapsed(w.caps.seen(at)) < c.Patient {
		return
	}
	if n, err := w.used(ctx, key); err != nil || n < w.limit(key) {
		return
	}
	w.setCeiling(ctx, at, func(now *ceiling) bool {
		same := *now == c // no other worker has raised it
		now.Most, now.Probing = now.Most+1, true
		return same
	})
}

// setCeiling changes a ceiling on the server.
func (w *worker) setCeiling(ctx context.Context, at string, how func(*ceiling) bool) {
	_, _ = change(ctx, w.fleet.caps, at, &ceiling{Most: math.MaxInt32}, func(c *ceiling) error {
		if how(c) {
			return nil
		}
		return errAsItIs
	})
}

var errAsItIs = errors.New("nothing is to be changed")
