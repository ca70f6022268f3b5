package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// SignalError is the cause of a context that a signal ended. For errors.Is it
// matches [context.Canceled].
type SignalError struct{ Signal os.Signal }

// Error returns "interrupted" or names the signal.
func (e *SignalError) Error() string {
	if e.Signal == os.Interrupt {
		return "interrupted"
	}
	return "ended by signal: " + e.Signal.String()
}

// Is reports whether target is context.Canceled.
func (e *SignalError) Is(target error) bool { return target == context.Canceled }

// code returns what a shell reports for a process that the signal ended.
func (e *SignalError) code() int {
	if s, ok := e.Signal.(syscall.Signal); ok {
		return 128 + int(s)
	}
	return 130
}

// NotifyContext returns a context that the first SIGINT, SIGTERM or SIGHUP ends,
// with a [*SignalError] as its cause. A second one ends the process at once.
// Signals that the process ignored from the start (nohup) stay ignored.
//
// NotifyContext makes the process ignore SIGPIPE, so that a closed standard
// output is an error like any other and leaves no partial file.
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
