package download

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"golang.org/x/time/rate"
)

// TestLimit holds a rate over all connections; its burst is smaller than what
// comes at once.
func TestLimit(t *testing.T) {
	text := noise(2<<20, 6)
	for _, segments := range []int{1, 2} {
		k := newKit(t, map[string]string{"/f": text})
		start := time.Now()
		limit := rate.NewLimiter(8<<20, 1000)
		if _, err := k.get("/f", Options{Limit: limit, Segments: segments}); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took < 240*time.Millisecond || took > 5*time.Second {
			t.Errorf("%d connections: 2 MiB at 8 MiB a second took %v", segments, took)
		}
		k.want(map[string]string{"f": text})
	}
}

// TestLimitEnds does not sit out a limit when its context ends.
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
