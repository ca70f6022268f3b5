package download

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

// TestLimit checks that all transfers that share a limit keep to it, to the
// millisecond. The burst is smaller than one read.
func TestLimit(t *testing.T) {
	const bytes, rateOf, burst = 2 << 20, 8 << 20, 1000
	for transfers := range 3 {
		synctest.Test(t, func(t *testing.T) {
			network := testserver.NewNetwork()
			srv := network.NewScript(t, testserver.Honest(strings.Repeat("x", bytes)))
			c := &ftpexec.Client{Dial: network.Dial}
			limit := rate.NewLimiter(rateOf, burst)
			begun := time.Now()
			var group sync.WaitGroup
			for range transfers {
				group.Go(func() {
					if _, err := To(t.Context(), c, urlOf(t, srv.URL("/f")), io.Discard, &Options{Limit: limit}); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
			want := max(0, time.Second*time.Duration(transfers*bytes-burst)/rateOf)
			if took := time.Since(begun); took.Round(time.Millisecond) != want.Round(time.Millisecond) {
				t.Errorf("%d transfers took %v, want %v", transfers, took, want)
			}
		})
	}
}

// TestSleep checks that sleep waits as long as it should, but no longer than its
// context.
func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, enough := time.Now(), errors.New("enough")
		if err := sleep(t.Context(), time.Minute); err != nil || time.Since(begun) != time.Minute {
			t.Errorf("got %v after %v", err, time.Since(begun))
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, enough)
		defer cancel()
		if err := sleep(ctx, time.Hour); err != enough || time.Since(begun) != time.Minute+time.Second {
			t.Errorf("got %v after %v", err, time.Since(begun))
		}
	})
}

// TestLimitEnds checks that the end of the context ends the wait for a limit.
func TestLimitEnds(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	ctx, cancel := context.WithCancel(t.Context())
	o := &Options{Limit: rate.NewLimiter(1, 1), Progress: func(int64, int64) { cancel() }}
	if _, err := To(ctx, k.c, k.url("/f"), io.Discard, o); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	o = &Options{Limit: rate.NewLimiter(0.001, 1)}
	if _, err := To(ctx, k.c, k.url("/f"), io.Discard, o); err != context.DeadlineExceeded {
		t.Errorf("beyond its deadline: got %v", err)
	}
	o = &Options{Limit: rate.NewLimiter(1, 0)}
	if _, err := To(t.Context(), k.c, k.url("/f"), io.Discard, o); !errors.Is(err, errBurst) {
		t.Errorf("no burst: got %v", err)
	}
}
