package batch_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"example.com/ftpfetch/download/batch"
)

// heap returns the bytes on the heap that are in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestTreeMemory checks how much memory a name of a directory takes until its turn comes: a directory may have a million.
func TestTreeMemory(t *testing.T) {
	const names, most = 20_000, 320 // bytes a name
	var text strings.Builder
	for i := range names {
		fmt.Fprintf(&text, "type=file;size=1;modify=20200101000000;UNIX.mode=0644; ERR%07d_1.fastq.gz\r\n", i)
	}
	s, srv := scripted(t, shelf{verb: "MLSD", listings: map[string]string{"/d": text.String()}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	before, used := heap(), int64(0)
	s.options.Jobs, s.options.Events = 1, func(e batch.Event) {
		if e.Kind == batch.Ended && used == 0 {
			used = heap() - before
			cancel()
		}
	}
	s.run(ctx, treeOf(t, srv.URL("/d/"), batch.Tree{}))
	if a := used / names; a == 0 || a > most {
		t.Errorf("%d bytes a name, want at most %d", a, most)
	} else {
		t.Logf("%d bytes a name", a)
	}
}
