package schedule

import "time"

// Turn is one run of a job.
type Turn[T any] struct {
	Job[T]
	// GivenUp is why the run has given up the host: the job must not connect to it. It is nil for all other jobs.
	GivenUp error

	s      *scheduler[T]
	h      *host[T]
	tokens int
	begun  time.Time
	alone  int // what scheduler.starts was when t was launched, if no other job ran; or else 0
}

func (t *Turn[T]) take(n int) {
	t.tokens += n
	t.h.tokens += n
	t.s.tokens += n
}

// Add queues a job that t has found.
func (t *Turn[T]) Add(job Job[T]) {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	t.s.push(job, false)
	t.s.start()
}

// Follows reports whether another job of the same host is queued.
func (t *Turn[T]) Follows() bool {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	return len(t.h.jobs) > 0 && t.s.ctx.Err() == nil
}

// Alone reports whether no other job has run since t began, and t has one token at most.
func (t *Turn[T]) Alone() bool {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	return t.alone == t.s.starts && t.tokens <= 1
}

// Release gives back the tokens of t: the host has served its job, which needs it no more. The job may go on with other
// work until it ends.
func (t *Turn[T]) Release() {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	t.h.served()
	t.take(-t.tokens)
	t.s.start()
}

// MayBeFull reports whether the host may have refused a connection without a word because it has too many: others to it
// are in use; or it is known to accept connections, and has refused the only one just a few times, or fewer than times.
func (t *Turn[T]) MayBeFull(times int) bool {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	h := t.h
	if h.known || h.ceiling > 0 {
		times = max(times, min(mostMissed, t.s.Patience))
	}
	return h.tokens > t.tokens || h.alone < times
}

// Spare takes up to n more tokens of the host that no queued job needs, and returns how many it took. t keeps them until
// it ends.
func (t *Turn[T]) Spare(n int) int {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	if t.s.queued > 0 || t.s.feeding || t.GivenUp != nil {
		return 0
	}
	n = max(0, min(n, t.s.most()-t.s.tokens, t.h.room(t.s.PerHost, time.Now())))
	t.take(n)
	return n
}

// Refused records that the host refused a connection for one of the tokens that Spare gave, and gives that token back.
func (t *Turn[T]) Refused(err error) {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	t.s.refused(t.h, err)
	if t.tokens > 1 {
		t.take(-1)
	}
	t.s.start()
}
