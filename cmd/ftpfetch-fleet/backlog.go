package main

import (
	"context"
	"iter"
	"sync"
	"time"

	"example.com/ftpfetch/download"
)

// backlog is the files of a chunk that its lane has not begun. It hands them to the lane, a few in advance. The others
// can go to another lane.
type backlog struct {
	mu    sync.Mutex
	left  []download.Task
	out   int // number of files that were handed out and have not ended
	ended int
	there int // number of files in a row that ended because they were here already
	begun time.Time
	wake  chan struct{}
	may   func() bool // whether more files may be handed out; nil: always
}

func newBacklog(left []download.Task) *backlog {
	return &backlog{left: left, begun: time.Now(), wake: make(chan struct{}, 1)}
}

// ahead is how many files the lane may hold: as many as it fetches in a quarter of a second, but at least 2 and at most
// 16. While files turn out to be here already, it may hold twice as many as did so, at most 64: download.Run asks the
// server about those together.
func (b *backlog) ahead() int {
	const least, most, mostAsked = 2, 16, 64
	took := time.Since(b.begun)
	fetched := min(most, time.Duration(b.ended)*time.Second/4/max(took, 1))
	return max(least, int(fetched), min(mostAsked, 2*b.there))
}

func (b *backlog) tasks(ctx context.Context) iter.Seq[download.Task] {
	return func(yield func(download.Task) bool) {
		for t, ok := b.next(ctx); ok && yield(t); t, ok = b.next(ctx) {
		}
	}
}

func (b *backlog) next(ctx context.Context) (t download.Task, ok bool) {
	for ctx.Err() == nil {
		b.mu.Lock()
		none := len(b.left) == 0 || b.may != nil && !b.may()
		if ok = !none && b.out < b.ahead(); ok {
			t = b.left[0]
			b.left = b.left[1:]
			b.out++
		}
		b.mu.Unlock()
		if ok || none {
			return t, ok
		}
		select {
		case <-b.wake:
		case <-ctx.Done():
		}
	}
	return t, false
}

// end records that a file has ended. there means that it was here already.
func (b *backlog) end(there bool) {
	b.mu.Lock()
	b.out--
	b.ended++
	b.there++
	if !there {
		b.there = 0
	}
	b.mu.Unlock()
	b.ring()
}

func (b *backlog) ring() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// take takes from the lane what was not handed out, and returns the indexes in the chunk.
func (b *backlog) take() (places []int) {
	b.mu.Lock()
	for _, t := range b.left {
		places = append(places, t.Line-1)
	}
	b.left = nil
	b.mu.Unlock()
	b.ring()
	return places
}
