package cli

import (
	"fmt"
	"math"
	"time"
)

// speed measures bytes a second. The counter that it is fed from moves in
// steps of up to half a second where the data goes straight to the file, so a
// sample spans from one movement to another.
type speed struct {
	first, last int64 // of the counter
	began, at   time.Time
	rate        float64 // 0: not known yet
}

const (
	speedMemory = 5 * time.Second        // after this time a sample counts for a third
	speedSample = 250 * time.Millisecond // the least that a sample spans
	speedStall  = 2 * time.Second        // without movement for so long, that is the sample
)

// begin starts anew with so many bytes that are there already.
func (s *speed) begin(done int64, now time.Time) {
	*s = speed{first: done, last: done, began: now, at: now}
}

// update takes the counter as it stands now.
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
	// At first the average since the begin, later that of the last seconds.
	weight := max(1-math.Exp(-span.Seconds()/speedMemory.Seconds()), span.Seconds()/now.Sub(s.began).Seconds())
	s.rate += (sample - s.rate) * weight
	s.last, s.at = done, now
}

// average is bytes a second since the begin.
func (s *speed) average(done int64, now time.Time) float64 {
	return float64(done-s.first) / max(now.Sub(s.began).Seconds(), 0.001)
}

// left is the time that the rest takes at the present rate; negative where
// nobody knows.
func (s *speed) left(done, total int64) time.Duration {
	seconds := float64(total-done) / s.rate
	if total < done || s.rate <= 0 || seconds > 1e8 {
		return -1
	}
	return time.Duration(seconds * float64(time.Second))
}

// clockTime shows a time left as 4:05 or 1:02:03.
func clockTime(d time.Duration) string {
	s := int64(math.Ceil(d.Seconds()))
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// binary shows bytes in binary units, as 1.5 MiB.
func binary(octets float64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for ; octets >= 1023.95 && i < len(units)-1; i++ {
		octets /= 1024
	}
	if i == 0 {
		return fmt.Sprintf("%.0f %s", octets, units[i])
	}
	return fmt.Sprintf("%.1f %s", octets, units[i])
}
