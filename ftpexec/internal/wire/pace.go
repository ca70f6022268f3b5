package wire

import (
	"fmt"
	"math"
	"time"
)

// pace checks whether a server keeps the least rate. It must send rate * over bytes in each stretch of that duration. A
// stretch ends as soon as they have come. Only the time spent waiting for bytes counts, not that in which the receiver is
// busy.
type pace struct {
	rate int64         // bytes per second; 0 means no least rate
	over time.Duration // the length of a stretch

	bytes  int64 // of this stretch
	waited time.Duration
}

// count adds n bytes, and the time spent waiting for them. It returns an error if the stretch ends with too few.
func (p *pace) count(n int, waited time.Duration) error {
	if p.rate <= 0 {
		return nil
	}
	p.bytes += int64(n)
	p.waited += waited
	switch {
	case float64(p.bytes) >= float64(p.rate)*p.over.Seconds():
		p.bytes, p.waited = 0, 0
	case p.waited >= p.over:
		return fmt.Errorf("%d bytes in %v, fewer than %d per second", p.bytes, p.over, p.rate)
	}
	return nil
}

// left returns how long this stretch may still last.
func (p *pace) left() time.Duration {
	if p.rate <= 0 {
		return math.MaxInt64
	}
	return p.over - p.waited
}
