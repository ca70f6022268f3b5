package guard

import "context"

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
