package download

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/guard"
)

// breaking is a Source that panics at the nth call of Do after the first, and at all later ones.
type breaking struct {
	Source
	nth   int32
	calls atomic.Int32
}

func (b *breaking) Do(ctx context.Context, req *ftpexec.Request) (*ftpexec.Response, error) {
	if b.calls.Add(1) > b.nth {
		panic("broken")
	}
	return b.Source.Do(ctx, req)
}

// TestPanicInSegment checks that a panic in the goroutine of a further connection only makes the download fail.
func TestPanicInSegment(t *testing.T) {
	k := newKit(t, map[string]string{"/f": large})
	for nth := range int32(4) {
		src := &breaking{Source: k.c, nth: nth + 1}
		_, err := File(t.Context(), src, k.url("/f"), k.path("f"), &Options{Segments: 8, NoResume: true})
		if !errors.Is(err, guard.ErrPanic) || !strings.Contains(err.Error(), "broken (") || strings.Contains(err.Error(), "\n") || k.exists("f") {
			t.Errorf("call %d: got %v", nth+1, err)
		}
	}
	if _, err := k.get("/f", Options{}); err != nil {
		t.Error(err)
	}
	k.want(map[string]string{"f": large})
}

// TestPanicOfEvents checks that a panic in Events while bytes arrive is a panic of File itself, so that the caller can
// recover.
func TestPanicOfEvents(t *testing.T) {
	for nth := range 3 {
		progress, calls := make(chan int64, 1), 0
		src := memorySource{contents: "contents", progress: progress}
		value := func() (value any) {
			defer func() { value = recover() }()
			_, _ = File(t.Context(), src, urlOf(t, "ftp://h/f"), t.TempDir()+"/f", &Options{Retries: -1, Events: func(e Event) {
				if e.Kind != Progress {
					return
				}
				if calls++; calls > nth {
					close(progress)
					panic("broken")
				}
				progress <- e.Done
			}})
			return nil
		}()
		if value == nil {
			t.Errorf("call %d: no panic", nth+1)
		}
	}
}
