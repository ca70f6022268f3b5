package partfile

import (
	"math/rand/v2"
	"testing"
)

// TestSpansAtRandom compares Spans with a set of bytes.
func TestSpansAtRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		var s Spans
		var set [50]bool
		for range rng.IntN(12) {
			start := rng.Int64N(50)
			x := Span{start, start + rng.Int64N(51-start)}
			s = s.Add(x)
			for i := x.Start; i < x.End; i++ {
				set[i] = true
			}
		}
		count := int64(0)
		for i, in := range set {
			if in {
				count++
			}
			if holds := s.UpTo(int64(i)+1).Octets() > s.UpTo(int64(i)).Octets(); holds != in {
				t.Fatalf("%v holds %d: %v, want %v", s, i, holds, in)
			}
		}
		if !sound(s, 50) || s.Octets() != count || s.Missing(50).Octets() != 50-count || !sound(s.Missing(50), 50) {
			t.Fatalf("%v: %d bytes, want %d", s, s.Octets(), count)
		}
	}
}

// sound reports whether s is what type Spans promises, within size bytes.
func sound(s Spans, size int64) bool {
	at := int64(-1)
	for _, x := range s {
		if x.Start <= at || x.End <= x.Start || x.End > size {
			return false
		}
		at = x.End
	}
	return true
}
