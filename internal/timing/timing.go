// Package timing waits, once or again and again.
package timing

import (
	"context"
	"sync"
	"time"

	"example.com/ftpfetch/internal/guard"
)

// Wait waits before a retry. A test replaces it.
var Wait = Sleep

// Sleep waits for d, or until ctx ends.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Every calls f at each interval. It starts no goroutine before the first interval has passed. stop ends the calls and
// waits for f to return. If f panics, stop panics, so that the panic is in the caller's goroutine, where the caller can
// recover.
func Every(interval time.Duration, f func()) (stop func()) {
	var calling sync.Mutex
	var timer *time.Timer
	var failed error
	ended := false
	calling.Lock() // until timer is set
	defer calling.Unlock()
	timer = time.AfterFunc(interval, func() {
		calling.Lock()
		defer calling.Unlock()
		if ended || failed != nil {
			return
		}
		failed = guard.Do(func() error { f(); return nil })
		timer.Reset(interval)
	})
	return func() {
		timer.Stop()
		calling.Lock()
		defer calling.Unlock()
		ended = true
		if failed != nil {
			panic(failed)
		}
	}
}
