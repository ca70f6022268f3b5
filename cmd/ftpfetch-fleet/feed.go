package main

import (
	"context"
	"iter"
	"sync"
	"time"

	"example.com/ftpfetch/download"
)

// feed hands the files of a chunk to its lane, a few in advance. Files that were not handed out can go to another lane.
type feed struct {
	mu    sync.Mutex
	left  []download.Task
	out   int // number of files that were handed out and have not ended
	ended int
	begun time.Time
	wake  chan struct{}
	may   func() bool // whether more files may be handed out; nil: always
}

func newFeed(left []download.Task) *feed {
	return &feed{left: left, begun: time.Now(), wake: make(chan struct{}, 1)}
}

// ahead is how many files the lane may hold: as many as it fetches in a quarter of a second, but at least 2 and at most
// 16.
func (f *feed) ahead() int {
	const least, most = 2, 16
	took := time.Since(f.begun)
	return int(min(most, max(least, time.Duration(f.ended)*time.Second/4/max(took, 1))))
}

func (f *feed) tasks(ctx context.Context) iter.Seq[download.Task] {
	return func(yield func(download.Task) bool) {
		for t, ok := f.next(ctx); ok && yield(t); t, ok = f.next(ctx) {
		}
	}
}

func (f *feed) next(ctx context.Context) (t download.Task, ok bool) {
	for ctx.Err() == nil {
		f.mu.Lock()
		none := len(f.left) == 0 || f.may != nil && !f.may()
		if ok = !none && f.out < f.ahead(); ok {
			t = f.left[0]
			f.left = f.left[1:]
			f.out++
		}
		f.mu.Unlock()
		if ok || none {
			return t, ok
		}
		select {
		case <-f.wake:
		case <-ctx.Done():
		}
	}
	return t, false
}

// end records that a file has ended.
func (f *feed) end() {
	f.mu.Lock()
	f.out--
	f.ended++
	f.mu.Unlock()
	f.ring()
}

func (f *feed) ring() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// take takes from the lane what was not handed out, and returns the indexes in the chunk.
func (f *feed) take() (places []int) {
	f.mu.Lock()
	for _, t := range f.left {
		places = append(places, t.Line-1)
	}
	f.left = nil
	f.mu.Unlock()
	f.ring()
	return places
}
