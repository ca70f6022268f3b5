package download

import "time"

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
