package show

import (
	"fmt"
	"math"
	"time"
)

// speed measures bytes per second. If the data goes straight to the file its
// counter moves in steps of up to half a second, so a sample lasts from one step
// to another.
type speed struct {
	first, last int64 // values of the counter
	began, at   time.Time
	rate        float64 // 0: not known yet
}

const (
	speedMemory = 12 * time.Second       // after this time a sample counts for a third
	speedSample = 250 * time.Millisecond // the shortest sample
	speedStall  = 2 * time.Second        // so long without movement is a sample too
)

// begin starts over with done bytes already there.
func (s *speed) begin(done int64, now time.Time) {
	*s = speed{first: done, last: done, began: now, at: now}
}

// update adds the counter's value now.
func (s *speed) update(done int64, now time.Time) {
	if s.began.IsZero() || done < s.last {
		s.begin(done, now)
		return
	}
	span := now.Sub(s.at)
	if span < speedSample || done == s.last && span < speedStall {
		return
	}
	sample := float64(done-s.last) / span.Seconds()
	// At first the rate is the average since the start, later that of the last seconds.
	weight := max(1-math.Exp(-span.Seconds()/speedMemory.Seconds()), span.Seconds()/now.Sub(s.began).Seconds())
	s.rate += (sample - s.rate) * weight
	s.last, s.at = done, now
}

// average returns the bytes per second since the start.
func (s *speed) average(done int64, now time.Time) float64 {
	return float64(done-s.first) / max(now.Sub(s.began).Seconds(), 0.001)
}

// left returns the time that the rest takes at the current rate, or -1 if that
// is unknown.
func (s *speed) left(done, total int64) time.Duration {
	seconds := float64(total-done) / s.rate
	if total < done || s.rate <= 0 || seconds > 1e8 {
		return -1
	}
	return time.Duration(seconds * float64(time.Second))
}

// clockTime formats a time left as 4:05 or 1:02:03.
func clockTime(d time.Duration) string {
	s := int64(math.Ceil(d.Seconds()))
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// binary formats a number of bytes in binary units, as 1.5 MiB.
func binary(n float64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for ; n >= 1023.95 && i < len(units)-1; i++ {
		n /= 1024
	}
	if i == 0 {
		return fmt.Sprintf("%.0f %s", n, units[i])
	}
	return fmt.Sprintf("%.1f %s", n, units[i])
}
