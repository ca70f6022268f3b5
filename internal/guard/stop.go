package guard

import (
	"context"
	"errors"
	"fmt"
)

// Stopped is the error for a context that has ended. It shows the cause, and matches both the cause and the context's
// error.
type Stopped struct {
	cause error
	err   error // context.Canceled or context.DeadlineExceeded
}

// Stop returns why ctx has ended. If the cause is itself a Stopped, because the end of another context ended ctx, Stop
// returns that.
func Stop(ctx context.Context) *Stopped {
	if before, ok := context.Cause(ctx).(*Stopped); ok {
		return before
	}
	return &Stopped{cause: context.Cause(ctx), err: ctx.Err()}
}

// Error returns the text of the cause.
func (e *Stopped) Error() string { return e.cause.Error() }

// Unwrap returns the cause and the context's error.
func (e *Stopped) Unwrap() []error { return []error{e.cause, e.err} }

// Ended returns err. If err matches the cause of the end of ctx but not the context's error, Ended makes it match both.
func Ended(ctx context.Context, err error) error {
	end := ctx.Err()
	if err == nil || end == nil || errors.Is(err, end) || !errors.Is(err, context.Cause(ctx)) {
		return err
	}
	return fmt.Errorf("%w%.0w", err, end)
}
