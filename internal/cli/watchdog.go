package cli

import (
	"context"
	"fmt"
	"sync"
	"time"

	"example.com/ftpfetch/internal/cli/show"
)

// watchdog ends a run that does not end by itself although it should, because
// nobody reads its output or writes its input. A download that is left behind can
// be resumed: its journal is never older than a second.
type watchdog struct {
	print *show.Printer
	left  chan int // receives the exit code
}

const (
	grace     = time.Second            // how long a run may go on after its context has ended
	lastWords = 200 * time.Millisecond // how long the message about the end may take then
)

// watch leaves the run if it does not call stop within grace after ctx has ended.
func (w *watchdog) watch(ctx context.Context) (stop func()) {
	stopped := make(chan struct{})
	end := context.AfterFunc(ctx, func() {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		if _, err := await(late, func() (any, error) { <-stopped; return nil, nil }); err == nil {
			return
		}
		cause := context.Cause(ctx)
		said, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
		defer cancel()
		_, _ = await(said, func() (any, error) { w.print.Failed("", cause, ""); return nil, nil })
		select {
		case w.left <- exitCode(cause):
		default:
		}
	})
	return func() { end(); close(stopped) }
}

// limit applies --max-time to something that is left behind if it does not end.
func (w *watchdog) limit(ctx context.Context, most time.Duration) (context.Context, context.CancelFunc) {
	if most == 0 {
		return ctx, func() {}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, most, &tooLong{most})
	stop := w.watch(ctx)
	return ctx, sync.OnceFunc(func() { stop(); cancel() })
}

// tooLong is the error when --max-time has passed.
type tooLong struct{ limit time.Duration }

func (e *tooLong) Error() string        { return fmt.Sprintf("not done within --max-time %v", e.limit) }
func (e *tooLong) Is(target error) bool { return target == context.DeadlineExceeded }

// await calls f and returns its result. If ctx ends first, await returns its cause
// and leaves f behind: it reads a FIFO without a writer, or a terminal.
func await[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		v   T
		err error
	}
	done := make(chan result, 1)
	go func() {
		v, err := f()
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		return r.v, r.err
	case <-ctx.Done():
		return *new(T), context.Cause(ctx)
	}
}
