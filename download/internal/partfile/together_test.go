package partfile

import (
	"runtime"
	"strings"
	"sync"
	"testing"
)

// together is a file whose first reads end only when enough of them are under way.
type together struct {
	*strings.Reader
	missing sync.WaitGroup
	mu      sync.Mutex
	waiting int // how many reads still have to begin
}

func (r *together) ReadAt(p []byte, at int64) (int, error) {
	r.mu.Lock()
	if r.waiting > 0 {
		r.waiting--
		r.missing.Done()
	}
	r.mu.Unlock()
	r.missing.Wait()
	return r.Reader.ReadAt(p, at)
}

// TestBlocksAreReadTogether has a reader that answers only when as many blocks are being read as there are processors, up
// to mostReaders. If fewer are read at the same time, the test hangs.
func TestBlocksAreReadTogether(t *testing.T) {
	text := strings.Repeat("contents", 100)
	b, err := blocks(nil).cover(strings.NewReader(text), Spans{{0, int64(len(text))}}, 50)
	if err != nil {
		t.Fatal(err)
	}
	r := &together{Reader: strings.NewReader(text), waiting: min(mostReaders, runtime.GOMAXPROCS(0))}
	r.missing.Add(r.waiting)
	good, err := b.sound(r)
	if err != nil || len(good) != len(b) {
		t.Errorf("%d of %d blocks are sound, %v", len(good), len(b), err)
	}
}
