package schedule

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

var errTooMany = errors.New("421 too many")

// world simulates servers that each accept a number of connections.
type world struct {
	o     Options
	bears map[string]int // 0: the server refuses every connection

	mu    sync.Mutex
	open  map[string]int // open connections per host
	most  map[string]int // the most open at a time, per host
	total int
	over  int // the most open at a time, of all hosts
	ended map[string]int
	gone  map[string]int // jobs of hosts that were given up
	full  int            // number of refusals
}

func newWorld(o Options, bears map[string]int) *world {
	return &world{o: o, bears: bears, open: map[string]int{}, most: map[string]int{}, ended: map[string]int{}, gone: map[string]int{}}
}

// task is a job of the simulation.
type task struct {
	name  string
	takes time.Duration
	finds []task
	moves string // the host on which it must run next
	spare int
}

// do simulates a job: it connects, waits and closes the connection.
func (w *world) do(ctx context.Context, t *Turn[task]) Verdict {
	if t.GivenUp != nil {
		w.note(w.gone, t.Value.name)
		return Untouched
	}
	if !w.connect(t.Host) {
		return Full(errTooMany)
	}
	defer w.close(t.Host)
	queued := func() int {
		t.s.mu.Lock()
		defer t.s.mu.Unlock()
		return t.s.queued
	}
	before := queued()
	spare := t.Spare(t.Host, t.Value.spare)
	if before > 0 && spare > 0 && queued() > 0 {
		w.note(w.gone, fmt.Sprint(spare, " spare tokens that a queued job needs"))
	}
	held := 1 + spare
	for range spare {
		if !w.connect(t.Host) {
			if t.Refused(t.Host, errTooMany); t.tokens != held-1 {
				w.note(w.gone, "a refused token is kept")
			}
			held--
			continue
		}
		defer w.close(t.Host)
	}
	wait(ctx, t.Value.takes)
	for _, found := range t.Value.finds {
		t.Add(Job[task]{Host: t.Host, Value: found, Finds: len(found.finds) > 0})
	}
	if t.Value.moves != "" && t.Value.moves != t.Host {
		return Done.Then(t.Value.moves)
	}
	w.note(w.ended, t.Value.name)
	return Done
}

func (w *world) note(in map[string]int, name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	in[name]++
}

func (w *world) connect(host string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open[host] >= w.bears[host] {
		w.full++
		return false
	}
	w.open[host]++
	w.total++
	w.most[host], w.over = max(w.most[host], w.open[host]), max(w.over, w.total)
	return true
}

func (w *world) close(host string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[host]--
	w.total--
}

func (w *world) run(ctx context.Context, jobs []Job[task]) {
	Run(ctx, w.o, slices.Values(jobs), w.do)
}

// names returns the names of all tasks, including those that tasks find.
func names(tasks []task) (all []string) {
	for _, t := range tasks {
		all = append(append(all, t.name), names(t.finds)...)
	}
	return all
}

// TestEveryJobEndsOnce runs random jobs on random servers, and checks that the run ends, that every job ends once, and
// that no limit was exceeded. Busy must alternate, and say at last that no job holds a token.
func TestEveryJobEndsOnce(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		hosts := []string{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(r, "hosts")]
		bears := map[string]int{}
		for _, h := range hosts {
			bears[h] = rapid.IntRange(1, 6).Draw(r, "bears "+h)
		}
		o := Options{Jobs: rapid.IntRange(0, 8).Draw(r, "jobs"), PerHost: rapid.IntRange(0, 4).Draw(r, "per host"), Patience: 20}
		o.Received = func() int64 { return 0 }
		busy := false
		o.Busy = func(now bool) {
			if now == busy {
				r.Errorf("Busy says %v twice", now)
			}
			busy = now
		}
		count := 0
		var draw func(depth int) task
		draw = func(depth int) task {
			count++
			x := task{name: fmt.Sprint(count), takes: time.Duration(rapid.IntRange(0, 40_000).Draw(r, "ms")) * time.Millisecond}
			x.spare = rapid.IntRange(0, 3).Draw(r, "spare")
			if rapid.Bool().Draw(r, "moves") {
				x.moves = rapid.SampledFrom(hosts).Draw(r, "to")
			}
			for range rapid.IntRange(0, depth).Draw(r, "finds") {
				x.moves = "" // a task that moves would find them twice
				x.finds = append(x.finds, draw(depth-1))
			}
			return x
		}
		var jobs []Job[task]
		var tasks []task
		for range rapid.IntRange(0, 30).Draw(r, "n") {
			x := draw(2)
			tasks = append(tasks, x)
			jobs = append(jobs, Job[task]{Host: rapid.SampledFrom(hosts).Draw(r, "host"), Value: x, Finds: len(x.finds) > 0})
		}
		w := newWorld(o, bears)
		synctest.Test(t, func(t *testing.T) { w.run(t.Context(), jobs) })
		for _, name := range names(tasks) {
			if w.ended[name] != 1 {
				r.Errorf("job %s ended %d times", name, w.ended[name])
			}
		}
		if len(w.gone) > 0 {
			r.Errorf("given up: %v", w.gone)
		}
		if busy {
			r.Error("jobs hold tokens after the end")
		}
		if o.Jobs > 0 && w.over > o.Jobs {
			r.Errorf("%d connections at once, -j %d", w.over, o.Jobs)
		}
		for h, n := range w.most {
			if o.PerHost > 0 && n > o.PerHost {
				r.Errorf("%d connections at once to %s, at most %d are allowed", n, h, o.PerHost)
			}
		}
	})
}

