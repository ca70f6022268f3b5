package download

import (
	"context"
	"time"
)

// every calls f at each interval from one goroutine. stop ends that and waits
// for f to return.
func every(interval time.Duration, f func()) (stop func()) {
	quit, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				f()
			case <-quit:
				return
			}
		}
	}()
	return func() { close(quit); <-stopped }
}

// sleep is the default of Options.Wait.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 && ctx.Err() == nil {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
