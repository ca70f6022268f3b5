package cli

import (
	"context"
	"fmt"
	"sync"
	"time"

	"example.com/ftpfetch/internal/cli/config"
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
		select {
		case <-stopped:
			return
		case <-time.After(grace):
		}
		cause, said := context.Cause(ctx), make(chan struct{})
		go func() { w.print.Failed("", cause, ""); close(said) }()
		select {
		case <-said:
		case <-time.After(lastWords):
		}
		select {
		case w.left <- exitCode(cause):
		default:
		}
	})
	return func() { end(); close(stopped) }
}

// limit applies --max-time to something that is left behind if it does not end.
func (w *watchdog) limit(ctx context.Context, c *config.Config) (context.Context, context.CancelFunc) {
	ctx, cancel := bound(ctx, c)
	stop := w.watch(ctx)
	return ctx, sync.OnceFunc(func() { stop(); cancel() })
}

// bound applies --max-time.
func bound(ctx context.Context, c *config.Config) (context.Context, context.CancelFunc) {
	if c.MaxTime == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, c.MaxTime, &tooLong{c.MaxTime})
}

// tooLong is the error when --max-time has passed.
type tooLong struct{ limit time.Duration }

func (e *tooLong) Error() string        { return fmt.Sprintf("not done within --max-time %v", e.limit) }
func (e *tooLong) Is(target error) bool { return target == context.DeadlineExceeded }

// await calls f and returns its result. If ctx ends first, await returns its cause
// and leaves f behind: it reads a FIFO without a writer, or a terminal.
func await[T any](ctx context.Context, f func() (T, error)) (T, error) {
	var v T
	done := make(chan error, 1)
	go func() {
		var err error
		v, err = f()
		done <- err
	}()
	select {
	case err := <-done:
		return v, err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}
