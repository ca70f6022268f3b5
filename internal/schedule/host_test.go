package schedule

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hostModel is a model of what a host may do. It knows the ceiling since the last refusal, and when a probe may follow.
type hostModel struct {
	*rapid.T
	h       host[int]
	perHost int
	known   int       // the ceiling; 0: unknown
	at      time.Time // of the last refusal or probe
}

// start takes a token, or n of them, if the host has room.
func (m *hostModel) start(n int) {
	room := m.h.room(m.perHost, time.Now())
	if m.perHost > 0 && m.known >= m.perHost {
		m.known = 0
	}
	if n = min(n, room); n <= 0 {
		if m.h.tokens == 0 {
			m.Fatalf("an idle host has no room: %+v", m.h)
		}
		return
	}
	if m.known > 0 && m.h.tokens+n > m.known {
		if n > 1 || m.h.tokens+n != m.known+1 || time.Since(m.at) < firstProbe {
			m.Fatalf("%d tokens and %d more, the ceiling is %d, told %v ago", m.h.tokens, n, m.known, time.Since(m.at))
		}
		m.known, m.at = m.known+1, time.Now()
	}
	if m.h.tokens += n; m.perHost > 0 && m.h.tokens > m.perHost {
		m.Fatalf("%d tokens, at most %d are allowed", m.h.tokens, m.perHost)
	}
}

// refuse makes the server refuse one of the connections.
func (m *hostModel) refuse() {
	live := m.h.tokens - 1
	got := cmp.Or(m.h.full(errTooMany, math.MaxInt), m.h.ceiling)
	if want := max(1, live); got > want && (m.known == 0 || got > m.known) || got < 1 {
		m.Fatalf("with %d connections left the ceiling is %d; before it was %d", live, got, m.known)
	}
	m.known, m.at, m.h.tokens = got, time.Now(), live
}

// TestHostModel starts, ends and refuses connections in random order. There must never be more than the known ceiling,
// except one probe, some time after the last refusal.
func TestHostModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		perHost := rapid.IntRange(0, 6).Draw(r, "per host")
		steps := rapid.SliceOf(rapid.SampledFrom([]string{"start", "start", "spare", "end", "refuse", "wait", "long"})).Draw(r, "steps")
		waits := rapid.SliceOfN(rapid.IntRange(1, 40), len(steps), len(steps)).Draw(r, "seconds")
		synctest.Test(t, func(*testing.T) {
			m := &hostModel{T: r, perHost: perHost}
			for i, step := range steps {
				switch {
				case step == "start":
					m.start(1)
				case step == "wait":
					wait(context.Background(), time.Duration(waits[i])*time.Second)
				case step == "long":
					wait(context.Background(), 2*lastProbe)
				case m.h.tokens == 0:
				case step == "spare":
					m.start(waits[i]%4 + 1)
				case step == "end":
					m.h.served()
					m.h.tokens--
				case step == "refuse":
					m.refuse()
				}
			}
		})
	})
}

// TestHostWaits checks the times that docs/many.md names: the times of probes if the server refuses each, the lengths
// of the pauses after it has refused the only connection, and their number if it gives no reason.
func TestHostWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := host[int]{tokens: 2}
		h.full(errTooMany, 3)
		h.tokens = 1
		for _, want := range []time.Duration{30, 60, 120, 240, 480, 600, 600} {
			begun := time.Now()
			for h.room(0, time.Now()) == 0 {
				wait(t.Context(), time.Second)
			}
			if got := time.Since(begun); got != want*time.Second {
				t.Errorf("the next connection is tried after %v, want %v", got, want*time.Second)
			}
			h.tokens = 2
			h.full(errTooMany, 3)
			h.tokens = 1
		}
		for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
			h.full(errTooMany, 3)
			if got := time.Until(h.pause); got != want*time.Second {
				t.Errorf("a pause of %v, want %v", got, want*time.Second)
			}
		}
		unsaid := &host[int]{hasServed: true, tokens: 1}
		turn := Turn[int]{s: &scheduler[int]{Options: Options{Patience: 100}}, h: unsaid, tokens: 1}
		pauses := 0
		for turn.MayBeFull(0) {
			unsaid.full(errTooMany, 100)
			pauses++
		}
		if pauses != 3 {
			t.Errorf("%d pauses for a server that refuses the only connection without a word, want 3", pauses)
		}
	})
}

