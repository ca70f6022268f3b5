package cli

import (
	"math"
	"time"

	"golang.org/x/time/rate"
)

// leastBurst is what package download takes at once under the lowest rates.
const leastBurst = 512

// newLimiter is the limit that all connections of a run share; nil: none. Its
// burst is an eighth of a second's bytes, so that a transfer after a pause
// does not shoot ahead. It begins empty: at no time has a run taken more than
// the rate times its age.
func newLimiter(limit int64, now time.Time) *rate.Limiter {
	if limit == 0 {
		return nil
	}
	burst := min(max(limit/8, leastBurst), math.MaxInt32)
	l := rate.NewLimiter(rate.Limit(limit), int(burst))
	l.AllowN(now, int(burst))
	return l
}
