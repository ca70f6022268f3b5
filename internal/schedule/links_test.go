package schedule

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ftpfetch/internal/testkit/night"
)

// road is a simulated network with a server at its end.
type road struct {
	name         string
	rtt          time.Duration
	shared, each float64 // bytes per second of all connections together, and of one
	bears        int     // connections that the server accepts; 0: any number
	noise        float64 // fraction of the rate that a file, or a second, may lose at random
	worse        float64 // fraction of shared lost by each connection above eight
}

// ride is a run on a road.
type ride struct {
	road
	mu       sync.Mutex
	rand     *rand.Rand
	idle     int // idle connections that are logged in
	open     int
	active   int // active transfers
	received int64
	most     int
}

// rate returns the current rate of one active transfer.
func (r *ride) rate(luck float64) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	shared := r.shared * (1 - min(0.9, r.worse*float64(max(0, r.active-8)))) * (1 - r.noise*r.rand.Float64())
	return min(r.each*luck, shared/float64(r.active))
}

// file simulates the download of a file. The login takes seven round trips and a file three. The rate of a transfer
// doubles with each round trip up to the limit of the road. The byte counter moves as for a transfer without buffers.
func (r *ride) file(ctx context.Context, size float64) bool {
	r.mu.Lock()
	trips := 3
	if r.idle > 0 {
		r.idle--
	} else {
		trips = 10
		if r.open++; r.bears > 0 && r.open > r.bears {
			r.open--
			r.mu.Unlock()
			wait(ctx, 3*r.rtt)
			return false
		}
	}
	r.most = max(r.most, r.open)
	luck := 1 - r.noise*r.rand.Float64()
	r.mu.Unlock()
	wait(ctx, time.Duration(trips)*r.rtt+200*time.Microsecond)
	r.mu.Lock()
	r.active++
	r.mu.Unlock()
	count := func(n float64) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.received += int64(n)
	}
	window, uncounted, since := 14600.0, 0.0, time.Duration(0)
	for left := size; left > 0 && ctx.Err() == nil; {
		step := min(max(r.rtt, 5*time.Millisecond), 100*time.Millisecond)
		rate := min(r.rate(luck), window/max(r.rtt, time.Millisecond).Seconds())
		window = min(2*window, 64<<20)
		got := min(left, rate*step.Seconds())
		wait(ctx, time.Duration(got/rate*float64(time.Second)))
		left -= got
		uncounted, since = uncounted+got, since+step
		if uncounted >= 1<<20 || since >= time.Second/2 {
			count(uncounted)
			uncounted, since = 0, 0
		}
	}
	count(uncounted)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active--
	r.idle++
	return true
}

// fetch fetches n files over jobs connections, for at most limit. If jobs is 0, the search finds the number of
// connections. fetch returns the time taken, the number of complete files and the most connections.
func (r road) fetch(t *testing.T, seed, jobs, n int, size float64, limit time.Duration) (took time.Duration, whole, most int) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		x := &ride{road: r, rand: rand.New(rand.NewPCG(uint64(seed), 2))}
		received := func() int64 { x.mu.Lock(); defer x.mu.Unlock(); return x.received }
		begun := time.Now()
		source := func(yield func(Job[int]) bool) {
			for i := 0; i < n && yield(Job[int]{Host: "h"}); i++ {
			}
		}
		Run(ctx, Options{Jobs: jobs, Patience: 20, Received: received}, source, func(ctx context.Context, _ *Turn[int]) Verdict {
			if !x.file(ctx, size) {
				return Full(errTooMany)
			}
			return Done
		})
		took, most = time.Since(begun), x.most
		whole = int(float64(x.received) / size)
	})
	return took, whole, most
}

// TestRoads compares the search with the best fixed number of connections, in runs that take that number ten seconds or
// longer.
func TestRoads(t *testing.T) {
	const mb, ms = 1e6, time.Millisecond
	roads := []struct {
		road
		bound float64 // upper bound of the ratio of the times
	}{
		{road{name: "LAN", rtt: ms / 2, shared: 110 * mb, each: 110 * mb}, 1.1},
		{road{name: "fast", rtt: 20 * ms, shared: 120 * mb, each: 10 * mb, noise: 0.3}, 1.3},
		{road{name: "one fills it", rtt: 51 * ms, shared: 12 * mb, each: 12 * mb}, 1.2},
		{road{name: "windows", rtt: 51 * ms, shared: 120 * mb, each: 1.2 * mb, noise: 0.5}, 1.3},
		{road{name: "eight fill it", rtt: 51 * ms, shared: 10 * mb, each: 1.2 * mb, noise: 0.2}, 1.3},
		{road{name: "bears three", rtt: 51 * ms, shared: 12 * mb, each: 2 * mb, bears: 3}, 1.1},
		{road{name: "bears ten", rtt: 51 * ms, shared: 12 * mb, each: 2 * mb, bears: 10}, 1.15},
		{road{name: "a crowd harms", rtt: 51 * ms, shared: 6 * mb, each: 3 * mb, worse: 0.08}, 1.3},
		{road{name: "loss", rtt: 51 * ms, shared: 12 * mb, each: 0.4 * mb, noise: 0.7}, 1.3},
		{road{name: "DSL", rtt: 150 * ms, shared: mb, each: mb, noise: 0.2}, 1.3},
		{road{name: "around the world", rtt: 300 * ms, shared: 5 * mb, each: mb / 10, noise: 0.5}, 1.3}, // eleven files take ten seconds
	}
	for i := 0; i < len(roads); i += night.Or(3, 1) {
		r := roads[i]
		for _, size := range []float64{4 << 10, 256 << 10, 8 << 20} {
			for seed := range night.Or(1, 3) {
				for work := 10 * time.Second; work <= time.Duration(night.Or(10, 40))*time.Second; work *= 4 {
					if 4*size > r.each*work.Seconds() || r.rtt < ms && size < mb { // too few or too many files
						continue
					}
					best, at := 0, 0
					for _, jobs := range []int{2, 3, 4, 8, 10, 16, 32} {
						if _, n, _ := r.fetch(t, seed, jobs, math.MaxInt, size, work); n > best {
							best, at = n, jobs
						}
					}
					fixed, _, _ := r.fetch(t, seed, at, best, size, time.Hour)
					took, _, most := r.fetch(t, seed, 0, best, size, time.Hour)
					ratio := took.Seconds() / fixed.Seconds()
					t.Logf("%-16s %5.0f KiB x %5d: %2d connections %5.1f s, the search %5.1f s with at most %2d: %.2f", r.name, size/1024, best, at, fixed.Seconds(), took.Seconds(), most, ratio)
					if ratio > r.bound {
						t.Errorf("%.2f of the time of the best number, want at most %.2f", ratio, r.bound)
					}
				}
			}
		}
	}
}

// TestSearchLeavesOne checks, on a simulated clock, that the search goes down if one connection fills the link.
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

// simulate fetches files of size bytes over a link of rate bytes per second, with a quarter of a second extra for each
// file. It returns the number of connections in use in each second.
func simulate(t *testing.T, rate, size float64) (used []int) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // over a shorter time the mean would depend on chance
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

// TestSearchSettles feeds utilities to the search directly, and checks that it settles within ten percent of the best.
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

// TestSearchPrice checks the numbers that docs/many.md names: the bounds of the search, and how much a connection must
// add to be kept.
func TestSearchPrice(t *testing.T) {
	for _, tt := range []struct {
		each float64 // factor by which each connection changes the rate
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
