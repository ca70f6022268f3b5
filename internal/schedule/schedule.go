// Package schedule runs many jobs at once, each on a server, and finds out how many connections each server and the
// network bear.
//
// A job holds one token of its server for as long as it runs, which stands for one connection. No job ever waits while it
// holds a token, so that no order of events can lock the run up: a job that the server has no room for gives its token
// back and returns to the queue.
package schedule

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"
)

// Options limits a run.
type Options struct {
	// tokens in use at once, of all hosts together; 0 means that [Search] finds the number
	Jobs    int
	PerHost int // tokens in use at once for each host; 0 means no limit
	// how many times in a row a host may refuse every connection before the run gives it up
	Patience int
	// the most jobs that need no token, because their host was given up, or because they have given theirs back
	Without  int
	Received func() int64 // how many bytes have come in so far; needed only if Jobs is 0
	// Full, if not nil, is called when a host has refused a connection and is not given up, with the number that it is
	// believed to bear; 0 means that it refused the only one, and that the run pauses. It must not call the scheduler.
	Full func(host string, ceiling int)
}

// Job is one thing to do on a host.
type Job[T any] struct {
	Host  string
	Value T
	// Finds means that the job may add others. Such jobs run first while few others are queued for the host, because they
	// show how much there is to do.
	Finds bool
	// Last means that the source has no other, so that this one may take what is to spare.
	Last bool
}

// ErrLate is the cause with which a context of a job ends when the time for it has passed.
var ErrLate = fmt.Errorf("not done in time: %w", context.DeadlineExceeded)

// GivenUp is why no job may connect to a host any more.
type GivenUp struct{ error }

func (e *GivenUp) Unwrap() error { return e.error }

// Verdict says how a job ended.
type Verdict struct {
	kind verdict
	next string
	err  error
}

// verdict is the kind of a Verdict.
type verdict int

const (
	done verdict = iota
	untouched
	full
	unusable
	short
)

// Done means that the job is over and that the server has answered, with or without success.
var Done = Verdict{}

// Untouched means that the job is over, and that it did not need the server.
var Untouched = Verdict{kind: untouched}

// Short means that this process has too little of something, such as open files, for all jobs that run. The job returns
// to the front of its queue, and from now on fewer tokens are in use. One that is [Turn.Alone] must not say so for ever.
var Short = Verdict{kind: short}

// Full means that the server has too many connections, as err says. The job returns to the front of its queue.
func Full(err error) Verdict { return Verdict{kind: full, err: err} }

// Unusable means that the job is over because the host let nobody in or did not serve it. After a few in a row, the host is given up.
func Unusable(err error) Verdict { return Verdict{kind: unusable, err: err} }

// Then means that the job is not over after all: it must run again, on host.
func (v Verdict) Then(host string) Verdict { v.next = host; return v }

