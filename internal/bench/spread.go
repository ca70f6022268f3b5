package main

import (
	"fmt"
	"slices"
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
