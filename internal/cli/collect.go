package cli

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// leastGarbage is what may lie about in a small heap before it is collected. With Go's usual 4 MiB, 3,000 small files
// have three times as many collections.
const leastGarbage = 8 << 20

// collectLate lets garbage lie until it is an eighth of what is in use, and at least leastGarbage, until the run calls
// stop. The heap of a list of a million files is the list itself and little else: with Go's usual rule the process would
// take twice its size.
func collectLate() (stop func()) {
	usual := debug.SetGCPercent(100)
	var mu sync.Mutex
	stopped := false
	var adjust func(struct{})
	adjust = func(struct{}) {
		mu.Lock()
		defer mu.Unlock()
		if stopped {
			return
		}
		debug.SetGCPercent(garbagePercent(liveHeap()))
		runtime.AddCleanup(new([16]byte), adjust, struct{}{}) // after the next collection
	}
	adjust(struct{}{})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		stopped = true
		debug.SetGCPercent(usual)
	}
}

// garbagePercent returns the percentage for [debug.SetGCPercent] while live bytes are in use. The runtime takes a heap
// below 4 MiB for one of 4 MiB.
func garbagePercent(live uint64) int {
	live = max(live, 4<<20)
	return int(max(leastGarbage, live/8) * 100 / live)
}

// liveHeap returns how many bytes the last collection found in use.
func liveHeap() uint64 {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return live[0].Value.Uint64()
}
