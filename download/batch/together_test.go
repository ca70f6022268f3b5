package batch_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/internal/retry"
	"example.com/ftpfetch/internal/rules/night"
	"example.com/ftpfetch/testserver"
)

// TestTwoRuns starts a run of a list while another, which ends well or fails, is in the midst of a file. The later run
// must wait for it, and both must be whole.
func TestTwoRuns(t *testing.T) {
	files := map[string]string{"/a": "one", "/b": "two", "/c": "three"}
	existing := []download.Options{{}, {Skip: true}, {Overwrite: true}, {Newer: true}, {Continue: true}}
	for i := range 4 * len(existing) {
		if i%night.Or(3, 1) != 0 {
			continue
		}
		each, known, fails := existing[i%len(existing)], i/len(existing)%2 == 1, i/len(existing) > 1
		first := newStand(t, files, testserver.Options{Fault: func(p *testserver.Conn) testserver.Action {
			if fails && p.Verb == "RETR" && p.Transfer == 1 {
				return testserver.Cut(1, testserver.Closed)
			}
			return nil
		}})
		tasks := first.tasks(files)
		for i := range tasks {
			if !known {
				tasks[i].Size, tasks[i].Sum = nil, digest.Sum{}
			}
		}
		second := newClientStand(t)
		second.dir = first.dir
		first.options.Each, second.options.Each = each, each
		first.options.Each.Retries, first.options.Jobs, second.options.Jobs = -1, 1, 1
		midst, release, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
		var once, again sync.Once
		first.options.Events = func(e batch.Event) {
			if e.Kind == download.Progress && e.Task != nil {
				once.Do(func() { close(midst); <-release })
			}
		}
		var waits atomic.Int64
		retry.Wait = func(ctx context.Context, _ time.Duration) error {
			if ctx.Value(&waits) == nil { // the first may wait too, until the second has looked
				return retry.Sleep(ctx, time.Millisecond)
			}
			waits.Add(1)
			again.Do(func() { close(release) })
			<-ended
			return nil
		}
		var one totals
		go func() { defer close(ended); one = first.run(t.Context(), tasks...) }()
		<-midst
		two := second.run(context.WithValue(t.Context(), &waits, true), tasks...)
		again.Do(func() { close(release) })
		<-ended
		what := fmt.Sprintf("%+v, known %v, fails %v", each, known, fails)
		if waits.Load() == 0 || !two.Whole() || !fails && !one.Whole() {
			t.Errorf("%s: %d waits, %+v %q and %+v %q", what, waits.Load(), one, first.failures(), two, second.failures())
		}
		first.compare(below(files))
	}
}
