package timing

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ftpfetch/internal/guard"
)

// TestEvery checks when Every calls the function, and that stop ends the calls and passes on a panic.
func TestEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		stop := Every(time.Second, func() { calls++ })
		<-time.After(3500 * time.Millisecond)
		stop()
		<-time.After(time.Hour)
		if calls != 3 {
			t.Errorf("%d calls", calls)
		}
		panics := 0
		stop = Every(time.Second, func() { panics++; panic("of f") })
		<-time.After(time.Hour)
		defer func() {
			err, _ := recover().(error)
			if !errors.Is(err, guard.ErrPanic) || panics != 1 {
				t.Errorf("%d panics: got %v", panics, err)
			}
		}()
		stop()
	})
}

// TestSleepEnded checks that even a wait for no time returns the end of its context.
func TestSleepEnded(t *testing.T) {
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := Sleep(ctx, 0); err != why {
		t.Errorf("no wait: got %v", err)
	}
}
