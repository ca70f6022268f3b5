package schedule

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// host has what the run knows about a server, and the queued jobs for it.
type host[T any] struct {
	name          string
	jobs, finders []Job[T] // queued
	tokens        int      // in use
	hasServed     bool     // the host has served a job

	ceiling  int           // connections that it accepts; 0 means unknown
	crowded  bool          // it has refused a connection beside others
	probe    time.Time     // when to try one connection above the ceiling
	probing  bool          // the ceiling was raised for that probe
	patient  time.Duration // time between probes
	pause    time.Time     // start no job before this time
	refusals int           // of the only connection in a row
	missed   int           // jobs in a row that it did not serve
	givenUp  error         // why no job may connect to it; nil if they may
}

const (
	// firstProbe and lastProbe bound the time until the run tries one connection above the ceiling. The time doubles
	// when the server refuses that connection.
	firstProbe = 30 * time.Second
	lastProbe  = 10 * time.Minute
	// longestPause bounds the pause after the server has refused the only connection. Pauses start at one second and
	// double.
	longestPause = time.Minute
	// mostMissed is how many jobs in a row a host may fail to serve before the run gives it up.
	mostMissed = 3
	// manyJobs is the number of queued jobs above which jobs that find others must wait.
	manyJobs = 1024
)

// room returns how many more tokens h has. It raises the ceiling if a probe is due.
func (h *host[T]) room(perHost int, now time.Time) int {
	most := cmp.Or(perHost, math.MaxInt32)
	if h.ceiling == 0 || h.ceiling >= most {
		return most - h.tokens
	}
	if h.tokens >= h.ceiling && !now.Before(h.probe) {
		h.ceiling++
		h.probing = true
		h.probe = now.Add(h.patient)
	}
	return h.ceiling - h.tokens
}

// full records that the server refused one of the connections in use. It returns the new ceiling, or 0 if there was
// only that connection.
func (h *host[T]) full(err error, patience int) int {
	now := time.Now()
	h.patient = max(h.patient, firstProbe)
	if h.probing {
		h.patient = min(2*h.patient, lastProbe)
	}
	h.probing = false
	h.probe = now.Add(h.patient)
	h.missed = 0
	if h.ceiling == 0 || h.ceiling >= h.tokens {
		h.ceiling = max(1, h.tokens-1)
	}
	if h.tokens > 1 {
		h.crowded = true
		return h.ceiling
	}
	h.refusals++
	if h.refusals > patience {
		h.givenUp = err
	}
	h.pause = now.Add(min(longestPause, time.Second<<min(h.refusals-1, 10)))
	return 0
}

func (h *host[T]) served() {
	h.hasServed = true
	h.refusals = 0
	h.missed = 0
}

func (h *host[T]) queued() int { return len(h.jobs) + len(h.finders) }

// dequeue removes the next job from the queue.
func (h *host[T]) dequeue() Job[T] {
	q := &h.jobs
	if len(h.jobs) == 0 || len(h.finders) > 0 && len(h.jobs) < manyJobs {
		q = &h.finders
	}
	job := (*q)[0]
	(*q)[0] = Job[T]{}
	*q = (*q)[1:]
	return job
}

// Turn is one run of a job.
type Turn[T any] struct {
	Job[T]
	// GivenUp, if not nil, is why the run has given up the host. The job must then not connect to it.
	GivenUp error

	s         *scheduler[T]
	h         *host[T]
	tokens    int              // of h
	abroad    map[*host[T]]int // spare tokens of other hosts
	begun     time.Time
	held      time.Duration // how long t held tokens; 0 until it gives them back
	soleStart int           // scheduler.starts at the launch of t, if no other job ran; else 0
}

// hold changes the number of tokens of h that t has by n.
func (t *Turn[T]) hold(h *host[T], n int) {
	if h == t.h {
		t.tokens += n
	} else {
		if t.abroad == nil {
			t.abroad = make(map[*host[T]]int)
		}
		t.abroad[h] += n
	}
	h.tokens += n
	t.s.tokens += n
}

