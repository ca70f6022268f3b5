package schedule

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestSearchLeavesOne checks, on a simulated clock, that the search goes down where one connection fills the link.
func TestSearchLeavesOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		used := simulate(t, 20<<20, 40<<20)
		sum := 0
		for _, n := range used[len(used)/2:] {
			sum += n
		}
		if mean := float64(sum) / float64(len(used)-len(used)/2); mean < 0.5 || mean > 2.5 {
			t.Errorf("the search used %.1f connections on average, want 1 to 2; the first: %v", mean, used[:300])
		}
	})
}

// simulate fetches files of size over a link of rate bytes per second, and a quarter of a second more for each. It returns how
// many connections were in use, second by second.
func simulate(t *testing.T, rate, size float64) (used []int) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // in a shorter time the mean depends on chance
	defer cancel()
	var now atomic.Int64
	var received atomic.Int64
	go func() {
		for ctx.Err() == nil {
			wait(ctx, time.Second)
			used = append(used, int(now.Load()))
		}
	}()
	endless := func(yield func(Job[int]) bool) {
		for yield(Job[int]{Host: "h"}) {
		}
	}
	Run(ctx, Options{Received: received.Load}, endless, func(ctx context.Context, _ *Turn[int]) Verdict {
		now.Add(1)
		defer now.Add(-1)
		wait(ctx, 250*time.Millisecond)
		const tick = 50 * time.Millisecond
		for left := size; left > 0 && ctx.Err() == nil; {
			wait(ctx, tick)
			n := int(now.Load())
			got := math.Min(left, rate/float64(n)*tick.Seconds())
			left -= got
			received.Add(int64(got))
		}
		return Done
	})
	synctest.Wait()
	return used
}

// TestSearchSettles feeds the search with utilities directly, and checks that it ends within ten percent of the best.
func TestSearchSettles(t *testing.T) {
	for knee := 1; knee <= most; knee++ {
		t.Run(fmt.Sprint(knee), func(t *testing.T) {
			reward := func(n int) float64 { return math.Min(float64(n), float64(knee)) }
			utility := func(n int) float64 { return reward(n) / math.Pow(price, float64(n)) }
			var s Search
			s.Begin(reward(s.Connections()), 1, 1)
			for range 40 {
				s.Observe(reward(s.Connections()), true, true)
				if n := s.Connections(); n < 1 || n > most {
					t.Fatalf("%d connections", n)
				}
			}
			best := 0.0
			for n := 1; n <= most; n++ {
				best = math.Max(best, utility(n))
			}
			if got := utility(s.base); got < 0.9*best {
				t.Errorf("settled at %d with %.3f, the best is %.3f", s.base, got, best)
			}
		})
	}
}

// TestSearchPrice checks the numbers that docs/many.md names: where the search begins and ends, and what a connection must
// add to stay.
func TestSearchPrice(t *testing.T) {
	for _, tt := range []struct {
		each float64 // what one more connection multiplies the rate by
		want int
	}{{1, 1}, {1.018, 1}, {1.1, 32}} {
		var s Search
		n := s.Connections()
		if s.Begin(math.Pow(tt.each, float64(n)), 1, 1); n != 8 || s.Connections() != 16 {
			t.Errorf("the search begins with %d connections, then tries %d", n, s.Connections())
		}
		for range 200 {
			s.Observe(math.Pow(tt.each, float64(s.Connections())), true, true)
		}
		if s.base != tt.want {
			t.Errorf("each connection brings %v times as much: %d are used, want %d", tt.each, s.base, tt.want)
		}
	}
}