// TestAlarmStops checks that no timer runs after a run has ended, or was interrupted in a pause.
func TestAlarmStops(t *testing.T) {
	for name, limit := range map[string]time.Duration{"ended": math.MaxInt64, "interrupted": 1500 * time.Millisecond} {
		for jobs := range 3 { // 0 means that the search runs too
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				w := newWorld(Options{Jobs: jobs, Patience: 2, Received: func() int64 { return 0 }}, map[string]int{"no": 0, "yes": 1})
				var s *scheduler[task]
				Run(ctx, w.o, slices.Values(append(many("no", 3, 0), many("yes", 3, time.Second)...)), func(ctx context.Context, turn *Turn[task]) Verdict {
					w.mu.Lock()
					s = turn.s
					w.mu.Unlock()
					return w.do(ctx, turn)
				})
				if s.alarm.Stop() {
					t.Errorf("%s, -j %d: the alarm is still set", name, jobs)
				}
				if s.running != 0 || s.tokens != 0 {
					t.Errorf("%s, -j %d: %d jobs run, %d tokens are in use", name, jobs, s.running, s.tokens)
				}
			})
		}
	}
}

// TestShort checks that fewer jobs run at a time if they need more open files than there are, and that each job still
// runs to its end.
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

// TestFinders checks that jobs that find others run first, but not while many jobs are queued.
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

// TestSearchBegins checks the number of connections that the search tries second: twice the first number, or less if
// files are large.
func TestSearchBegins(t *testing.T) {
	for _, tt := range []struct {
		far        bool
		files      int
		bytes      int64
		base, step int
	}{
		{files: 1, base: first, step: first},
		{files: 1, bytes: 100 * perFile, base: first, step: first},
		{bytes: 1, base: first, step: 1 + first/4},
		{far: true, bytes: 1, base: 2 * first},
		{far: true, files: 2, bytes: 2 * perFile, base: 2 * first, step: 2 * first},
		{far: true, files: 2, bytes: 2*perFile + 1, base: 2 * first, step: first},
	} {
		var s Search
		if tt.far {
			s.Far()
		}
		s.Begin(1000, tt.files, tt.bytes)
		if want := utility(1000, tt.base); s.base != tt.base || s.step != tt.step || s.utility != want {
			t.Errorf("%+v: %+v, want the utility %f", tt, s, want)
		}
	}
}

// TestSearchRests checks when the search tries another number after it has found one, and which: in the eighth period,
// or when the reward has changed clearly, but never in the first period.
func TestSearchRests(t *testing.T) {
	const reward = 1e6
	for _, tt := range []struct {
		base, from int // from is the number of periods rested
		gain       float64
		step       int
	}{
		{base: 16, from: 0},
		{base: 16, from: 0, gain: 1},
		{base: 16, from: 1},
		{base: 16, from: rests - 2},
		{base: 16, from: rests - 1, step: 5},
		{base: 16, from: 1, gain: 3 * band},
		{base: 16, from: 1, gain: 5 * band, step: 5},
		{base: 16, from: 1, gain: -5 * band, step: 5},
		{base: most, from: rests - 1, step: -1 - most/4},
	} {
		s := Search{base: tt.base, utility: utility(reward, tt.base), rested: tt.from}
		told := s.Observe(reward*math.Exp(tt.gain), true, true)
		rested := tt.from + 1
		if tt.step != 0 {
			rested = 0
		}
		if !told || s.step != tt.step || s.rested != rested || s.base != tt.base {
			t.Errorf("%+v: %+v, told %v", tt, s, told)
		}
	}
	s := Search{base: 16, step: -5, utility: utility(reward, 16)}
	s.Observe(reward*math.Exp(-5*math.Log(price)), true, true)
	if s.base != 11 || s.step != -1-11/4 {
		t.Errorf("after a smaller number of the same utility: %+v", s)
	}
}
