package schedule

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestQueue checks a queue against a slice.
func TestQueue(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var q queue[int]
		var model []int
		for i := range rapid.IntRange(0, 500).Draw(r, "n") {
			switch {
			case len(model) > 0 && rapid.Bool().Draw(r, "pop"):
				if got := q.pop().Value; got != model[0] {
					r.Fatalf("got %d, want %d", got, model[0])
				}
				model = model[1:]
			case rapid.Bool().Draw(r, "front"):
				q.push(Job[int]{Value: i}, true)
				model = slices.Insert(model, 0, i)
			default:
				q.push(Job[int]{Value: i}, false)
				model = append(model, i)
			}
			if q.len() != len(model) {
				r.Fatalf("%d queued, want %d", q.len(), len(model))
			}
		}
	})
}
