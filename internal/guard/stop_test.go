package guard

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestStop checks that the error for an ended context has the text of the cause, and matches the cause and the
// context's error.
func TestStop(t *testing.T) {
	why := errors.New("why")
	ctx, cancel := context.WithDeadlineCause(t.Context(), time.Now(), why)
	defer cancel()
	err := Stop(ctx)
	if err.Error() != "why" || !errors.Is(err, why) || !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestStopOfStop checks that if the end of one context ends another, both have the same error.
func TestStopOfStop(t *testing.T) {
	first, cancel := context.WithDeadlineCause(t.Context(), time.Now(), errors.New("why"))
	defer cancel()
	second, end := context.WithCancelCause(t.Context())
	end(Stop(first))
	if err := Stop(second); err.Error() != "why" || !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestEnded checks that an error that is the cause of the end of a context also matches the context's error, and that
// any other error stays the same.
func TestEnded(t *testing.T) {
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(t.Context())
	if err := Ended(ctx, why); err != why {
		t.Errorf("before the end: got %v", err)
	}
	cancel(why)
	other := errors.New("other")
	if Ended(ctx, nil) != nil || Ended(ctx, other) != other {
		t.Error("an error that is not the cause has changed")
	}
	if err := Ended(ctx, why); err.Error() != "why" || !errors.Is(err, why) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
