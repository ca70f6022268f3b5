package schedule

import (
	"cmp"
	"math"
	"time"
)

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
	// rests is how many periods pass before the search tries other numbers again.
	rests = 8
)

// Connections returns how many connections to use now.
func (s *Search) Connections() int { return cmp.Or(s.base, first) + s.step }

// Far takes that nothing has come in for a while: the round trips are long, so that connections mostly wait.
func (s *Search) Far() { s.step = first }

// Begin takes what came in first: per second, and how many files and bytes. Nothing tells yet whether more connections
// help. Twice as many are tried, but fewer if files are large, because a connection stays until its file has ended.
func (s *Search) Begin(reward float64, files int, bytes int64) {
	far := s.step > 0
	n := s.Connections()
	s.base = n
	s.utility = utility(reward, n)
	s.step = n
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
		s.utility = worth
		s.rest(gain)
	case gain > band, s.step < 0 && gain > -band: // with equal utility the smaller number wins
		s.base = n
		s.utility = max(worth, s.utility)
		s.step *= 2
		if s.step < 0 {
			s.step = -1 - n/4
		}
	default:
		s.turnBack(harms)
	}
	s.step = min(max(s.step, 1-s.base), most-s.base)
	return true
}

// rest counts a period without a step. The next step follows after some of them, or when what comes in has changed: but not
// after the first, because the window in which base was judged may have been short.
func (s *Search) rest(gain float64) {
	s.rested++
	if s.rested == 1 || s.rested < rests && math.Abs(gain) <= 4*band {
		return
	}
	s.rested = 0
	s.step = 1 + s.base/4
	if s.base == most {
		s.step = -s.step
	}
}

// turnBack makes the next step smaller, or one down after the smallest one up.
func (s *Search) turnBack(harms bool) {
	up := s.step > 0
	s.step /= 2
	if harms {
		s.step /= 2
	}
	if up && s.step == 0 {
		s.step = -1 - s.base/4
	}
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

// enough reports whether a short window tells something: there were so many files since from, or so many bytes for each of
// n connections.
func (m mark) enough(from mark, n, files int) bool {
	return m.files-from.files >= files || m.bytes-from.bytes >= int64(n)*enough &&
		m.at.Sub(from.at) >= shortest
}

// observe tells the search what has come in. After a smaller number, files that had more connections must end first, and
// after a larger one the new connections must have begun, which takes as long as for the first: until then nothing is
// known about the number. A window begins when something comes in.
func (s *scheduler[T]) observe() {
	now := mark{at: time.Now(), files: s.files, spent: s.spent}
	if s.Received != nil {
		now.bytes = s.Received()
	}
	n := s.limit
	switch {
	case s.tokens != n:
	case now.files == 0 && now.bytes == 0:
		s.from = now
		s.silent += tick
		if s.silent <= settling || n > first {
			return
		}
		s.search.Far()
	case s.search.base > 0 && n > s.search.base && now.at.Sub(s.begun) <= s.silent:
		s.from = now
		return
	case !s.heard:
		s.heard = now.files > s.from.files || now.bytes > s.from.bytes
		s.from = now
		return
	case !s.judge(now):
		return
	}
	s.limit = s.search.Connections()
	s.begun = now.at
	s.from = now
	s.heard = false
}

// judge tells the search what has come in since the window began. It returns false if that tells too little.
func (s *scheduler[T]) judge(now mark) bool {
	n := s.limit
	window := now.at.Sub(s.from.at)
	reward := now.since(s.from, n)
	if s.search.base > 0 {
		return (window >= period || now.enough(s.from, n, n)) &&
			s.search.Observe(reward, window >= settling, window >= period)
	}
	if !now.enough(mark{at: s.from.at}, n, 2*first) {
		return false
	}
	s.search.Begin(reward, now.files, now.bytes)
	return true
}
