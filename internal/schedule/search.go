package schedule

import (
	"cmp"
	"math"
	"time"
)

// Search finds the number of connections above which more connections add too little. It compares numbers n by their
// utility, which is the throughput divided by price^n, so that a connection that adds little does not pay. Search moves
// by steps that double while they help and halve when they do not, first up, then down. The zero value begins with
// eight connections.
type Search struct {
	base    int     // the best number so far; 0 until a file or byte has arrived
	utility float64 // the logarithm of the utility of base
	step    int     // from base to the number being tried; 0 if none is
	rested  int     // number of periods without a step
}

const (
	price = 1.02
	// band is the relative change of the utility that counts as none. clear is a change that counts even before a whole
	// period is over.
	band, clear = 0.03, 0.2
	// perFile is what a file counts in addition to its bytes, in bytes, because most of the time of a small file is not
	// spent on its data.
	perFile = 64 << 10
	// The search starts at first and climbs to at most most. It may go below first.
	first, most = 8, 32
	// rests is how many periods the search rests before it tries another number.
	rests = 8
)

// Connections returns how many connections to use now.
func (s *Search) Connections() int { return cmp.Or(s.base, first) + s.step }

// Far tells the search that nothing has arrived for a while. So round trips are long and connections mostly wait, and
// the search doubles their number.
func (s *Search) Far() { s.step = first }

// Begin tells the search what arrived first: reward per second, files and bytes. It is not known yet whether more
// connections help. Begin tries twice as many, but fewer if files are large, because a connection stays in use until
// its file is complete.
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

// Observe tells the search the reward per second. It reports whether the search has used it. Before a whole period is
// over, the search uses only a clear gain or, if sure says that the window is long enough, a clear loss.
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
	case gain > band, s.step < 0 && gain > -band: // at equal utility the smaller number wins
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

// rest counts a period without a step. The next step follows after several periods, or when the reward has changed
// clearly. It never follows after the first period, because the window in which base was measured may have been short.
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

// turnBack halves the step. After the smallest step up it turns down.
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
	// period is how long the search measures a number of connections, unless the result is clear earlier.
	period   = 4 * time.Second
	settling = time.Second
	// A window may end early if as many files as connections have ended, or if enough bytes have arrived for each
	// connection. Bytes are counted in steps, so they say nothing in less than shortest.
	enoughBytes = 256 << 10
	shortest    = time.Second / 2
)

// mark is what had arrived at a point in time.
type mark struct {
	at     time.Time
	served int
	bytes  int64
	spent  time.Duration // for which the jobs of served held tokens
}

// since returns the reward per second since from, over n connections. Files that began together end together, so a
// short window may have more ends of files than the average. Such a window counts as long as its files took.
func (m mark) since(from mark, n int) float64 {
	window := m.at.Sub(from.at)
	if window < period {
		window = max(window, (m.spent-from.spent)/time.Duration(n))
	}
	return float64(perFile*int64(m.served-from.served)+m.bytes-from.bytes) / window.Seconds()
}

// enough reports whether a short window is significant: at least files files have ended since from, or enough bytes
// have arrived for each of n connections.
func (m mark) enough(from mark, n, files int) bool {
	return m.served-from.served >= files || m.bytes-from.bytes >= int64(n)*enoughBytes &&
		m.at.Sub(from.at) >= shortest
}

// observe tells the search what has arrived. After the number of connections was reduced, surplus jobs must end first;
// after it was raised, the new connections need as long to begin as the first ones did. Only then a window can begin,
// when the next file or byte arrives.
func (s *scheduler[T]) observe() {
	now := mark{at: time.Now(), served: s.served, spent: s.spent}
	if s.Received != nil {
		now.bytes = s.Received()
	}
	n := s.limit
	switch {
	case s.tokens != n:
	case now.served == 0 && now.bytes == 0:
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
		s.heard = now.served > s.from.served || now.bytes > s.from.bytes
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

// judge tells the search what has arrived since the window began. It returns false if that is too little.
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
	s.search.Begin(reward, now.served, now.bytes)
	return true
}
