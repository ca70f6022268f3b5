package download

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"example.com/ftpfetch/testserver"
)

// TestEndOfContext ends the context in each stage of a download. The error must match both the cause and
// context.Canceled.
func TestEndOfContext(t *testing.T) {
	why := errors.New("why")
	for _, tt := range []struct {
		name  string
		o     Options
		fault failure
	}{
		{"transfer", Options{}, nil},
		{"limit", Options{Limit: limitOf(1)}, nil},
		{"segments", Options{Segments: 4}, nil},
		{"segments with a limit", Options{Segments: 4, Limit: limitOf(1)}, nil},
		{"connections lost", Options{Retries: 100}, always("RETR", testserver.EndControl(testserver.Closed))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newKit(t, map[string]string{"/f": large + large + large + large})
			k.faulty(tt.fault)
			var ctx context.Context
			var cancel context.CancelCauseFunc
			begin := func() {
				ctx, cancel = context.WithCancelCause(t.Context())
			}
			begin()
			tt.o.Events = onProgress(func(int64, int64) { cancel(why) })
			waiting(t, func(ctx context.Context, _ time.Duration) error {
				cancel(why)
				return context.Cause(ctx)
			})
			_, err := File(ctx, k.src, k.url("/f"), k.path("f"), &tt.o)
			if !errors.Is(err, why) || !errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("File: got %v", err)
			}
			begin()
			_, err = To(ctx, k.src, k.url("/f"), io.Discard, &Options{Limit: tt.o.Limit, Retries: tt.o.Retries, Events: tt.o.Events})
			if !errors.Is(err, why) || !errors.Is(err, context.Canceled) {
				t.Errorf("To: got %v", err)
			}
		})
	}
}
