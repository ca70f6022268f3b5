package cli

import (
	"math"
	"time"

	"golang.org/x/time/rate"
)

// leastBurst is how many bytes package download reads at once at the lowest
// rates.
const leastBurst = 512

// newLimiter returns the limiter that all connections of a run share, or nil if
// there is no limit. Its burst is the bytes of an eighth of a second, so that a
// transfer does not shoot ahead after a pause. It starts empty: at no time has a
// run received more than the rate times its age.
func newLimiter(limit int64, now time.Time) *rate.Limiter {
	if limit == 0 {
		return nil
	}
	burst := min(max(limit/8, leastBurst), math.MaxInt32)
	l := rate.NewLimiter(rate.Limit(limit), int(burst))
	l.AllowN(now, int(burst))
	return l
}
