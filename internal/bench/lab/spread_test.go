//go:build linux

package lab

import "testing"

func TestSpreadOf(t *testing.T) {
	for _, c := range []struct {
		in   []float64
		want Spread
	}{
		{[]float64{2}, Spread{2, 2, 2}},
		{[]float64{3, 1, 2}, Spread{1, 2, 3}},
		{[]float64{4, 1, 3, 2}, Spread{1, 2.5, 4}},
	} {
		if got := SpreadOf(c.in); got != c.want {
			t.Errorf("SpreadOf(%v) = %v, want %v", c.in, got, c.want)
		}
	}
}
