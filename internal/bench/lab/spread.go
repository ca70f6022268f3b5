//go:build linux

package lab

import (
	"fmt"
	"slices"
)

// Spread is the least, the median and the greatest of some values.
type Spread struct{ Min, Median, Max float64 }

// SpreadOf needs at least one value.
func SpreadOf(values []float64) Spread {
	v := slices.Sorted(slices.Values(values))
	middle := v[len(v)/2]
	if len(v)%2 == 0 {
		middle = (v[len(v)/2-1] + middle) / 2
	}
	return Spread{v[0], middle, v[len(v)-1]}
}

func (s Spread) String() string { return fmt.Sprintf("%.1f | %.1f | %.1f", s.Min, s.Median, s.Max) }