// spare returns how many spare tokens of h t holds.
func (t *Turn[T]) spare(h *host[T]) int {
	if h == t.h {
		return max(0, t.tokens-1)
	}
	return t.abroad[h]
}

// connected returns how long t has held tokens.
func (t *Turn[T]) connected() time.Duration {
	if t.tokens > 0 {
		return time.Since(t.begun)
	}
	return t.held
}

// giveBack gives back all tokens of t.
func (t *Turn[T]) giveBack() {
	t.held = t.connected()
	if t.tokens > 0 {
		t.s.holders--
	}
	t.hold(t.h, -t.tokens)
	for h, n := range t.abroad {
		t.hold(h, -n)
	}
}

// Add queues a job that t has found.
func (t *Turn[T]) Add(job Job[T]) {
	defer t.s.change()()
	t.s.push(job, false)
}

// Follows reports whether a job of the same host that finds no others is queued. It is false once the run's context has
// ended.
func (t *Turn[T]) Follows() bool {
	defer t.s.lock()()
	return len(t.h.jobs) > 0 && t.s.ctx.Err() == nil
}

// Queued calls want with the values of queued jobs of the same host, in their order, until want has returned true n times,
// or as often as is the share of one running job. want must not call the scheduler.
func (t *Turn[T]) Queued(n int, want func(T) bool) {
	defer t.s.lock()()
	share := (len(t.h.jobs) + t.s.most() - 1) / t.s.most()
	left := min(n, share)
	for _, job := range t.h.jobs {
		if left == 0 {
			return
		}
		if want(job.Value) {
			left--
		}
	}
}

// Alone reports whether no other job has run since t began, and t has at most one token.
func (t *Turn[T]) Alone() bool {
	defer t.s.lock()()
	return t.soleStart == t.s.starts && t.tokens <= 1
}

// Release gives back the tokens of t, which may continue with work that does not need the host. served means that the
// host has served the job.
func (t *Turn[T]) Release(served bool) {
	defer t.s.change()()
	if served {
		t.h.served()
	}
	t.giveBack()
}

// MayBeFull reports whether the host may have refused a connection, without giving a reason, because it has too many.
// That may be so if other connections to it are in use, or if it has refused the only connection fewer than times in a
// row. A host that has accepted a connection, or may have had others, may refuse a few times more.
func (t *Turn[T]) MayBeFull(times int) bool {
	defer t.s.lock()()
	h := t.h
	if h.hasServed || h.crowded {
		times = max(times, min(mostMissed, t.s.Patience))
	}
	return h.tokens > t.tokens || h.refusals < times
}

// Spare takes up to n more tokens of a host, which may be another one than its own, if no queued job needs them. It
// returns how many it took. t keeps them until it ends, or gives them back with Return or Refused.
func (t *Turn[T]) Spare(name string, n int) int {
	defer t.s.lock()()
	s := t.s
	if s.queued > 0 || s.feeding || t.GivenUp != nil || t.tokens == 0 {
		return 0
	}
	h := s.host(name)
	now := time.Now()
	if h.givenUp != nil || now.Before(h.pause) {
		return 0
	}
	n = max(0, min(n, s.left(), h.room(s.PerHost, now)))
	t.hold(h, n)
	return n
}

// Return gives back a token that Spare took.
func (t *Turn[T]) Return(name string) {
	defer t.s.change()()
	if h := t.s.host(name); t.spare(h) > 0 {
		t.hold(h, -1)
	}
}

// Wanted reports whether a queued job waits for a token that t could return.
func (t *Turn[T]) Wanted() bool {
	defer t.s.lock()()
	s := t.s
	now := time.Now()
	return slices.ContainsFunc(s.ring, func(h *host[T]) bool {
		return s.mayHold(h) && (s.left() <= 0 || t.spare(h) > 0 && h.room(s.PerHost, now) <= 0)
	})
}

// Refused records that a host refused a connection for one of the tokens that Spare gave, and gives that token back.
func (t *Turn[T]) Refused(name string, err error) {
	defer t.s.change()()
	h := t.s.host(name)
	t.s.refused(h, err)
	if t.spare(h) > 0 {
		t.hold(h, -1)
	}
}
