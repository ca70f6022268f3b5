package download

import (
	"math"
	"time"

	"example.com/ftpfetch/internal/timing"
)

// counts has the totals of a run, and its bytes.
type counts struct {
	Totals
	size, unsized int64 // bytes of the files found so far; files of unknown size
	done          int64 // bytes of complete files, and of others so far
	broken        error // a panic, after which the counts may be wrong
}

func (b *engine) count(change func(c *counts)) {
	b.counting.Lock()
	defer b.counting.Unlock()
	change(&b.counts)
}

// file counts a file. size is -1 if it is not known.
func (c *counts) file(size int64) {
	c.Files++
	c.addSize(size)
}

// addSize counts the size of a file. A size that would overflow the sum counts as unknown, because a server can report
// any number.
func (c *counts) addSize(size int64) {
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
		e := Event{Kind: Progress, Total: -1}
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
	stop := timing.Every(200*time.Millisecond, tell)
	return func() { stop(); tell() }
}
