// Package schedule runs many jobs at the same time, each on a server, and finds out how many connections each server
// accepts and the network can use.
//
// A running job holds one token of its server, which stands for one connection. While no queued job needs them, it may
// take spare tokens too. No job waits for a token while it holds one, so the run cannot deadlock: a job whose connection
// the server refuses gives its token back and returns to the queue.
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
	// Jobs is the most jobs with tokens at a time, of all hosts together; 0 means that [Search] finds the number.
	Jobs int
	// Spare is the most tokens in use at a time, of all hosts together, spare ones included. If it is less than Jobs, it
	// counts as Jobs.
	Spare   int
	PerHost int // the most tokens in use at a time for each host; 0 means no limit
	// Patience is how many times in a row a host may refuse the only connection before the run gives it up.
	Patience int
	// Without is the most running jobs without a token, because their host was given up or they gave theirs back.
	Without  int
	Received func() int64 // returns how many bytes have arrived so far; needed only if Jobs is 0
	// Full, if not nil, is called when a host has refused a connection and is not given up. ceiling is how many
	// connections the host seems to accept; 0 means that it refused the only one, and that the run pauses. If this
	// process has too many open files, host is [ThisMachine]. Full must not call the scheduler.
	Full func(host string, ceiling int)
	// Busy, if not nil, is called when a job holds a token while none did, and when none does any more. It must not call
	// the scheduler.
	Busy func(busy bool)
}

// ThisMachine is the host of [Options.Full] if this process lacks a resource.
const ThisMachine = "this machine"

// Job is a unit of work on a host.
type Job[T any] struct {
	Host  string
	Value T
	// Finds means that the job may add other jobs. Such jobs run first while few jobs are queued for the host, because
	// they show how much there is to do.
	Finds bool
	// Last means that the source has no more jobs, so that this one may take spare tokens.
	Last bool
}

// ErrLate is the cause of a job's context that ends because the time for the job is over.
var ErrLate = fmt.Errorf("not done in time: %w", context.DeadlineExceeded)

// GivenUp is the reason why the run has given up a host, so that no job may connect to it.
type GivenUp struct{ error }

func (e *GivenUp) Unwrap() error { return e.error }

// GiveUp returns err as the reason of a caller that has given up some URLs of a host.
func GiveUp(err error) *GivenUp { return &GivenUp{err} }

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

// Done means that the job is over and that the server has served it, whether the job succeeded or not.
var Done = Verdict{}

// Untouched means that the job is over and did not need the server.
var Untouched = Verdict{kind: untouched}

// Short means that this process lacks a resource, such as open files, for all running jobs. The job returns to the
// front of its queue, and the run uses fewer tokens from then on. A job that is [Turn.Alone] must not return Short for
// ever.
var Short = Verdict{kind: short}

// Full means that the server has too many connections; err is its refusal. The job returns to the front of its queue.
func Full(err error) Verdict { return Verdict{kind: full, err: err} }

// Unusable means that the job is over because the host refused it entry or did not serve it. After a few such jobs in a
// row, the run gives up the host.
func Unusable(err error) Verdict { return Verdict{kind: unusable, err: err} }

// Then returns v changed to mean that the job is not over, but must run again, on host.
func (v Verdict) Then(host string) Verdict { v.next = host; return v }

// Run runs the jobs of source, and the jobs that they add, until there are no more or ctx ends. Then it waits for the
// running jobs. It reads source only a bounded number of jobs ahead.
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
		for s.queued >= mostQueued && ctx.Err() == nil {
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
	close(s.launched) // start no longer starts jobs
}

// tick is how often the scheduler checks whether a pause is over, a probe is due, or the search has a new result.
const tick = time.Second / 10

// mostQueued is the number of queued jobs up to which Run reads the source.
const mostQueued = 4096

// scheduler holds the state of a run. Every change of the state ends with a call of start.
type scheduler[T any] struct {
	Options
	ctx      context.Context
	do       func(context.Context, *Turn[T]) Verdict
	launched chan *Turn[T] // for a goroutine that has finished its job

	mu      sync.Mutex
	changed sync.Cond
	hosts   map[string]*host[T]
	ring    []*host[T] // hosts with queued jobs; the first one is next
	feeding bool       // the source may have more
	queued  int
	running int
	starts  int         // number of jobs launched so far
	short   bool        // a job returned Short, so no job may run without a token
	tokens  int         // tokens in use
	holders int         // jobs that hold tokens
	busy    bool        // there were some at the last change
	served  int         // number of jobs that ended with Done
	alarm   *time.Timer // for the next tick

	search Search
	limit  int           // limit of tokens that the search has chosen
	silent time.Duration // time until the first file or byte arrived
	spent  time.Duration // for which the jobs of served held tokens
	begun  time.Time     // time at which the number of tokens in use became limit
	from   mark          // start of the window
	heard  bool          // a file or byte has arrived since begun
}

