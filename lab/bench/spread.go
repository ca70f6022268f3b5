package main

import (
	"fmt"
	"slices"
)

// spread is the minimum, the median and the maximum of some values.
type spread struct{ min, median, max float64 }

// spreadOf returns the spread of values, of which there must be at least one.
func spreadOf(values []float64) spread {
	v := slices.Sorted(slices.Values(values))
	middle := v[len(v)/2]
	if len(v)%2 == 0 {
		middle = (v[len(v)/2-1] + middle) / 2
	}
	return spread{v[0], middle, v[len(v)-1]}
}

func (s spread) String() string { return fmt.Sprintf("%.1f | %.1f | %.1f", s.min, s.median, s.max) }
