package partfile

import (
	"math/rand/v2"
	"reflect"
	"testing"
)

func TestSpans(t *testing.T) {
	tests := []struct {
		add           []Span
		done, missing Spans // of 10 bytes
	}{
		{nil, nil, Spans{{0, 10}}},
		{[]Span{{0, 0}}, nil, Spans{{0, 10}}},
		{[]Span{{0, 10}}, Spans{{0, 10}}, nil},
		{[]Span{{5, 7}, {0, 2}}, Spans{{0, 2}, {5, 7}}, Spans{{2, 5}, {7, 10}}},
		{[]Span{{0, 2}, {2, 4}}, Spans{{0, 4}}, Spans{{4, 10}}},
		{[]Span{{2, 4}, {0, 2}}, Spans{{0, 4}}, Spans{{4, 10}}},
		{[]Span{{1, 3}, {5, 7}, {2, 6}}, Spans{{1, 7}}, Spans{{0, 1}, {7, 10}}},
		{[]Span{{1, 9}, {3, 5}}, Spans{{1, 9}}, Spans{{0, 1}, {9, 10}}},
	}
	for _, tt := range tests {
		var got Spans
		for _, x := range tt.add {
			got = got.Add(x)
		}
		if !reflect.DeepEqual(got, tt.done) || !reflect.DeepEqual(got.Missing(10), tt.missing) {
			t.Errorf("%v: got %v, missing %v, want %v, missing %v", tt.add, got, got.Missing(10), tt.done, tt.missing)
		}
	}
}

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
