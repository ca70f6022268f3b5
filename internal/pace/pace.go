// Package pace checks whether bytes come fast enough.
package pace

import (
	"fmt"
	"math"
	"time"
)

// Pace checks whether a server keeps the least rate. It must send Rate * Over bytes in each stretch of that duration. A
// stretch ends as soon as they have come. Only the time spent waiting for bytes counts, not that in which the receiver is
// busy.
type Pace struct {
	Rate int64         // bytes per second; 0 means no least rate
	Over time.Duration // the length of a stretch

	bytes  int64 // of this stretch
	waited time.Duration
}

// Count adds n bytes, and the time spent waiting for them. It returns an error if the stretch ends with too few.
func (p *Pace) Count(n int, waited time.Duration) error {
	if p.Rate <= 0 {
		return nil
	}
	p.bytes += int64(n)
	p.waited += waited
	switch {
	case float64(p.bytes) >= float64(p.Rate)*p.Over.Seconds():
		p.bytes, p.waited = 0, 0
	case p.waited >= p.Over:
		return fmt.Errorf("%d bytes in %v, fewer than %d per second", p.bytes, p.Over, p.Rate)
	}
	return nil
}

// Left returns how long this stretch may still last.
func (p *Pace) Left() time.Duration {
	if p.Rate <= 0 {
		return math.MaxInt64
	}
	return p.Over - p.waited
}
