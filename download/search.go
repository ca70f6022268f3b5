package download

import (
	"cmp"
	"time"
)

// mostSegments returns the most connections that Options.Segments means.
func mostSegments(segments int) int {
	if segments == AutoSegments {
		return mostFound
	}
	return max(1, segments)
}

const (
	// mostFound is the highest number of connections that a search tries.
	mostFound = 16
	// growth is how much the total must grow for more connections to stay.
	growth = 1.2
	// linear is how much of the growth that each connection adds its share would give counts as that. Then the search takes
	// larger steps, because each step takes time.
	linear = 0.85
	// shortestTrial bounds from below how long a number of connections is tried. Where it takes long to open one, half of
	// that time is tried: a TCP connection needs some round trips to reach its rate.
	shortestTrial = 250 * time.Millisecond
	// farTrial is the number of connections that a search tries first where it takes long to open one. That is fewer than a
	// run of many files opens.
	farTrial = 4
	// firstRest is how long a search rests before it tries more connections once more. Each rest is twice as long. The first
	// is short, because a trial may be judged wrongly: on a link that loses packets, a connection that has lost none yet is
	// faster than it will be.
	firstRest = time.Second
)

// search finds the number of connections that a transfer needs. It takes more as long as the total grows, and goes back
// where it does not. Its zero value is a search that has not begun.
type search struct {
	best   int           // the highest number that has helped; 0 before anything has arrived
	rate   float64       // of the total, in bytes per second, with best connections
	trial  int           // the number that is being tried; best while the search rests
	asked  mark          // when the search asked for trial connections
	before mark          // the last look at which no new one had brought bytes
	from   mark          // when all of them had brought bytes; its time is zero before
	rest   time.Duration // how long the search rests
	rested time.Time     // until when it rests
}

// number returns how many connections to use.
func (s *search) number() int { return max(1, s.trial) }

// look tells the search that n bytes have arrived so far, that so many connections have brought bytes and still do, and
// how long it takes to open one.
func (s *search) look(now time.Time, n int64, open int, opening time.Duration) {
	at := mark{now, n}
	window := max(shortestTrial, opening/2)
	since := now.Sub(s.asked.at)
	switch {
	case n == 0:
	case s.best == 0:
		s.best = 1
		s.try(1, at)
	case s.trial == 1 && s.rested.IsZero():
		if opening >= shortestTrial || since >= shortestTrial { // the rate of one is measured while others open
			s.rate = s.asked.rateUntil(at)
			s.try(firstTrial(opening), at)
		}
	case s.trial == s.best:
		if !s.rests(now) {
			s.rate = s.asked.rateUntil(at)
			s.try(min(2*s.trial, mostFound), at)
		}
	case !s.from.at.IsZero():
		if now.Sub(s.from.at) >= window {
			s.judge(at, open)
		}
	case open >= s.trial || since >= 2*window+opening:
		if s.before.at.Sub(s.asked.at) >= shortestTrial {
			s.rate = s.asked.rateUntil(s.before)
		}
		s.from = at
	case open <= s.best:
		s.before = at
	}
}

// rests reports whether more connections are not tried now, or never again.
func (s *search) rests(now time.Time) bool { return s.best == mostFound || !now.After(s.rested) }

// firstTrial returns the number of connections that are tried after the first one.
func firstTrial(opening time.Duration) int {
	if opening >= shortestTrial {
		return farTrial
	}
	return 2
}

// rateUntil returns the bytes per second from m until later.
func (m mark) rateUntil(later mark) float64 {
	return float64(later.n-m.n) / later.at.Sub(m.at).Seconds()
}

// try begins a trial of a number of connections.
func (s *search) try(number int, at mark) {
	s.trial = number
	s.asked = at
	s.before = at
	s.from = mark{}
}

// judge ends a trial.
func (s *search) judge(at mark, open int) {
	rate := s.from.rateUntil(at)
	next := s.best
	if open > s.best && rate >= growth*s.rate {
		next = 2 * open
		if rate >= linear*s.rate*float64(open)/float64(s.best) {
			next = 4 * open
		}
		s.best = min(open, s.trial)
		next = max(s.best, min(next, mostFound))
	}
	s.rate = rate
	s.try(next, at)
	if next == s.best {
		s.rest = cmp.Or(2*s.rest, firstRest)
		s.rested = at.at.Add(s.rest)
	}
}
