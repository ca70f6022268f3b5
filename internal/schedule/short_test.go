package schedule

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestShort checks that jobs which need more open files than there are run in smaller numbers, each until it ends,
// whatever else ends meanwhile.
func TestShort(t *testing.T) {
	for jobs := range 17 { // 0 means that the search runs too
		for bears := 1; bears < 9; bears++ {
			synctest.Test(t, func(t *testing.T) {
				var times atomic.Int64
				w := newWorld(Options{Jobs: jobs, Received: func() int64 { return 0 }}, map[string]int{"": bears, "a": 99, "b": 99})
				Run(t.Context(), w.o, slices.Values(append(many("a", 40, time.Second), many("b", 3, time.Minute)...)), func(ctx context.Context, turn *Turn[task]) Verdict {
					if !w.connect("") {
						if turn.Alone() {
							t.Errorf("-j %d: a job failed though it was alone", jobs)
						}
						times.Add(1)
						return Short
					}
					defer w.close("")
					return w.do(ctx, turn)
				})
				short := int(times.Load())
				if len(w.ended) != 43 || short > max(0, 2*(max(jobs, 2)-bears)) && jobs > 0 {
					t.Errorf("-j %d with %d files: %d jobs ended, %d were short", jobs, bears, len(w.ended), short)
				}
			})
		}
	}
}

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// TestFinders checks that jobs that find others come first, but not while many are queued.
func TestFinders(t *testing.T) {
	var order []string
	finder := func(name string, n int) Job[task] {
		return Job[task]{Host: "h", Finds: true, Value: task{name: name, finds: make([]task, n)}}
	}
	jobs := []Job[task]{finder("first", 3), {Host: "h", Value: task{name: "file"}}, finder("second", manyJobs), finder("third", 1)}
	gate := make(chan struct{})
	source := func(yield func(Job[task]) bool) {
		yield(Job[task]{Host: "h", Value: task{name: "gate"}})
		for _, j := range jobs {
			yield(j)
		}
		close(gate)
	}
	Run(t.Context(), Options{Jobs: 1}, source, func(_ context.Context, turn *Turn[task]) Verdict {
		if turn.Value.name == "gate" {
			<-gate
			return Done
		}
		for range turn.Value.finds {
			turn.Add(Job[task]{Host: "h"})
		}
		if turn.Value.name != "" {
			order = append(order, turn.Value.name)
		}
		return Done
	})
	if want := []string{"first", "second", "file", "third"}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
}
