package cli

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestGarbagePercent(t *testing.T) {
	for live, want := range map[uint64]int{0: 200, 1 << 20: 200, 8 << 20: 100, 16 << 20: 50, 64 << 20: 12, 1 << 30: 12} {
		if got := garbagePercent(live); got != want {
			t.Errorf("%d bytes in use: %d percent, want %d", live, got, want)
		}
	}
}

// TestCollectLate holds a large heap: the next collection lowers the percentage, and the end of the run restores it.
func TestCollectLate(t *testing.T) {
	before := debug.SetGCPercent(123)
	defer debug.SetGCPercent(before)
	stop := collectLate()
	heap := make([]byte, 128<<20)
	var now int
	for range 1000 { // cleanups run some time after a collection
		runtime.GC()
		now = debug.SetGCPercent(50)
		debug.SetGCPercent(now)
		if now < 50 {
			break
		}
	}
	if now != 12 {
		t.Errorf("with 128 MiB in use: %d percent, want 12", now)
	}
	runtime.KeepAlive(heap)
	stop()
	runtime.GC()
	if got := debug.SetGCPercent(before); got != 123 {
		t.Errorf("after the run: %d percent, want 123", got)
	}
}
