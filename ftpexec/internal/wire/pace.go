package wire

import (
	"fmt"
	"math"
	"time"
)

// pace measures whether a server keeps the least rate: in each stretch of time it has to send so many octets. A
// stretch is over as soon as they are there. Only the time in which octets are waited for counts, not that in which
// their receiver is busy.
type pace struct {
	rate int64         // octets a second; 0: no least rate
	over time.Duration // the length of a stretch

	octets int64 // of this stretch
	waited time.Duration
}

// count adds n octets that were waited for so long. The error is that they are too few.
func (p *pace) count(n int, waited time.Duration) error {
	if p.rate <= 0 {
		return nil
	}
	p.octets += int64(n)
	p.waited += waited
	switch {
	case float64(p.octets) >= float64(p.rate)*p.over.Seconds():
		p.octets, p.waited = 0, 0
	case p.waited >= p.over:
		return fmt.Errorf("%w: %d octets in %v, fewer than %d a second", ErrTimeout, p.octets, p.over, p.rate)
	}
	return nil
}

// left is how long this stretch goes on at most.
func (p *pace) left() time.Duration {
	if p.rate <= 0 {
		return math.MaxInt64
	}
	return p.over - p.waited
}