func (s *scheduler[T]) lock() (unlock func()) {
	s.mu.Lock()
	return s.mu.Unlock
}

// change locks s for a change of the state. The returned function starts the jobs that may now start, and unlocks s.
func (s *scheduler[T]) change() (done func()) {
	s.mu.Lock()
	return func() {
		s.start()
		s.mu.Unlock()
	}
}

// look handles changes by time or by the end of ctx.
func (s *scheduler[T]) look() {
	defer s.change()()
	if s.ctx.Err() == nil {
		s.alarm.Reset(tick)
		if s.Jobs == 0 {
			s.observe()
		}
	}
}

// host returns the host of this name.
func (s *scheduler[T]) host(name string) *host[T] {
	h := s.hosts[name]
	if h == nil {
		h = &host[T]{name: name}
		s.hosts[name] = h
	}
	return h
}

// push queues a job at the front or the end of its host's queue.
func (s *scheduler[T]) push(job Job[T], front bool) {
	h := s.host(job.Host)
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
	defer s.tellBusy()
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

// tellBusy tells whether jobs hold tokens, if that has changed.
func (s *scheduler[T]) tellBusy() {
	busy := s.holders > 0
	if busy != s.busy && s.Busy != nil {
		s.Busy(busy)
	}
	s.busy = busy
}

func (s *scheduler[T]) most() int { return cmp.Or(s.Jobs, s.limit) }

// left returns how many more tokens may be in use.
func (s *scheduler[T]) left() int { return max(s.most(), s.Spare) - s.tokens }

func (s *scheduler[T]) mayStart(h *host[T]) bool {
	most := s.most()
	if !s.short {
		most += s.Without
	}
	if s.running >= most || h.givenUp != nil {
		return s.running < most
	}
	return s.mayHold(h) && s.left() > 0 && h.room(s.PerHost, time.Now()) > 0
}

// mayHold reports whether a queued job of h may take a token as soon as there is one.
func (s *scheduler[T]) mayHold(h *host[T]) bool {
	return h.givenUp == nil && s.holders < s.most() && !time.Now().Before(h.pause)
}

func (s *scheduler[T]) launch(h *host[T]) {
	t := &Turn[T]{Job: h.dequeue(), s: s, h: h, begun: time.Now()}
	s.queued--
	s.running++
	s.starts++
	if s.running == 1 {
		t.soleStart = s.starts
	}
	if h.givenUp == nil {
		t.hold(h, 1)
		s.holders++
	} else {
		t.GivenUp = &GivenUp{h.givenUp}
	}
	select {
	case s.launched <- t:
	default:
		go s.work(t)
	}
}

// work runs t and then further launched jobs. It reuses the goroutine because the growing stack of a new one is copied
// several times, which takes a tenth of the processor time of a small file.
func (s *scheduler[T]) work(t *Turn[T]) {
	for ok := true; ok; t, ok = <-s.launched {
		s.ended(t, s.do(s.ctx, t))
	}
}

// ended takes back the tokens of a job and acts on its Verdict.
func (s *scheduler[T]) ended(t *Turn[T], v Verdict) {
	defer s.lock()()
	switch v.kind {
	case done:
		s.served++
		s.spent += t.connected()
		t.h.served()
	case full:
		s.refused(t.h, v.err)
		v.next = t.Host
	case unusable:
		t.h.missed++
		if t.h.missed >= mostMissed && t.GivenUp == nil { // else err is about the reason
			t.h.givenUp = v.err
		}
	case short:
		s.short = true
		s.Jobs = max(1, min(s.most(), s.tokens-1))
		s.Spare = s.Jobs
		v.next = t.Host
		if s.Full != nil {
			s.Full(ThisMachine, s.Jobs)
		}
	}
	if v.next != "" {
		t.Host = v.next
		s.push(t.Job, true)
	}
	t.giveBack()
	s.running--
	if v.kind != short || s.running == 0 { // else at the next change or tick
		s.start()
	}
}

func (s *scheduler[T]) refused(h *host[T], err error) {
	ceiling := h.full(err, s.Patience)
	if s.Full != nil && h.givenUp == nil {
		s.Full(h.name, ceiling)
	}
}
