package download

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"example.com/ftpfetch/testserver"
)

// TestBlocks adds and gives up ranges at random. The blocks always cover exactly
// what is done, and find every byte that changed.
func TestBlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	text := []byte(noise(1000, 3))
	for range 300 {
		size := 1 + rng.Int64N(60)
		var b blocks
		var done spans
		for range 1 + rng.IntN(12) {
			from := rng.Int64N(1000)
			if done = done.add(span{from, min(1000, from+1+rng.Int64N(300))}); rng.IntN(4) == 0 {
				done = slices.DeleteFunc(done.upTo(rng.Int64N(1000)), func(span) bool { return rng.IntN(4) == 0 })
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
		at := x.start + rng.Int64N(x.len())
		text[at] ^= 1 << rng.IntN(8)
		good, err := b.sound(strings.NewReader(string(text)))
		bad := slices.DeleteFunc(slices.Clone(b), func(x block) bool { return slices.Contains(good, x) })
		if err != nil || len(bad) != 1 || at < bad[0].start || at >= bad[0].end || bad[0].len() > size {
			t.Fatalf("byte %d changed: damaged are %v, %v", at, bad, err)
		}
	}
}

// TestBlockFor checks that the number of blocks stays within bounds.
func TestBlockFor(t *testing.T) {
	for size, want := range map[int64]int64{-1: minBlock, 0: minBlock, 16 << 30: minBlock, 1 << 40: 256 << 20} {
		if got := blockFor(size); got != want || size/got > maxBlocks {
			t.Errorf("a file of %d bytes has blocks of %d, want %d", size, got, want)
		}
	}
}

// TestDamagedPart changes a byte at each end of each block of a part. Only the
// damaged block is fetched again.
func TestDamagedPart(t *testing.T) {
	const block = 64 << 10
	for _, segments := range []int{1, 3} {
		for i := range 4 {
			end := min(i*block+block, 200_000)
			for _, at := range []int{i * block, (i*block + end) / 2, end - 1} {
				k := newKit(t, map[string]string{"/f": body})
				k.write("f.part", body[:200_000])
				k.write("f.part.json", k.journal("/f", 300_000, kitTime, span{0, 200_000}))
				k.flip("f.part", at)
				r, err := k.get("/f", Options{Segments: segments})
				if err != nil || r.Resumed != int64(200_000-(end-i*block)) || !k.told(Noted, "1 of 4 blocks are damaged") {
					t.Errorf("byte %d: got %+v, %v, events %v", at, r, err, k.events)
				}
				if got := k.rests(); i > 0 && (len(got) == 0 || got[0] != fmt.Sprint(i*block)) {
					t.Errorf("byte %d: REST %q", at, got)
				}
				k.want(map[string]string{"f": body})
			}
		}
	}
}

// TestUnreadableBlock makes one block of a part unreadable. Only that block is
// fetched again.
func TestUnreadableBlock(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	k.write("f.part", body[:200_000])
	k.write("f.part.json", k.journal("/f", 300_000, kitTime, span{0, 200_000}))
	reads := 0
	onCall(t, func(call, path string) error {
		if call == "read" && path == k.path("f.part") {
			if reads++; reads == 2 {
				return syscall.EIO
			}
		}
		return nil
	})
	r, err := k.get("/f", Options{})
	if err != nil || r.Resumed != 200_000-64<<10 || !k.told(Noted, "1 of 4 blocks") {
		t.Errorf("got %+v, %v, events %v", r, err, k.events)
	}
	k.want(map[string]string{"f": body})
}

// flip changes one bit of a file in the test's directory.
func (k *kit) flip(name string, at int) {
	k.Helper()
	text := []byte(read(k.T, k.path(name)))
	text[at] ^= 0x10
	f, err := os.OpenFile(k.path(name), os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt(text[at:at+1], int64(at))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		k.Fatal(err)
	}
}

// TestDamagedWhileAway cuts a run, changes its part in the middle, and checks
// that the next run completes the right file.
func TestDamagedWhileAway(t *testing.T) {
	for _, segments := range []int{1, 4} {
		k := newKit(t, map[string]string{"/f": large})
		k.faulty(func(p testserver.FaultPoint) testserver.Fault {
			if p.Verb == "RETR" {
				return testserver.Fault{Data: testserver.Closed, Octets: 1_500_000}
			}
			return testserver.Fault{}
		})
		if _, err := k.get("/f", Options{Segments: segments, Retries: -1}); err == nil {
			t.Fatal("no error")
		}
		s, err := plain.readJournal(k.path("f.part.json"))
		if err != nil || len(s.done) == 0 {
			t.Fatalf("the journal claims %v, %v", s.done, err)
		}
		k.flip("f.part", int(s.done[0].start+s.done[0].len()/2))
		k.faulty(nil)
		if _, err := k.get("/f", Options{Segments: segments}); err != nil {
			t.Errorf("%d segments: %v", segments, err)
		}
		k.want(map[string]string{"f": large})
	}
}

// TestDamagedAdopted checks that bytes which -c took and which changed since are
// replaced only on request.
func TestDamagedAdopted(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	k.write("f.part", body[:200_000])
	text := k.journal("/f", 300_000, kitTime, span{0, 200_000})
	k.write("f.part.json", strings.Replace(text, `"size":300000,`, `"size":300000,"adopted":1000,`, 1))
	k.flip("f.part", 5)
	changed := read(t, k.path("f.part"))
	for _, o := range []Options{{}, {Continue: true}} {
		if _, err := k.get("/f", o); !errors.Is(err, ErrResume) {
			t.Errorf("got %v, want ErrResume", err)
		}
		if got := read(t, k.path("f.part")); got != changed {
			t.Error("the part changed")
		}
	}
	if _, err := k.get("/f", Options{Existing: Overwrite}); err != nil {
		t.Error(err)
	}
	k.want(map[string]string{"f": body})
}

// BenchmarkVerify reads a part and compares its checksums.
func BenchmarkVerify(b *testing.B) {
	f, err := os.Create(b.TempDir() + "/part")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	const size = 256 << 20
	if err := f.Truncate(size); err != nil {
		b.Fatal(err)
	}
	var s state
	if err := s.has(diskReader{b.Context(), f}, size); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(size)
	for b.Loop() {
		if good, err := s.blocks.sound(diskReader{b.Context(), f}); err != nil || len(good) < len(s.blocks) {
			b.Fatal(good, err)
		}
	}
}
