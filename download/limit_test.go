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

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

// TestLimit checks that all transfers that share a limit keep to it, to the
// millisecond.
func TestLimit(t *testing.T) {
	const bytes, limit = 2 << 20, 8 << 20
	for transfers := range 3 {
		synctest.Test(t, func(t *testing.T) {
			network := ftptest.NewNetwork()
			srv := network.NewScript(t, testserver.Honest(strings.Repeat("x", bytes)))
			c := &ftpexec.Client{Dial: network.Dial}
			limiter := NewLimiter(limit)
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
	o := &Options{Limit: NewLimiter(1), Events: onProgress(func(int64, int64) { cancel() })}
	if _, err := To(ctx, k.c, k.url("/f"), io.Discard, o); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	o = &Options{Limit: NewLimiter(1)}
	if _, err := To(ctx, k.c, k.url("/f"), io.Discard, o); err != context.DeadlineExceeded {
		t.Errorf("beyond its deadline: got %v", err)
	}
}

// TestLimiterBeginsEmpty takes all available tokens in every millisecond of the
// first second and never gets more than the rate times the time.
func TestLimiterBeginsEmpty(t *testing.T) {
	for _, limit := range []int64{4 << 10, 500 << 10, 1 << 20, 1 << 30} {
		begin := time.Unix(1e9, 0)
		l := newLimiter(limit, begin)
		taken := 0
		for ms := range 1001 {
			now := begin.Add(time.Duration(ms) * time.Millisecond)
			if n := int(l.tokens.TokensAt(now)); n > 0 && l.tokens.AllowN(now, n) {
				taken += n
			}
			if most := float64(limit)*float64(ms)/1000 + 1; float64(taken) > most {
				t.Fatalf("%d: %d bytes after %d ms, at most %.0f", limit, taken, ms, most)
			}
		}
		if taken < int(limit)*9/10 {
			t.Errorf("%d: only %d bytes in a second", limit, taken)
		}
	}
}
