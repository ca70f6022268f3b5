package partfile

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestBlocks adds and gives up ranges at random. The blocks always cover exactly what is done, and find every byte that
// changed.
func TestBlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, 1000)
	for i := range text {
		text[i] = byte(rng.Uint32())
	}
	for range 300 {
		size := 1 + rng.Int64N(60)
		var b blocks
		var done Spans
		for range 1 + rng.IntN(12) {
			from := rng.Int64N(1000)
			if done = done.Add(Span{from, min(1000, from+1+rng.Int64N(300))}); rng.IntN(4) == 0 {
				done = slices.DeleteFunc(done.UpTo(rng.Int64N(1000)), func(Span) bool { return rng.IntN(4) == 0 })
			}
			var err error
			if b, err = b.cover(strings.NewReader(string(text)), done, size); err != nil {
				t.Fatal(err)
			}
			if got := b.spans(); !slices.Equal(got, done) {
				t.Fatalf("blocks of %v, want %v", got, done)
			}
			if good := b.sound(strings.NewReader(string(text))); len(good) != len(b) {
				t.Fatalf("of %v only %v are sound", b, good)
			}
		}
		if len(done) == 0 {
			continue
		}
		x := done[rng.IntN(len(done))]
		at := x.Start + rng.Int64N(x.Len())
		text[at] ^= 1 << rng.IntN(8)
		good := b.sound(strings.NewReader(string(text)))
		bad := slices.DeleteFunc(slices.Clone(b), func(x block) bool { return slices.Contains(good, x) })
		if len(bad) != 1 || at < bad[0].Start || at >= bad[0].End || bad[0].Len() > size {
			t.Fatalf("byte %d changed: damaged are %v", at, bad)
		}
	}
}

// TestBlockFor checks that the number of blocks stays within bounds.
func TestBlockFor(t *testing.T) {
	for size, want := range map[int64]int64{-1: minBlock, 0: minBlock, 16 << 30: minBlock, 1 << 40: 256 << 20} {
		if got := blockFor(size); got != want {
			t.Errorf("a file of %d bytes has blocks of %d, want %d", size, got, want)
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
