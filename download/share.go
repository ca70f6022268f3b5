package download

import (
	"math"
	"slices"
	"time"
)

// worthwhile returns how much earlier a file must be complete for a connection to take over a part of what another one
// fetches. Less is not worth a login, which takes about as long as opening says.
func worthwhile(opening time.Duration) time.Duration { return max(250*time.Millisecond, opening/2) }

// load is what one connection still has to do.
type load struct {
	left int64         // bytes
	rate float64       // bytes per second
	wait time.Duration // until its first byte
}

// end returns when the connection will be done, from now on.
func (l load) end() time.Duration {
	if l.left <= 0 {
		return l.wait
	}
	return l.wait + seconds(float64(l.left)/l.rate)
}

// seconds returns s seconds, or the longest time if that is more.
func seconds(s float64) time.Duration {
	if !(s < math.MaxInt64/2/float64(time.Second)) { // also if there is no rate
		return math.MaxInt64 / 2
	}
	return time.Duration(s * float64(time.Second))
}

// keep returns how many of its bytes l keeps if a connection with the rate and wait of other takes the rest, so that both
// are done at the same time. It returns l.left if other cannot make l's end clearly earlier.
func (l load) keep(other load) int64 {
	if l.left <= 0 || other.rate <= 0 {
		return l.left
	}
	wait := (other.wait - l.wait).Seconds()
	k := int64(l.rate / (l.rate + other.rate) * (float64(l.left) + other.rate*wait))
	k = max(0, min(k, l.left))
	first := load{k, l.rate, l.wait}
	if k == 0 {
		first.wait = 0 // nobody waits for it
	}
	second := load{l.left - k, other.rate, other.wait}
	if l.end()-max(first.end(), second.end()) < worthwhile(other.wait) {
		return l.left
	}
	return k
}

// pace measures the rate of a connection over the last paceTime.
type pace struct {
	marks []mark // one for each look, of at most paceTime; the first one is when the first byte came
}

// mark is how many bytes had come at a time.
type mark struct {
	at time.Time
	n  int64
}

// paceTime is long enough that a pause of a link is not taken for its end.
const paceTime = 3 * time.Second

// look notes that n bytes have come so far.
func (p *pace) look(now time.Time, n int64) {
	if n == 0 {
		return
	}
	p.marks = append(p.marks, mark{now, n})
	old := slices.IndexFunc(p.marks, func(m mark) bool { return now.Sub(m.at) <= paceTime })
	p.marks = p.marks[old:]
}

// rate returns the bytes per second, and over which time they were measured; 0 if that was no time.
func (p *pace) rate() (rate float64, over time.Duration) {
	if len(p.marks) == 0 {
		return 0, 0
	}
	first := p.marks[0]
	last := p.marks[len(p.marks)-1]
	over = last.at.Sub(first.at)
	if over <= 0 {
		return 0, 0
	}
	return float64(last.n-first.n) / over.Seconds(), over
}

// mean returns the mean of rates, or 0.
func mean(rates []float64) (m float64) {
	for _, r := range rates {
		m += r / float64(len(rates))
	}
	return m
}

// median returns the middle one of rates, or 0.
func median(rates []float64) float64 {
	if len(rates) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(rates))
	return sorted[len(sorted)/2]
}
