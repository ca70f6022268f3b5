package schedule

import (
	"context"
	"slices"
	"testing"
)

// TestFinders checks that jobs that find others come first, but not while many
// are queued.
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
			return Done()
		}
		for range turn.Value.finds {
			turn.Add(Job[task]{Host: "h"})
		}
		if turn.Value.name != "" {
			order = append(order, turn.Value.name)
		}
		return Done()
	})
	if want := []string{"first", "second", "file", "third"}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
}
