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
			if good, err := b.sound(strings.NewReader(string(text))); err != nil || len(good) != len(b) {
				t.Fatalf("of %v only %v are sound (%v)", b, good, err)
			}
		}
		if len(done) == 0 {
			continue
		}
		x := done[rng.IntN(len(done))]
		at := x.Start + rng.Int64N(x.Len())
		text[at] ^= 1 << rng.IntN(8)
		good, err := b.sound(strings.NewReader(string(text)))
		bad := slices.DeleteFunc(slices.Clone(b), func(x block) bool { return slices.Contains(good, x) })
		if err != nil || len(bad) != 1 || at < bad[0].Start || at >= bad[0].End || bad[0].Len() > size {
			t.Fatalf("byte %d changed: damaged are %v, %v", at, bad, err)
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