// Run runs the jobs of source, and those that they add, until there are no more or ctx ends; then it waits for those that
// are running. It reads source only a bounded number of jobs ahead.
func Run[T any](ctx context.Context, o Options, source iter.Seq[Job[T]],
	do func(context.Context, *Turn[T]) Verdict) {
	ctx, end := context.WithCancel(ctx)
	s := &scheduler[T]{
		Options: o, ctx: ctx, do: do, feeding: true,
		hosts: make(map[string]*host[T]), launched: make(chan *Turn[T]),
	}
	s.changed.L = &s.mu
	s.mu.Lock()
	s.limit = s.search.Connections()
	s.alarm = time.AfterFunc(tick, s.look)
	s.mu.Unlock()
	context.AfterFunc(ctx, s.look)
	for job := range source {
		s.mu.Lock()
		for s.queued >= window && ctx.Err() == nil {
			s.changed.Wait()
		}
		s.feeding = !job.Last
		s.push(job, false)
		s.start()
		s.mu.Unlock()
		if ctx.Err() != nil {
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.feeding = false
	for s.running > 0 || s.queued > 0 && ctx.Err() == nil {
		s.changed.Wait()
	}
	s.alarm.Stop()
	end()
	close(s.launched) // start starts nothing any more
}

// tick is how often the scheduler looks whether a pause is over, a probe is due, or the search knows more.
const tick = time.Second / 10

// window bounds the jobs that are read from the source in advance.
const window = 4096

// scheduler holds the state of a run. Every change of it ends in start.
type scheduler[T any] struct {
	Options
	ctx      context.Context
	do       func(context.Context, *Turn[T]) Verdict
	launched chan *Turn[T] // for the goroutine that has done another

	mu      sync.Mutex
	changed sync.Cond
	hosts   map[string]*host[T]
	ring    []*host[T] // those with queued jobs; the first one is next
	feeding bool       // the source may have more
	queued  int
	running int
	starts  int         // jobs launched so far
	short   bool        // a job was short of something: none runs without a token any more
	tokens  int         // in use
	files   int         // jobs that ended well
	alarm   *time.Timer // the next tick

	search Search
	limit  int           // of tokens: what the search says
	silent time.Duration // until the first file or byte came in
	spent  time.Duration // by the files, together
	begun  time.Time     // since when as many tokens are in use
	from   mark          // the beginning of the window
	heard  bool          // something has come in since begun
}

func (s *scheduler[T]) lock() (unlock func()) {
	s.mu.Lock()
	return s.mu.Unlock
}

// change is lock for a change of the state, after which more jobs may start.
func (s *scheduler[T]) change() (done func()) {
	s.mu.Lock()
	return func() {
		s.start()
		s.mu.Unlock()
	}
}

// look looks at the state again, which time or ctx has changed.
func (s *scheduler[T]) look() {
	defer s.change()()
	if s.ctx.Err() == nil {
		s.alarm.Reset(tick)
		if s.Jobs == 0 {
			s.observe()
		}
	}
}

// push queues a job, as the last or the first of its host.
func (s *scheduler[T]) push(job Job[T], front bool) {
	h := s.hosts[job.Host]
	if h == nil {
		h = &host[T]{name: job.Host}
		s.hosts[job.Host] = h
	}
	if h.queued() == 0 {
		s.ring = append(s.ring, h)
	}
	q := &h.jobs
	if job.Finds {
		q = &h.finders
	}
	if front {
		*q = slices.Insert(*q, 0, job)
	} else {
		*q = append(*q, job)
	}
	s.queued++
}

func (s *scheduler[T]) start() {
	defer s.changed.Broadcast()
	if s.ctx.Err() != nil {
		return
	}
	for passed := 0; passed < len(s.ring); {
		h := s.ring[0]
		s.ring = s.ring[1:]
		passed++
		if s.mayStart(h) {
			passed = 0
			s.launch(h)
		}
		if h.queued() > 0 {
			s.ring = append(s.ring, h)
		}
	}
}

func (s *scheduler[T]) most() int { return cmp.Or(s.Jobs, s.limit) }

func (s *scheduler[T]) mayStart(h *host[T]) bool {
	most := s.most()
	if !s.short {
		most += s.Without
	}
	if s.running >= most || h.givenUp != nil {
		return s.running < most
	}
	now := time.Now()
	return s.tokens < s.most() && !now.Before(h.pause) && h.room(s.PerHost, now) > 0
}

func (s *scheduler[T]) launch(h *host[T]) {
	t := &Turn[T]{Job: h.take(), s: s, h: h, begun: time.Now()}
	s.queued--
	s.running++
	s.starts++
	if s.running == 1 {
		t.alone = s.starts
	}
	if h.givenUp == nil {
		t.take(1)
	} else {
		t.GivenUp = &GivenUp{h.givenUp}
	}
	select {
	case s.launched <- t:
	default:
		go s.work(t)
	}
}

// work does t and then what is launched, because the stack of a new goroutine is copied again and again as it grows, which
// takes a tenth of a small file's processor time.
func (s *scheduler[T]) work(t *Turn[T]) {
	for ok := true; ok; t, ok = <-s.launched {
		s.ended(t, s.do(s.ctx, t))
	}
}

// ended takes back a job's tokens and judges how it ended.
func (s *scheduler[T]) ended(t *Turn[T], v Verdict) {
	defer s.lock()()
	switch v.kind {
	case done:
		s.files++
		s.spent += time.Since(t.begun)
		t.h.served()
	case full:
		s.refused(t.h, v.err)
		v.next = t.Host
	case unusable:
		t.h.unused++
		if t.h.unused >= mostMissed && t.GivenUp == nil { // else err is about the reason
			t.h.givenUp = v.err
		}
	case short:
		s.short = true
		s.Jobs = max(1, min(s.most(), s.tokens-1))
		v.next = t.Host
		if s.Full != nil {
			s.Full("this machine", s.Jobs)
		}
	}
	if v.next != "" {
		t.Host = v.next
		s.push(t.Job, true)
	}
	t.take(-t.tokens)
	s.running--
	if v.kind != short || s.running == 0 { // else the end of another job gives room
		s.start()
	}
}

func (s *scheduler[T]) refused(h *host[T], err error) {
	ceiling := h.full(err, s.Patience)
	if s.Full != nil && h.givenUp == nil {
		s.Full(h.name, ceiling)
	}
}
