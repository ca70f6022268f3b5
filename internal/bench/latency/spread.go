//go:build linux

package latency

import (
	"time"

	"example.com/ftpfetch/internal/bench/lab"
)

// roundTrips returns how many times rtt the samples of far exceed the least of
// near. It uses the least, because other work on the machine can only add to a
// time.
func roundTrips(near, far []sample, rtt time.Duration, of func(sample) time.Duration) lab.Spread {
	var base []float64
	for _, s := range near {
		base = append(base, float64(of(s)))
	}
	baseline := lab.SpreadOf(base).Min
	var trips []float64
	for _, s := range far {
		trips = append(trips, (float64(of(s))-baseline)/float64(rtt))
	}
	return lab.SpreadOf(trips)
}

func untilExit(s sample) time.Duration { return s.exit }
func untilLast(s sample) time.Duration { return s.last }

// milliseconds returns the spread of the samples in milliseconds.
func milliseconds(samples []sample, of func(sample) time.Duration) lab.Spread {
	var v []float64
	for _, s := range samples {
		v = append(v, float64(of(s).Microseconds())/1000)
	}
	return lab.SpreadOf(v)
}
