package schedule

import (
	"cmp"
	"math"
	"time"
)

// host is what the scheduler knows about a server.
type host[T any] struct {
	name          string
	jobs, finders []Job[T] // queued
	tokens        int      // in use
	known         bool     // it has served a job

	ceiling int           // connections that it bears; 0 means unknown
	probe   time.Time     // when to try one more than the ceiling
	probing bool          // the ceiling was raised to try that
	patient time.Duration // from one probe to the next
	pause   time.Time     // start no job before
	alone   int           // how often in a row it refused the only connection
	unused  int           // how many jobs in a row it did not serve
	givenUp error         // why no job may connect to it any more
}

const (
	// firstProbe and lastProbe bound the time from a refusal until one more connection than the ceiling is tried. It
	// doubles when that one is refused.
	firstProbe = 30 * time.Second
	lastProbe  = 10 * time.Minute
	// longestPause bounds the pause after the server has refused the only connection. The pauses double from one second.
	longestPause = time.Minute
	// mostMissed is how many jobs in a row a host may fail to serve.
	mostMissed = 3
	// manyJobs is how many queued jobs make those wait that find more.
	manyJobs = 1024
)

// room returns how many more tokens h has. It raises the ceiling if it is time to try that.
func (h *host[T]) room(perHost int, now time.Time) int {
	most := cmp.Or(perHost, math.MaxInt32)
	if h.ceiling == 0 || h.ceiling >= most {
		h.ceiling = 0
		return most - h.tokens
	}
	if h.tokens >= h.ceiling && !now.Before(h.probe) {
		h.ceiling++
		h.probing, h.probe = true, now.Add(h.patient)
	}
	return h.ceiling - h.tokens
}

// full records that the server refused one of the connections in use. It returns the new ceiling, or 0 if that was the
// only one.
func (h *host[T]) full(err error, patience int) int {
	now := time.Now()
	if h.patient = max(h.patient, firstProbe); h.probing {
		h.patient = min(2*h.patient, lastProbe)
	}
	h.probing, h.probe = false, now.Add(h.patient)
	h.unused = 0
	if h.ceiling == 0 || h.ceiling >= h.tokens {
		h.ceiling = max(1, h.tokens-1)
	}
	if h.tokens > 1 {
		return h.ceiling
	}
	if h.alone++; h.alone > patience {
		h.givenUp = err
	}
	h.pause = now.Add(min(longestPause, time.Second<<min(h.alone-1, 10)))
	return 0
}

func (h *host[T]) failed(err error) {
	if h.unused++; h.unused >= mostMissed {
		h.givenUp = err
	}
}

func (h *host[T]) served() { h.known, h.alone, h.unused = true, 0, 0 }

func (h *host[T]) queued() int { return len(h.jobs) + len(h.finders) }

// take removes the next job from the queues.
func (h *host[T]) take() Job[T] {
	q := &h.jobs
	if len(h.jobs) == 0 || len(h.finders) > 0 && len(h.jobs) < manyJobs {
		q = &h.finders
	}
	job := (*q)[0]
	(*q)[0] = Job[T]{}
	*q = (*q)[1:]
	return job
}
