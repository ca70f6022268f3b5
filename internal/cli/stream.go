package cli

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// lazy is a value that is read once, when it is first asked for. The reading
// may block where nothing can call it off: a FIFO without a writer, a terminal.
type lazy[T any] struct {
	once  sync.Once
	ready chan struct{} // closed when value and err are set
	value T
	err   error
}

// get returns what read returns. Where ctx ends first it returns the cause, and
// read goes on.
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

// await calls f and returns what it returns. Where ctx ends first it returns
// the cause, and leaves f to end with the process.
func await[T any](ctx context.Context, f func() (T, error)) (T, error) {
	return new(lazy[T]).get(ctx, f)
}

// stream is standard output or standard error. A write waits as long as the
// reader does not read or the terminal is stopped. It cannot be called off
// without changing how other processes see the same pipe or terminal, so the
// run leaves it behind when its context ends.
type stream struct {
	w        io.Writer
	terminal bool

	mu   sync.Mutex
	busy atomic.Bool // a write is under way, or was left behind
}

// lastWords is how long a stream has once the context has ended, for the
// message that says so.
const lastWords = 200 * time.Millisecond

// errBlocked is a stream in which an earlier write still waits.
var errBlocked = errors.New("its reader does not read")

// during calls f, which writes to s, and returns what it returns. Where ctx
// ends, and f does not soon after, it returns the cause and leaves f behind;
// until f returns s is blocked.
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
