//go:build linux

package main

import (
	"fmt"
	"slices"
	"time"
)

// spread is the least, the median and the greatest of some values.
type spread struct{ min, median, max float64 }

// spreadOf needs at least one value.
func spreadOf(values []float64) spread {
	v := slices.Sorted(slices.Values(values))
	middle := v[len(v)/2]
	if len(v)%2 == 0 {
		middle = (v[len(v)/2-1] + middle) / 2
	}
	return spread{v[0], middle, v[len(v)-1]}
}

func (s spread) String() string { return fmt.Sprintf("%.1f | %.1f | %.1f", s.min, s.median, s.max) }

// roundTrips returns how many times rtt the samples of far exceed the least of
// near. It uses the least, because other work on the machine can only add to a
// time.
func roundTrips(near, far []sample, rtt time.Duration, of func(sample) time.Duration) spread {
	var base []float64
	for _, s := range near {
		base = append(base, float64(of(s)))
	}
	baseline := spreadOf(base).min
	var trips []float64
	for _, s := range far {
		trips = append(trips, (float64(of(s))-baseline)/float64(rtt))
	}
	return spreadOf(trips)
}

func untilExit(s sample) time.Duration { return s.exit }
func untilLast(s sample) time.Duration { return s.last }

// milliseconds returns the spread of the samples in milliseconds.
func milliseconds(samples []sample, of func(sample) time.Duration) spread {
	var v []float64
	for _, s := range samples {
		v = append(v, float64(of(s).Microseconds())/1000)
	}
	return spreadOf(v)
}
