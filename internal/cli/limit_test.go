package cli

import (
	"testing"
	"time"
)

// TestLimiterBeginsEmpty takes all available tokens in every millisecond of the
// first second and never gets more than the rate times the time.
func TestLimiterBeginsEmpty(t *testing.T) {
	for _, limit := range []int64{4 << 10, 500 << 10, 1 << 20, 1 << 30} {
		begin := time.Unix(1e9, 0)
		l := newLimiter(limit, begin)
		taken := 0
		for ms := range 1001 {
			now := begin.Add(time.Duration(ms) * time.Millisecond)
			if n := int(l.TokensAt(now)); n > 0 && l.AllowN(now, n) {
				taken += n
			}
			if most := float64(limit)*float64(ms)/1000 + 1; float64(taken) > most {
				t.Fatalf("%d: %d bytes after %d ms, at most %.0f", limit, taken, ms, most)
			}
		}
		if taken < int(limit)*9/10 {
			t.Errorf("%d: only %d bytes in a second", limit, taken)
		}
	}
}
