package schedule

import (
	"math"
	"time"
)

// Search finds the number of connections at which more of them are no longer worth it. It compares what different numbers
// bring by their utility: what came in, divided by price^n, so that a connection that adds little loses. It climbs by
// steps that double while they help and halve when they do not, first up, then down. The zero value starts with four
// connections.
type Search struct {
	base    int     // the best number so far; 0 before the first period
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
	first, most = 4, 32
	// rest is how many periods pass before the search tries other numbers again.
	rest = 8
)

// Connections returns how many connections to use now.
func (s *Search) Connections() int {
	if s.base == 0 {
		return first
	}
	return s.base + s.step
}

// Observe takes what came in, per second, in a window of this length: bytes, with perFile for each file. It reports whether
// that tells enough. Before the window is a whole period's, only what is clear counts: that more connections pay, or, if it
// is not a short one, that they do harm.
func (s *Search) Observe(reward float64, window time.Duration) bool {
	whole := window >= period-settling
	if reward <= 0 {
		return whole
	}
	n := s.Connections()
	utility := math.Log(reward) - float64(n)*math.Log(price)
	gain := utility - s.utility
	pays := s.base == 0 || s.step > 0 && gain > clear
	harms := s.step > 0 && gain+float64(s.step)*math.Log(price) < -clear && window >= settling
	if !whole && !pays && !harms {
		return false
	}
	switch {
	case s.base == 0:
		s.base, s.utility, s.step = n, utility, n
	case s.step == 0:
		if s.utility, s.rested = utility, s.rested+1; s.rested == 1 || s.rested < rest && math.Abs(gain) <= 4*band {
			break // the window in which base was judged may have been short
		}
		if s.step, s.rested = 1+s.base/4, 0; s.base == most {
			s.step = -s.step
		}
	case gain > band, s.step < 0 && gain > -band: // with equal utility the smaller number wins
		s.base, s.utility = n, math.Max(utility, s.utility)
		if s.step *= 2; s.step < 0 {
			s.step = -1 - n/4
		}
	case harms: // base may be too much as well
		s.step = -s.base / 2
	case s.step/2 != 0:
		s.step /= 2
	case s.step > 0:
		s.step = -1 - s.base/4
	default:
		s.step = 0
	}
	s.step = min(max(s.step, 1-s.base), most-s.base)
	return true
}

const (
	// period is how long the search watches a number of connections, unless it is clear earlier what they bring. What comes
	// in settling counts for nothing then: connections start slowly.
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
}

// since returns what came in after from, per second, and how long that was.
func (m mark) since(from mark) (reward float64, window time.Duration) {
	window = m.at.Sub(from.at)
	return float64(perFile*int64(m.files-from.files)+m.bytes-from.bytes) / window.Seconds(), window
}

// ends reports whether m ends a short window that began at from, with n connections.
func (m mark) ends(from mark, n int) bool {
	return m.files-from.files >= n || m.bytes-from.bytes >= int64(n)*enough && m.at.Sub(from.at) >= shortest
}

// observe tells the search what has come in. After a smaller number, files that had more connections must end first: until
// then nothing is known about the number.
func (s *scheduler[T]) observe() {
	now := mark{at: time.Now(), files: s.files}
	if s.Received != nil {
		now.bytes = s.Received()
	}
	if s.tokens == s.limit {
		if now.at.Sub(s.begun.at) <= settling {
			s.settled = now
		}
		if !s.judged(now) {
			return
		}
		s.limit = s.search.Connections()
	}
	s.begun, s.settled, s.recent = now, now, now
}

// judged reports whether the search knows enough about the number of connections.
func (s *scheduler[T]) judged(now mark) bool {
	reward, window := now.since(s.settled)
	if window >= period-settling || window >= settling && now.ends(s.settled, 2*s.limit) {
		if s.search.Observe(reward, window) {
			return true
		}
	}
	from := s.recent
	if !now.ends(from, s.limit) {
		return false
	}
	s.recent = now
	if from == s.begun && now.files-from.files < s.limit { // a transfer starts slowly
		return false
	}
	reward, _ = now.since(from)
	return s.search.Observe(reward, 0)
}
