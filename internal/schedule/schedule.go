// Package schedule runs many jobs at once, each on a server, and finds out how
// many connections each server and the network bear.
//
// A job holds one token of its server for as long as it runs, which stands for
// one connection. No job ever waits while it holds a token, so that no order of
// events can lock the run up: a job that the server has no room for gives its
// token back and returns to the queue.
package schedule

import (
	"cmp"
	"context"
	"iter"
	"sync"
	"time"
)

// Options limits a run.
type Options struct {
	Jobs    int // tokens in use at once, of all hosts together; 0 means that [Search] finds the number
	PerHost int // tokens in use at once for each host; 0 means no limit
	// Patience is how many times in a row a host may refuse every connection
	// before the run gives it up.
	Patience int
	// Received returns how many bytes have come in so far. It is needed only if
	// Jobs is 0.
	Received func() int64
	// Full, if not nil, is called when a host has refused a connection and is not
	// given up, with the
	// number that it is believed to bear; 0 means that it refused the only one, and
	// that the run pauses. It must not call the scheduler.
	Full func(host string, ceiling int)
}

// Job is one thing to do on a host.
type Job[T any] struct {
	Host  string
	Value T
	// Finds means that the job may add others. Such jobs run first while few
	// others are queued for the host, because they show how much there is to do.
	Finds bool
}

// Verdict says how a job ended.
type Verdict struct {
	kind verdict
	next string
	err  error
}

type verdict int

const (
	done verdict = iota
	untouched
	full
	unusable
	short
)

// Done means that the job is over and that the server has answered, with or
// without success.
func Done() Verdict { return Verdict{} }

// Untouched means that the job is over, and that it did not need the server.
func Untouched() Verdict { return Verdict{kind: untouched} }

// Full means that the server has too many connections, as err says. The job
// returns to the front of its queue.
func Full(err error) Verdict { return Verdict{kind: full, err: err} }

// Unusable means that the job is over because the host let nobody in or did not
// serve it. After a few of these in a row the run gives the host up.
func Unusable(err error) Verdict { return Verdict{kind: unusable, err: err} }

// Short means that this process has too little of something, such as open files, for
// all jobs that run. The job returns to the front of its queue, and from now on fewer
// tokens are in use. A job that is [Turn.Alone] must not say so for ever.
func Short() Verdict { return Verdict{kind: short} }

// Then means that the job is not over after all: it must run again, on host.
func (v Verdict) Then(host string) Verdict { v.next = host; return v }

// Turn is one run of a job.
type Turn[T any] struct {
	Job[T]
	// GivenUp is why the run has given up the host: the job must not connect to
	// it. It is nil for all other jobs.
	GivenUp error

	s      *scheduler[T]
	h      *host[T]
	tokens int
	alone  int // what scheduler.starts was when t was launched, if no other job ran; or else 0
}

// Run runs the jobs of source, and those that they add, until there are no more
// or ctx ends; then it waits for those that are running. It reads source only a
// bounded number of jobs ahead.
func Run[T any](ctx context.Context, o Options, source iter.Seq[Job[T]], do func(context.Context, *Turn[T]) Verdict) {
	s := &scheduler[T]{Options: o, ctx: ctx, do: do, hosts: make(map[string]*host[T])}
	s.room.L = &s.mu
	defer context.AfterFunc(ctx, s.wake)()
	defer s.search()()
	s.feeding = true
	for job := range source {
		if !s.feed(job) {
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.feeding = false
	for s.running > 0 || s.queued > 0 && ctx.Err() == nil {
		s.room.Wait()
	}
	s.timer.stop()
}

// window bounds the jobs that are read from the source in advance.
const window = 4096

// scheduler holds the state of a run. Every change of it ends in start.
type scheduler[T any] struct {
	Options
	ctx context.Context
	do  func(context.Context, *Turn[T]) Verdict

	mu      sync.Mutex
	room    sync.Cond // room in the queue, or the end
	hosts   map[string]*host[T]
	ring    []*host[T] // those with queued jobs; the first one is next
	feeding bool       // the source may have more
	queued  int
	running int
	starts  int  // jobs launched so far
	short   bool // a job was short of something: none runs without a token any more
	tokens  int  // in use
	files   int  // jobs that ended well
	limit   int  // of tokens: what the search says; 0 if Jobs says it
	timer   alarm
}

// wake lets Run look at the state again.
func (s *scheduler[T]) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.room.Broadcast()
}

// feed queues a job of the source. It returns false if the run is over.
func (s *scheduler[T]) feed(job Job[T]) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.queued >= window && s.ctx.Err() == nil {
		s.room.Wait()
	}
	if s.ctx.Err() != nil {
		return false
	}
	s.push(job, false)
	s.start()
	return true
}

