package guard

import (
	"context"
	"errors"
	"fmt"
)

// Stopped is the error for a context that has ended. It shows the cause, and is both the cause and the context's error.
type Stopped struct {
	cause error
	err   error // context.Canceled or context.DeadlineExceeded
}

// Stop returns why ctx has ended. A cause that another Stop has returned is the whole reason: what ended ctx had ended before.
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

// Ended returns err. If it is no more than the cause of the end of ctx, it becomes the context's error too.
func Ended(ctx context.Context, err error) error {
	end := ctx.Err()
	if err == nil || end == nil || errors.Is(err, end) || !errors.Is(err, context.Cause(ctx)) {
		return err
	}
	return fmt.Errorf("%w%.0w", err, end)
}
