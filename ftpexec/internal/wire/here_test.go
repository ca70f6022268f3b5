package wire

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestOverhear lets transfers wait for the server, for a short time and for a long one. Only the long wait may end in
// overhear, and the transfers that come soon after one another must not each set the timer.
func TestOverhear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h here
		ends, called := 0, 0
		h.timer = time.AfterFunc(time.Hour, func() {
			ends++
			if h.due() {
				called++
			}
		})
		h.timer.Stop()
		for i := range 100 {
			if h.watching != (i > 0) {
				t.Fatalf("transfer %d: the timer runs: %v", i, h.watching)
			}
			h.watch()
			<-time.After(patience / 1000)
			if h.overheard() {
				t.Fatal("a short wait is overheard")
			}
		}
		<-time.After(2 * patience)
		synctest.Wait()
		if ends != 1 || called > 0 || h.watching {
			t.Fatalf("the timer ended %d times, called %d times, runs: %v", ends, called, h.watching)
		}
		for _, wait := range []time.Duration{patience - 1, patience + 1, 2 * patience, time.Minute} {
			called = 0
			h.watch() // another one has set the timer
			<-time.After(patience / 2)
			h.overheard()
			h.watch()
			<-time.After(wait)
			synctest.Wait()
			if overheard := h.overheard(); overheard != (called == 1) || overheard != (wait > patience) {
				t.Errorf("a wait of %v: overheard %v, called %d times", wait, overheard, called)
			}
			<-time.After(time.Minute)
		}
	})
}