// host returns the state of a host.
func (s *scheduler[T]) host(name string) *host[T] {
	h := s.hosts[name]
	if h == nil {
		h = &host[T]{name: name}
		s.hosts[name] = h
	}
	return h
}

// push queues a job, as the last or the first of its host.
func (s *scheduler[T]) push(job Job[T], front bool) {
	h := s.host(job.Host)
	if h.jobs.empty() && h.finders.empty() {
		s.ring = append(s.ring, h)
	}
	q := &h.jobs
	if job.Finds {
		q = &h.finders
	}
	q.push(job, front)
	s.queued++
}

// start starts every job that may run now.
func (s *scheduler[T]) start() {
	if s.ctx.Err() != nil {
		return
	}
	for passed := 0; passed < len(s.ring); {
		h := s.ring[0]
		s.ring = s.ring[1:]
		if !s.mayStart(h) {
			s.ring = append(s.ring, h)
			passed++
			continue
		}
		passed = 0
		s.launch(h)
		if !h.jobs.empty() || !h.finders.empty() {
			s.ring = append(s.ring, h)
		}
	}
	s.setAlarm()
}

// mostWithout bounds the jobs that need no token: those of hosts that were given up,
// and those that have given their tokens back.
const mostWithout = 16

// most returns how many tokens may be in use.
func (s *scheduler[T]) most() int { return cmp.Or(s.Jobs, s.limit, 1) }

// mayStart reports whether the next job of h may start.
func (s *scheduler[T]) mayStart(h *host[T]) bool {
	most := s.most()
	if !s.short {
		most += mostWithout
	}
	if s.running >= most || h.givenUp != nil {
		return s.running < most
	}
	now := time.Now()
	return s.tokens < s.most() && !now.Before(h.pause) && h.room(s.PerHost, now) > 0
}

// launch starts the next job of h.
func (s *scheduler[T]) launch(h *host[T]) {
	t := &Turn[T]{Job: h.take(), GivenUp: h.givenUp, s: s, h: h}
	s.queued--
	s.running++
	if s.starts++; s.running == 1 {
		t.alone = s.starts
	}
	if t.GivenUp == nil {
		t.take(1)
	}
	s.room.Broadcast()
	go func() { s.ended(t, s.do(s.ctx, t)) }()
}

// ended takes back a job's tokens and judges how it ended.
func (s *scheduler[T]) ended(t *Turn[T], v Verdict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch v.kind {
	case done:
		s.files++
		t.h.served()
	case full:
		s.refused(t.h, v.err)
		v.next = t.Host
	case unusable:
		t.h.failed(v.err)
	case short:
		s.short = true
		s.Jobs, v.next = max(1, min(s.most(), s.tokens-1)), t.Host
		if s.Full != nil {
			s.Full("this machine", s.Jobs)
		}
	}
	if v.next != "" {
		t.Host = v.next
		s.push(t.Job, true)
	}
	t.take(-t.tokens)
	if s.running--; v.kind != short || s.running == 0 { // else the end of another job gives room
		s.start()
	}
	s.room.Broadcast()
}

// refused records that h has refused one of the connections in use.
func (s *scheduler[T]) refused(h *host[T], err error) {
	ceiling := h.full(err, s.Patience)
	if h.alone > 0 {
		ceiling = 0
	}
	if s.Full != nil && h.givenUp == nil {
		s.Full(h.name, ceiling)
	}
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
	return !t.h.jobs.empty() && t.s.ctx.Err() == nil
}

// Alone reports whether no other job has run since t began, and t has one token at most.
func (t *Turn[T]) Alone() bool {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	return t.alone == t.s.starts && t.tokens <= 1
}

// Release gives back the tokens of t: the host has served its job, which needs it
// no more. The job may go on with other work until it ends.
func (t *Turn[T]) Release() {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	t.h.served()
	t.take(-t.tokens)
	t.s.start()
}

// MayBeFull reports whether the host may have refused a connection without a word
// because it has too many: others to it are in use; or it is known to accept
// connections, and has refused the only one just a few times, or fewer than times.
func (t *Turn[T]) MayBeFull(times int) bool {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	h := t.h
	if h.known || h.ceiling > 0 {
		times = max(times, min(mostMissed, t.s.Patience))
	}
	return h.tokens > t.tokens || h.alone < times
}

// Spare takes up to n more tokens of the host that no queued job needs, and
// returns how many it took. t keeps them until it ends.
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

// Refused records that the host refused a connection for one of the tokens that
// Spare gave, and gives that token back.
func (t *Turn[T]) Refused(err error) {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	t.s.refused(t.h, err)
	if t.tokens > 1 {
		t.take(-1)
	}
	t.s.start()
}
