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
	"example.com/ftpfetch/internal/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

// TestLimit checks that all transfers that share a limit keep to it, to the millisecond.
func TestLimit(t *testing.T) {
	const bytes, limit = 2 << 20, 8 << 20
	for transfers := range 3 {
		synctest.Test(t, func(t *testing.T) {
			network := ftptest.NewNetwork()
			srv := network.NewScript(t, testserver.Honest(strings.Repeat("x", bytes)))
			c := &ftpexec.Client{Dial: network.Dial}
			limiter := limitOf(limit)
			begun := time.Now()
			var group sync.WaitGroup
			for range transfers {
				group.Go(func() {
					if _, err := To(t.Context(), c, urlOf(t, srv.URL("/f")), io.Discard, &Options{Limit: limiter}); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
			want := time.Second * time.Duration(transfers*bytes) / limit
			if took := time.Since(begun); took.Round(time.Millisecond) != want.Round(time.Millisecond) {
				t.Errorf("%d transfers took %v, want %v", transfers, took, want)
			}
		})
	}
}

// TestLimitEnds checks that the end of the context ends the wait for a limit.
func TestLimitEnds(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	ctx, cancel := context.WithCancel(t.Context())
	o := &Options{Limit: limitOf(1), Events: onProgress(func(int64, int64) { cancel() })}
	if _, err := To(ctx, k.c, k.url("/f"), io.Discard, o); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	o = &Options{Limit: limitOf(1)}
	if _, err := To(ctx, k.c, k.url("/f"), io.Discard, o); err != context.DeadlineExceeded {
		t.Errorf("beyond its deadline: got %v", err)
	}
}

// limitOf returns an empty limiter of so many bytes a second.
func limitOf(n int64) *rate.Limiter {
	burst := int(max(n/8, 512))
	l := rate.NewLimiter(rate.Limit(n), burst)
	l.AllowN(time.Now(), burst)
	return l
}
