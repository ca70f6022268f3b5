package schedule

import (
	"math"
	"time"
)

// host is what the scheduler knows about a server.
type host[T any] struct {
	name          string
	jobs, finders queue[T]
	tokens        int  // in use
	known         bool // it has served a job

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
	// firstProbe and lastProbe bound the time from a refusal until one more
	// connection than the ceiling is tried. It doubles when that one is refused.
	firstProbe = 30 * time.Second
	lastProbe  = 10 * time.Minute
	// longestPause bounds the pause after the server has refused the only
	// connection. The pauses double from one second.
	longestPause = time.Minute
	// mostMissed is how many jobs in a row a host may fail to serve.
	mostMissed = 3
	// manyJobs is how many queued jobs make those wait that find more.
	manyJobs = 1024
)

// room returns how many more tokens h has. It raises the ceiling if it is time
// to try that.
func (h *host[T]) room(perHost int, now time.Time) int {
	most := math.MaxInt32
	if perHost > 0 {
		most = perHost
	}
	switch {
	case h.ceiling == 0 || h.ceiling >= most:
		h.ceiling = 0
	case h.tokens >= h.ceiling && !now.Before(h.probe):
		h.ceiling++
		h.probing, h.probe = true, now.Add(h.patient)
		most = h.ceiling
	default:
		most = h.ceiling
	}
	return most - h.tokens
}

// full records that the server refused one of the connections in use. It returns
// the new ceiling.
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
	return h.ceiling
}

// failed records that the server did not serve a job.
func (h *host[T]) failed(err error) {
	if h.unused++; h.unused >= mostMissed {
		h.givenUp = err
	}
}

// served records that the server has served a job.
func (h *host[T]) served() { h.known, h.alone, h.unused = true, 0, 0 }

// take removes the next job from the queues.
func (h *host[T]) take() Job[T] {
	if h.jobs.empty() || !h.finders.empty() && h.jobs.len() < manyJobs {
		return h.finders.pop()
	}
	return h.jobs.pop()
}

// due returns when h may start another job because time has passed, or the zero
// time.
func (h *host[T]) due(now time.Time) time.Time {
	switch {
	case h.givenUp != nil:
		return time.Time{}
	case now.Before(h.pause):
		return h.pause
	case h.ceiling > 0 && h.tokens >= h.ceiling && now.Before(h.probe):
		return h.probe
	}
	return time.Time{}
}

// setAlarm makes start run again when a host with queued jobs is due.
func (s *scheduler[T]) setAlarm() {
	var next time.Time
	now := time.Now()
	for _, h := range s.ring {
		if due := h.due(now); !due.IsZero() && (next.IsZero() || due.Before(next)) {
			next = due
		}
	}
	s.timer.set(next, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.start()
	})
}

// alarm is a timer that can be set again.
type alarm struct {
	at    time.Time
	timer *time.Timer
}

// set makes f run at a time; the zero time means never.
func (a *alarm) set(at time.Time, f func()) {
	if at.Equal(a.at) && time.Now().Before(at) {
		return
	}
	a.stop()
	if a.at = at; !at.IsZero() {
		a.timer = time.AfterFunc(time.Until(at), f)
	}
}

func (a *alarm) stop() {
	if a.timer != nil {
		a.timer.Stop()
	}
}
