package download

import (
	"math"
	"time"

	"golang.org/x/time/rate"
)

// Limiter limits the bytes per second of all downloads that share it; see
// Options.Limit. It is safe for concurrent use.
type Limiter struct{ tokens *rate.Limiter }

// leastBurst is how many bytes are read at once at the lowest rates.
const leastBurst = 512

// NewLimiter returns a Limiter for a number of bytes per second. It returns nil,
// which means no limit, if that is not more than 0.
func NewLimiter(bytesPerSecond int64) *Limiter { return newLimiter(bytesPerSecond, time.Now()) }

// newLimiter returns a Limiter whose burst is the bytes of an eighth of a second,
// so that a transfer does not shoot ahead after a pause. It starts empty: at no
// time have the downloads received more than the rate times its age.
func newLimiter(limit int64, now time.Time) *Limiter {
	if limit <= 0 {
		return nil
	}
	burst := min(max(limit/8, leastBurst), math.MaxInt32)
	l := rate.NewLimiter(rate.Limit(limit), int(burst))
	l.AllowN(now, int(burst))
	return &Limiter{l}
}
