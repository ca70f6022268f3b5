package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// mostDeaths is how many workers may end while they have a chunk until its files fail.
const mostDeaths = 3

var errDeadly = fmt.Errorf("%d workers in turn ended while they fetched the files of this chunk", mostDeaths)

// A chunk's count is the number of its deliveries, except the first, less the number of those that were given back. So
// at a delivery that is not the first, one more workers than the count have ended with the chunk. A chunk that is
// delivered once, as nearly all are, has no count.
func countKey(c *chunk) string { return c.id() + "deliveries" }

func isFirst(msg jetstream.Msg) bool {
	m, err := msg.Metadata()
	return err != nil || m.NumDelivered <= 1
}

// counts changes the count of a chunk, and returns what it was.
func (w *worker) counts(c *chunk, by int) (was int) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), asking)
	defer cancel()
	now, err := change(ctx, w.attempts, countKey(c), new(int), func(n *int) error {
		*n += by
		return nil
	})
	if err != nil { // then a file is tried once more
		return -1
	}
	return now - by
}

// deadly reports whether so many workers have ended with a chunk that it may be the cause.
func (w *worker) deadly(c *chunk, msg jetstream.Msg) bool {
	return !isFirst(msg) && w.counts(c, 1)+1 >= mostDeaths
}

// uncount removes the count of a chunk that has a result.
func (w *worker) uncount(ctx context.Context, c *chunk, msg jetstream.Msg) error {
	if isFirst(msg) {
		return nil
	}
	_, err := w.attempts.Get(ctx, countKey(c))
	if err == nil {
		err = w.attempts.Purge(ctx, countKey(c))
	}
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil
	}
	return err
}
