package schedule

import (
	"cmp"
	"math"
	"time"
)

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
	// firstProbe and lastProbe bound the time until one connection above the ceiling is tried. It doubles if that is refused.
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
	if most := cmp.Or(perHost, math.MaxInt32); h.ceiling == 0 || h.ceiling >= most {
		h.ceiling = 0
		return most - h.tokens
	}
	if h.tokens >= h.ceiling && !now.Before(h.probe) {
		h.ceiling++
		h.probing, h.probe = true, now.Add(h.patient)
	}
	return h.ceiling - h.tokens
}

// full records that the server refused one of the connections in use. It returns the new ceiling, 0 if that was the only one.
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
	h.alone++
	if h.alone > patience {
		h.givenUp = err
	}
	h.pause = now.Add(min(longestPause, time.Second<<min(h.alone-1, 10)))
	return 0
}

func (h *host[T]) served() {
	h.known = true
	h.alone = 0
	h.unused = 0
}

func (h *host[T]) queued() int { return len(h.jobs) + len(h.finders) }

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
	defer t.s.change()()
	t.s.push(job, false)
}

// Follows reports whether another job of the same host is queued.
func (t *Turn[T]) Follows() bool {
	defer t.s.lock()()
	return len(t.h.jobs) > 0 && t.s.ctx.Err() == nil
}

// Alone reports whether no other job has run since t began, and t has one token at most.
func (t *Turn[T]) Alone() bool {
	defer t.s.lock()()
	return t.alone == t.s.starts && t.tokens <= 1
}

// Release gives back the tokens of t: the host has served its job, which may go on with other work until it ends.
func (t *Turn[T]) Release() {
	defer t.s.change()()
	t.h.served()
	t.take(-t.tokens)
}

// MayBeFull reports whether the host may have refused a connection without a word because it has too many: others to it
// are in use; or it is known to accept connections, and has refused the only one just a few times, or fewer than times.
func (t *Turn[T]) MayBeFull(times int) bool {
	defer t.s.lock()()
	h := t.h
	if h.known || h.ceiling > 0 {
		times = max(times, min(mostMissed, t.s.Patience))
	}
	return h.tokens > t.tokens || h.alone < times
}

// Spare takes up to n more tokens of the host that no queued job needs, and returns how many. t keeps them until it ends.
func (t *Turn[T]) Spare(n int) int {
	defer t.s.lock()()
	if t.s.queued > 0 || t.s.feeding || t.GivenUp != nil {
		return 0
	}
	n = max(0, min(n, t.s.most()-t.s.tokens, t.h.room(t.s.PerHost, time.Now())))
	t.take(n)
	return n
}

// Refused records that the host refused a connection for one of the tokens that Spare gave, and gives that token back.
func (t *Turn[T]) Refused(err error) {
	defer t.s.change()()
	t.s.refused(t.h, err)
	if t.tokens > 1 {
		t.take(-1)
	}
}

// Search finds the number of connections at which more of them are no longer worth it. It compares what different numbers
// bring by their utility: what came in, divided by price^n, so that a connection that adds little loses. It climbs by
// steps that double while they help and halve when they do not, first up, then down. The zero value begins with eight.
type Search struct {
	base    int     // the best number so far; 0 until something has come in
	utility float64 // of base, as a logarithm
	step    int     // from base to the number being tried; 0: none
	rested  int     // periods without a step
}

const (
	price = 1.02
	// band is the relative change of the utility that counts as none, and clear one that needs no whole period to show.
	band, clear = 0.03, 0.2
	// perFile is what a file is worth beyond its bytes, in bytes: most of the time of a small file is not spent on them.
	perFile = 64 << 10
	// first and most bound the search when it climbs; it may go below first.
	first, most = 8, 32
	// rest is how many periods pass before the search tries other numbers again.
	rest = 8
)

// Connections returns how many connections to use now.
func (s *Search) Connections() int { return cmp.Or(s.base, first) + s.step }

// Far takes that nothing has come in for a while: the round trips are long, so that connections mostly wait.
func (s *Search) Far() { s.step = first }