// many returns n jobs on a host that take the same time.
func many(host string, n int, takes time.Duration) (jobs []Job[task]) {
	for i := range n {
		jobs = append(jobs, Job[task]{Host: host, Value: task{name: fmt.Sprint(host, i), takes: takes}})
	}
	return jobs
}

// TestCeiling checks that a run uses all three connections that a server accepts, that few are refused, and that the
// run uses more when the server accepts more.
func TestCeiling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(Options{Jobs: 8, Patience: 5}, map[string]int{"h": 3})
		start := time.Now()
		w.run(t.Context(), many("h", 300, time.Second))
		if len(w.ended) != 300 {
			t.Errorf("%d of 300 jobs ended", len(w.ended))
		}
		if took := time.Since(start); took > 105*time.Second {
			t.Errorf("%v, with 3 connections it takes 100 s", took)
		}
		// There are up to five refusals at the start, and fewer if the first is known before the last job starts.
		// Later there is one for each probe: after 30 s, and then after twice the time.
		if w.full < 1 || w.full > 8 {
			t.Errorf("the server refused %d connections", w.full)
		}
		time.AfterFunc(10*time.Second, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.bears["h"] = 7
		})
		if w.run(t.Context(), many("h", 1200, time.Second)); w.most["h"] != 7 {
			t.Errorf("%d connections at once at most, when the server bears 7", w.most["h"])
		}
	})
}

// TestFull checks the calls of Full: with the number that a server accepts, with 0 while it refuses the only
// connection, and none when it is given up.
func TestFull(t *testing.T) {
	for _, tt := range []struct {
		jobs, bears int
		want        []int
	}{{3, 1, []int{2, 1}}, {1, 0, []int{0, 0}}} {
		synctest.Test(t, func(t *testing.T) {
			var got []int
			o := Options{Jobs: tt.jobs, Patience: 2, Full: func(_ string, most int) { got = append(got, most) }}
			newWorld(o, map[string]int{"h": tt.bears}).run(t.Context(), many("h", 3, time.Second))
			if !slices.Equal(got, tt.want) {
				t.Errorf("%d connections to a server that bears %d: got %v, want %v", tt.jobs, tt.bears, got, tt.want)
			}
		})
	}
}

// TestGivenUp checks that a run gives up a server that always refuses, after Patience refusals and growing pauses, and
// that jobs on other servers continue.
func TestGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(Options{Jobs: 4, PerHost: 2, Patience: 5}, map[string]int{"no": 0, "yes": 2})
		start := time.Now()
		w.run(t.Context(), append(many("no", 50, time.Second), many("yes", 10, time.Second)...))
		if len(w.gone) != 50 || len(w.ended) != 10 {
			t.Errorf("given up %d, ended %d; want 50 and 10", len(w.gone), len(w.ended))
		}
		if took := time.Since(start); took != 31*time.Second { // 1+2+4+8+16
			t.Errorf("given up after %v, want 31s", took)
		}
	})
}

// TestFair checks that the jobs of a host with few jobs do not wait for those of a host with many.
func TestFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(Options{Jobs: 2}, map[string]int{"many": 9, "few": 9})
		ended, few := 0, 0
		Run(t.Context(), w.o, slices.Values(append(many("many", 1000, time.Second), many("few", 5, time.Second)...)), func(ctx context.Context, turn *Turn[task]) Verdict {
			v := w.do(ctx, turn)
			w.mu.Lock()
			defer w.mu.Unlock()
			if ended++; turn.Host == "few" && ended <= 20 {
				few++
			}
			return v
		})
		if few != 5 {
			t.Errorf("%d of the 5 jobs of the small host are among the first 20", few)
		}
	})
}

