package batch

import (
	"math"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/internal/retry"
)

// counts is how far a run is. Size and done are bytes.
type counts struct {
	Totals
	size, unsized int64 // of the files found so far; how many of them have a size that is not known
	done          int64 // of complete files, and of the others so far
	broken        error // a panic: the counts may be wrong
}

func (b *engine) count(change func(c *counts)) {
	b.counting.Lock()
	defer b.counting.Unlock()
	change(&b.counts)
}

// file counts a file of a size, which is -1 if it is not known.
func (c *counts) file(size int64) {
	c.Files++
	c.sized(size)
}

// sized counts the size of a file. One that no sum can hold is as good as unknown: a server may say any number.
func (c *counts) sized(size int64) {
	if size < 0 || size > math.MaxInt64-c.size {
		c.unsized++
	} else {
		c.size += size
	}
}

func (b *engine) watch() (end func()) {
	if b.Events == nil {
		return func() {}
	}
	tell := func() {
		e := Event{Event: download.Event{Kind: download.Progress, Total: -1}}
		b.count(func(c *counts) {
			e.Totals = c.Totals
			e.Done = c.done
			if c.unsized+c.Listing == 0 {
				e.Total = c.size
			}
		})
		b.tell(e)
	}
	tell()
	stop := retry.Every(200*time.Millisecond, tell)
	return func() { stop(); tell() }
}
