package guard

import (
	"context"
	"errors"
	"testing"
	"time"
)

// The error of an ended context has the text of its cause, and is both.
func TestStop(t *testing.T) {
	why := errors.New("why")
	ctx, cancel := context.WithDeadlineCause(t.Context(), time.Now(), why)
	defer cancel()
	err := Stop(ctx)
	if err.Error() != "why" || !errors.Is(err, why) || !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// The end of one context is the reason for the end of another, and no other reason comes to it.
func TestStopOfStop(t *testing.T) {
	first, cancel := context.WithDeadlineCause(t.Context(), time.Now(), errors.New("why"))
	defer cancel()
	second, end := context.WithCancelCause(t.Context())
	end(Stop(first))
	if err := Stop(second); err.Error() != "why" || !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
