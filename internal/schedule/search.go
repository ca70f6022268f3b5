package schedule

import (
	"math"
	"time"
)

// Search finds the number of connections at which more of them are no longer worth it. It compares periods with different
// numbers by their utility: what came in, divided by price^n, so that a connection that adds little loses. It climbs by
// steps that double while they help and halve when they do not, first up, then down. The zero value starts with two
// connections.
type Search struct {
	base    int     // the best number so far; 0 before the first period
	utility float64 // of base, as a logarithm
	step    int     // from base to the number being tried; 0: none
	rested  int     // periods without a step
}

const (
	price = 1.02
	// band is the relative change of the utility that counts as none.
	band = 0.03
	// perFile is what a file is worth beyond its bytes, in bytes: most of the time of a small file is not spent on them.
	perFile = 64 << 10
	// fewest and most bound the search; it starts with the first.
	fewest, most = 2, 32
	// rest is how many periods pass before the search tries other numbers again.
	rest = 8
)

// Connections returns how many connections to use now.
func (s *Search) Connections() int {
	if s.base == 0 {
		return fewest
	}
	return s.base + s.step
}

// Observe takes what came in, per second, in the period that has ended: bytes, with perFile for each file.
func (s *Search) Observe(reward float64) {
	if reward <= 0 {
		return
	}
	n := s.Connections()
	utility := math.Log(reward) - float64(n)*math.Log(price)
	gain := utility - s.utility
	switch {
	case s.base == 0:
		s.base, s.utility, s.step = n, utility, n
	case s.step == 0:
		if s.utility, s.rested = utility, s.rested+1; s.rested >= rest || math.Abs(gain) > 4*band {
			s.step, s.rested = 1+s.base/4, 0
		}
	case gain > band, s.step < 0 && gain > -band: // with equal utility the smaller number wins
		s.base, s.utility = n, math.Max(utility, s.utility)
		if s.step *= 2; s.step < 0 || n == most {
			s.step = -1 - n/4
		}
	case s.step/2 != 0:
		s.step /= 2
	case s.step > 0:
		s.step = -1 - s.base/4
	default:
		s.step = 0
	}
	s.step = min(max(s.step, 1-s.base), most-s.base)
}

// period is how long the search watches a number of connections. What comes in settling counts for nothing: connections
// start slowly.
const (
	period   = 4 * time.Second
	settling = time.Second
)

// observe tells the search at the end of a period what has come in. After a smaller number, files that had more
// connections must end first: until then a period says nothing about the number.
func (s *scheduler[T]) observe() {
	worth, exact := float64(perFile*s.files), s.tokens == s.limit
	if s.Received != nil {
		worth += float64(s.Received())
	}
	s.ticks++
	switch time.Duration(s.ticks) * tick {
	case settling:
		s.worth, s.exact = worth, exact
	case period:
		if s.exact && exact {
			s.search.Observe((worth - s.worth) / (period - settling).Seconds())
		}
		s.limit, s.ticks = s.search.Connections(), 0
	}
}
