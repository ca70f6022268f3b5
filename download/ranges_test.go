package download

import (
	"math/rand/v2"
	"reflect"
	"testing"
)

func TestSpans(t *testing.T) {
	tests := []struct {
		add           []span
		done, missing spans // of 10 bytes
	}{
		{nil, nil, spans{{0, 10}}},
		{[]span{{0, 0}}, nil, spans{{0, 10}}},
		{[]span{{0, 10}}, spans{{0, 10}}, nil},
		{[]span{{5, 7}, {0, 2}}, spans{{0, 2}, {5, 7}}, spans{{2, 5}, {7, 10}}},
		{[]span{{0, 2}, {2, 4}}, spans{{0, 4}}, spans{{4, 10}}},
		{[]span{{2, 4}, {0, 2}}, spans{{0, 4}}, spans{{4, 10}}},
		{[]span{{1, 3}, {5, 7}, {2, 6}}, spans{{1, 7}}, spans{{0, 1}, {7, 10}}},
		{[]span{{1, 9}, {3, 5}}, spans{{1, 9}}, spans{{0, 1}, {9, 10}}},
	}
	for _, tt := range tests {
		var got spans
		for _, x := range tt.add {
			got = got.add(x)
		}
		if !reflect.DeepEqual(got, tt.done) || !reflect.DeepEqual(got.missing(10), tt.missing) {
			t.Errorf("%v: got %v, missing %v, want %v, missing %v", tt.add, got, got.missing(10), tt.done, tt.missing)
		}
	}
}

// TestSpansAtRandom compares spans with a set of bytes.
func TestSpansAtRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		var s spans
		var set [50]bool
		for range rng.IntN(12) {
			start := rng.Int64N(50)
			x := span{start, start + rng.Int64N(51-start)}
			s = s.add(x)
			for i := x.start; i < x.end; i++ {
				set[i] = true
			}
		}
		count := int64(0)
		for i, in := range set {
			if in {
				count++
			}
			if holds := s.upTo(int64(i)+1).octets() > s.upTo(int64(i)).octets(); holds != in {
				t.Fatalf("%v holds %d: %v, want %v", s, i, holds, in)
			}
		}
		if !sound(s, 50) || s.octets() != count || s.missing(50).octets() != 50-count || !sound(s.missing(50), 50) {
			t.Fatalf("%v: %d bytes, want %d", s, s.octets(), count)
		}
	}
}

// sound reports whether s is what type spans promises, within size bytes.
func sound(s spans, size int64) bool {
	at := int64(-1)
	for _, x := range s {
		if x.start <= at || x.end <= x.start || x.end > size {
			return false
		}
		at = x.end
	}
	return true
}

func TestSplit(t *testing.T) {
	tests := []struct {
		s     spans
		n     int
		least int64
		want  spans
	}{
		{spans{{0, 100}}, 1, 10, spans{{0, 100}}},
		{spans{{0, 100}}, 3, 10, spans{{0, 33}, {33, 66}, {66, 100}}},
		{spans{{0, 100}}, 4, 40, spans{{0, 50}, {50, 100}}},
		{spans{{0, 19}}, 4, 10, spans{{0, 19}}},
		{spans{{0, 100}, {200, 220}}, 3, 10, spans{{0, 50}, {50, 100}, {200, 220}}},
		{spans{{0, 1}, {2, 3}, {4, 5}}, 2, 10, spans{{0, 1}, {2, 3}, {4, 5}}},
		{nil, 2, 10, nil},
	}
	for _, tt := range tests {
		got := tt.s.split(tt.n, tt.least)
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%v in %d of at least %d: got %v, want %v", tt.s, tt.n, tt.least, got, tt.want)
		}
	}
}