// Begin takes what came in first: per second, and how many files and bytes. Nothing tells yet whether more connections
// help. Twice as many are tried, but fewer if files are large, because a connection stays until its file has ended.
func (s *Search) Begin(reward float64, files int, bytes int64) {
	far, n := s.step > 0, s.Connections()
	s.base, s.utility, s.step = n, utility(reward, n), n
	switch {
	case files == 0 && far:
		s.step = 0
	case files == 0:
		s.step = 1 + n/4
	case far && bytes > perFile*int64(files):
		s.step = n / 2
	}
}

func utility(reward float64, n int) float64 { return math.Log(reward) - float64(n)*math.Log(price) }

// Observe takes what came in, per second. It reports whether that tells enough: before a whole period only what is clear
// counts: a gain, or, if the window is long enough to be sure, a loss.
func (s *Search) Observe(reward float64, sure, whole bool) bool {
	if reward <= 0 {
		return whole
	}
	n := s.Connections()
	worth := utility(reward, n)
	gain := worth - s.utility
	pays := s.step > 0 && gain > clear
	harms := s.step > 0 && sure && gain+float64(s.step)*math.Log(price) < -clear
	if !whole && !pays && !harms {
		return false
	}
	switch {
	case s.step == 0:
		if s.utility, s.rested = worth, s.rested+1; s.rested == 1 || s.rested < rest && math.Abs(gain) <= 4*band {
			break // the window in which base was judged may have been short
		}
		if s.step, s.rested = 1+s.base/4, 0; s.base == most {
			s.step = -s.step
		}
	case gain > band, s.step < 0 && gain > -band: // with equal utility the smaller number wins
		s.base, s.utility = n, math.Max(worth, s.utility)
		if s.step *= 2; s.step < 0 {
			s.step = -1 - n/4
		}
	default:
		smaller := s.step / 2
		if harms {
			smaller /= 2
		}
		if smaller == 0 && s.step > 0 {
			smaller = -1 - s.base/4
		}
		s.step = smaller
	}
	s.step = min(max(s.step, 1-s.base), most-s.base)
	return true
}

const (
	// period is how long the search watches a number of connections, unless it is clear earlier what they bring.
	period   = 4 * time.Second
	settling = time.Second
	// A short window ends when there were as many files as connections, or so many bytes for each of them. Bytes are counted
	// in steps, so they tell nothing in less than shortest.
	enough   = 256 << 10
	shortest = time.Second / 2
)

// mark is what had come in at a moment.
type mark struct {
	at    time.Time
	files int
	bytes int64
	spent time.Duration // on the files, together
}

// since returns what came in after from, per second, over n connections. Files that began together end together, so that
// their ends may come more often in a short window than they do in the long run: it counts as long as they took.
func (m mark) since(from mark, n int) float64 {
	window := m.at.Sub(from.at)
	if window < period {
		window = max(window, (m.spent-from.spent)/time.Duration(n))
	}
	return float64(perFile*int64(m.files-from.files)+m.bytes-from.bytes) / window.Seconds()
}

// observe tells the search what has come in. After a smaller number, files that had more connections must end first, and
// after a larger one the new connections must have begun, which takes as long as for the first: until then nothing is
// known about the number. A window begins when something comes in.
func (s *scheduler[T]) observe() {
	now := mark{at: time.Now(), files: s.files, spent: s.spent}
	if s.Received != nil {
		now.bytes = s.Received()
	}
	n, from := s.limit, s.from
	window := now.at.Sub(from.at)
	switch {
	case s.tokens != n:
	case now.files == 0 && now.bytes == 0:
		s.from = now
		if s.silent += tick; s.silent <= settling || n > first {
			return
		}
		s.search.Far()
	case s.search.base > 0 && n > s.search.base && now.at.Sub(s.begun) <= s.silent:
		s.from = now
		return
	case !s.heard:
		s.heard = now.files > from.files || now.bytes > from.bytes
		s.from = now
		return
	case s.search.base == 0:
		if now.files < 2*first && (now.bytes < int64(n)*enough || window < shortest) {
			return
		}
		s.search.Begin(now.since(from, n), now.files, now.bytes)
	default:
		short := now.files-from.files < n && (now.bytes-from.bytes < int64(n)*enough || window < shortest)
		if short && window < period || !s.search.Observe(now.since(from, n), window >= settling, window >= period) {
			return
		}
	}
	s.limit = s.search.Connections()
	s.begun = now.at
	s.from = now
	s.heard = false
}
