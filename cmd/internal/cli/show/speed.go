package show

import (
	"math"
	"time"

	"example.com/ftpfetch/internal/printable"
)

// speed measures bytes per second. If data goes straight to the file, its counter advances in steps of up to half a
// second, so a sample lasts from one step to the next.
type speed struct {
	last      int64 // last value of the counter
	began, at time.Time
	rate      float64 // 0: not known yet
	trend     float64 // follows rate slowly, for the time left
}

// update takes the counter's value at the time now. If the value has fallen, measuring starts over.
func (s *speed) update(done int64, now time.Time) {
	const memory = 12     // seconds: a sample of that age counts for a third
	const shortest = 0.25 // seconds: shortest sample
	const stall = 2       // seconds: after so long without movement, that is a sample too
	if s.at.IsZero() || done < s.last {
		*s = speed{last: done, began: now, at: now}
		return
	}
	span := now.Sub(s.at).Seconds()
	if span < shortest || done == s.last && span < stall {
		return
	}
	// At first the rate is the average since the start; later it is that of the last seconds.
	weight := max(1-math.Exp(-span/memory), span/now.Sub(s.began).Seconds())
	s.rate += (float64(done-s.last)/span - s.rate) * weight
	s.last = done
	s.at = now
	s.follow(span)
}

// worthless is how many seconds of a transfer say too little about the rest of it: TCP starts slowly.
const worthless = 3

// follow moves the trend towards the rate, by a quarter a second at most, so that the time left does not jump.
func (s *speed) follow(span float64) {
	if s.at.Sub(s.began).Seconds() < worthless {
		return
	}
	most := math.Pow(1.25, span)
	if s.trend == 0 {
		s.trend = s.rate
	}
	s.trend = min(max(s.rate, s.trend/most), s.trend*most)
}

// left returns the time that the remaining bytes take at the rate of the last seconds, or "" if that is unknown.
func (s *speed) left(done, total int64) string {
	seconds := float64(total-done) / s.trend
	if total < done || s.trend <= 0 || seconds > 1e8 {
		return ""
	}
	return clockTime(time.Duration(seconds * float64(time.Second)))
}

// parts returns, for example, "0:40 left", "1.0 MiB/s" and "1.2 GiB of 3.0 GiB".
func (s *speed) parts(done, total int64) (parts []string) {
	if left := s.left(done, total); left != "" {
		parts = append(parts, left+" left")
	}
	return append(parts, printable.Size(s.rate)+"/s", amount(done, total, " of "))
}
