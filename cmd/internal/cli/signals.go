package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// SignalError is the cause of a context that a signal ended. errors.Is reports that it is [context.Canceled].
type SignalError struct{ Signal os.Signal }

// Error returns "interrupted" or names the signal.
func (e *SignalError) Error() string {
	switch e.Signal {
	case syscall.SIGTERM:
		return "stopped by SIGTERM"
	case syscall.SIGHUP:
		return "stopped by SIGHUP"
	}
	return "interrupted"
}

// Is reports whether target is context.Canceled.
func (e *SignalError) Is(target error) bool { return target == context.Canceled }

// NotifyContext returns a context that the first SIGINT, SIGTERM or SIGHUP ends, with a [*SignalError] as its cause. A
// second one ends the process at once. Signals that the process ignored from the start (nohup) stay ignored.
//
// NotifyContext makes the process ignore SIGPIPE, so that a closed standard output is an error like any other.
func NotifyContext(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signal.Ignore(syscall.SIGPIPE)
	caught := make(chan os.Signal, 1)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(caught, s)
		}
	}
	go func() {
		var cause error
		select {
		case s := <-caught:
			cause = &SignalError{s}
		case <-ctx.Done():
		}
		signal.Stop(caught) // before cancel, so that no second signal is lost
		cancel(cause)
	}()
	return ctx, func() { cancel(nil) }
}

// grace is how long a run may continue after its context has ended, or after the last command of --exec has.
const grace = time.Second

const lastWords = 200 * time.Millisecond // how long the message about the end may take after that

// watch makes Run return if stop is not called within grace after ctx has ended. That happens if nobody reads the run's
// output or writes its input. The next run can resume a download that is left behind: its journal is never older than a
// second.
func (r *run) watch(ctx context.Context) (stop func()) {
	stopped := make(chan struct{})
	end := context.AfterFunc(ctx, func() {
		r.commandsEnd()
		select {
		case <-stopped:
			return
		case <-time.After(grace):
		}
		cause := context.Cause(ctx)
		said, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
		defer cancel()
		_ = await(said, func() error { r.print.Failed("", cause, ""); return nil })
		r.exit <- exitCode(cause)
	})
	return func() {
		end()
		close(stopped)
	}
}

// limit applies --max-time to an operation, and has watch leave it behind if it does not end.
func (r *run) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if r.MaxTime == 0 {
		return ctx, func() {}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, r.MaxTime, r.tooLong())
	stop := r.watch(ctx)
	return ctx, sync.OnceFunc(func() {
		stop()
		cancel()
	})
}

func (r *run) tooLong() error {
	return fmt.Errorf("did not finish within --max-time %v%.0w", r.MaxTime, context.DeadlineExceeded)
}

// await calls f and returns its error. If ctx ends first, await returns the cause and leaves f behind, because f may
// read forever.
func await(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
