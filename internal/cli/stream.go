package cli

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// lazy is a value that is read once, on first use. The read may block where
// nothing can cancel it: on a FIFO without a writer, or a terminal.
type lazy[T any] struct {
	once  sync.Once
	ready chan struct{} // closed when value and err are set
	value T
	err   error
}

// get returns the result of read, which only the first call runs. If ctx ends
// first, get returns its cause, and read goes on.
func (l *lazy[T]) get(ctx context.Context, read func() (T, error)) (T, error) {
	l.once.Do(func() {
		l.ready = make(chan struct{})
		go func() {
			defer close(l.ready)
			l.value, l.err = read()
		}()
	})
	select {
	case <-l.ready:
		return l.value, l.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// await calls f and returns its result. If ctx ends first, await returns its
// cause and leaves f behind.
func await[T any](ctx context.Context, f func() (T, error)) (T, error) {
	return new(lazy[T]).get(ctx, f)
}

// stream is standard output or standard error. A write blocks while the reader
// does not read or the terminal is stopped. Cancelling it would change the pipe
// or terminal for other processes too, so the run leaves the write behind when
// its context ends.
type stream struct {
	w        io.Writer
	terminal bool

	mu   sync.Mutex
	busy atomic.Bool // a write is under way, or was left behind
}

// lastWords is how long a write may take after the context has ended, so that
// the message about the end still gets out.
const lastWords = 200 * time.Millisecond

// errBlocked means that an earlier write to the stream still blocks.
var errBlocked = errors.New("its reader does not read")

// during calls f, which writes to s, and returns its result. If f does not
// return within lastWords after ctx ends, during returns the cause and leaves f
// behind; s stays blocked until f returns.
func during[T any](ctx context.Context, s *stream, f func() (T, error)) (T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy.Swap(true) {
		var none T
		return none, errBlocked
	}
	late, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() {
		time.AfterFunc(lastWords, func() { cancel(context.Cause(ctx)) })
	})()
	return await(late, func() (T, error) {
		defer s.busy.Store(false)
		return f()
	})
}