// TestCancelled checks that no job starts after the end of the context, and that Run waits for running jobs.
func TestCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		w := newWorld(Options{Jobs: 4}, map[string]int{"h": 9})
		endless := func(yield func(Job[task]) bool) {
			for i := 0; yield(Job[task]{Host: "h", Value: task{name: fmt.Sprint(i), takes: time.Second}}); i++ {
			}
		}
		Run(ctx, w.o, endless, w.do)
		if w.total != 0 || len(w.ended) != 12 {
			t.Errorf("%d jobs run after the end, %d ended, want 12", w.total, len(w.ended))
		}
	})
}

// TestAhead checks that Run reads only a bounded number of jobs in advance.
func TestAhead(t *testing.T) {
	read, behind := 0, 0
	source := func(yield func(Job[task]) bool) {
		for range 3 * mostQueued {
			read++
			if !yield(Job[task]{Host: "h"}) {
				return
			}
		}
	}
	Run(t.Context(), Options{Jobs: 1}, source, func(context.Context, *Turn[task]) Verdict { behind++; return Done })
	if read != 3*mostQueued || behind != read {
		t.Errorf("%d read, %d done", read, behind)
	}
}

// TestRelease checks that a job that released its token makes room for the next, that the number of jobs without a
// token is bounded, and that the server counts as one that accepts connections.
func TestRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		const without = 16
		late, most := 0, 0
		gate := make(chan struct{})
		go Run(t.Context(), Options{Jobs: 1, Patience: 5, Without: without}, slices.Values(many("h", 100, 0)), func(_ context.Context, turn *Turn[task]) Verdict {
			turn.Release(true)
			if !turn.MayBeFull(0) {
				t.Error("the server, which has served a job, is taken for one that was never reached")
			}
			mu.Lock()
			late++
			most = max(most, late)
			mu.Unlock()
			<-gate
			mu.Lock()
			late--
			mu.Unlock()
			return Done
		})
		synctest.Wait()
		if most != 1+without {
			t.Errorf("%d jobs at once, want %d", most, 1+without)
		}
		close(gate)
		synctest.Wait()
		if late != 0 {
			t.Errorf("%d jobs did not end", late)
		}
	})
}

// TestBusy checks that a run is busy from the first job that has a token until the last one of those that follow each
// other has released its own, whatever the jobs do after that.
func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said []string
		begun := time.Now()
		o := Options{Jobs: 2, Patience: 5, Without: 16, Busy: func(busy bool) {
			said = append(said, fmt.Sprint(time.Since(begun), " ", busy))
		}}
		Run(t.Context(), o, func(yield func(Job[task]) bool) {
			for _, n := range []int{5, 1} {
				for _, job := range many("h", n, 0) {
					yield(job)
				}
				wait(t.Context(), 10*time.Second)
			}
		}, func(ctx context.Context, turn *Turn[task]) Verdict {
			wait(ctx, time.Second)
			turn.Release(true)
			wait(ctx, time.Minute)
			return Done
		})
		if want := []string{"0s true", "3s false", "10s true", "11s false"}; !slices.Equal(said, want) {
			t.Errorf("got %q, want %q", said, want)
		}
	})
}

// TestLast checks that the last job gets spare tokens although the source has not ended yet.
func TestLast(t *testing.T) {
	ended := make(chan int, 1)
	Run(t.Context(), Options{Jobs: 4}, func(yield func(Job[int]) bool) {
		yield(Job[int]{Host: "h", Last: true})
		if got := <-ended; got != 3 {
			t.Errorf("got %d, want 3", got)
		}
	}, func(_ context.Context, turn *Turn[int]) Verdict { ended <- turn.Spare(turn.Host, 3); return Done })
}

// TestInARow checks that a run gives up a host only after failures in a row. A served job ends each row, and a refusal
// because the host is full ends the row of jobs that it did not serve.
func TestInARow(t *testing.T) {
	full := Full(errTooMany)
	bad := Unusable(errTooMany)
	for _, tt := range []struct {
		verdicts []Verdict
		given    bool
	}{
		{[]Verdict{bad, bad, Done, bad, bad, Done}, false},
		{[]Verdict{bad, bad, full, bad, bad, Done}, false},
		{[]Verdict{full, full, Done, full, full, Done}, false},
		{[]Verdict{Done, bad, bad, bad, Done}, true},
		{[]Verdict{full, full, full, Done}, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			next := 0
			given := false
			jobs := slices.Repeat([]Job[int]{{Host: "h"}}, len(tt.verdicts))
			Run(t.Context(), Options{Jobs: 1, Patience: 2}, slices.Values(jobs), func(_ context.Context, turn *Turn[int]) Verdict {
				if turn.GivenUp != nil {
					given = true
				}
				if next == len(tt.verdicts) || turn.GivenUp != nil {
					return Untouched
				}
				next++
				return tt.verdicts[next-1]
			})
			if given != tt.given {
				t.Errorf("%v: given up %v", tt.verdicts, given)
			}
		})
	}
}
