package schedule

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestAddStarts checks that a job starts at once when another job adds it, or when that job gives back a token.
func TestAddStarts(t *testing.T) {
	for _, spare := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			began := make(chan time.Time, 1)
			first := slices.Values([]Job[bool]{{Host: "h", Value: true, Last: true}})
			Run(t.Context(), Options{Jobs: 2, Patience: 9}, first, func(_ context.Context, turn *Turn[bool]) Verdict {
				if !turn.Value {
					began <- time.Now()
					return Done
				}
				if got := turn.Spare(turn.Host, spare); got != spare {
					t.Errorf("%d spare tokens, want %d", got, spare)
				}
				added := time.Now()
				turn.Add(Job[bool]{Host: "g"})
				if spare > 0 {
					wait(t.Context(), 5*tick+tick/2) // avoid a tick, which starts jobs too
					added = time.Now()
					turn.Refused(turn.Host, errTooMany)
				}
				if at := <-began; !at.Equal(added) {
					t.Errorf("%d spare: the job began %v too late or early", spare, at.Sub(added))
				}
				return Done
			})
		})
	}
}

// TestReleaseAtOnce checks that the tokens that a job releases go to another job at once, and that the job keeps none.
func TestReleaseAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var began []time.Time
		released := make(chan struct{})
		jobs := slices.Values([]Job[int]{{Host: "h"}, {Host: "h", Value: 1}})
		Run(t.Context(), Options{Jobs: 1, Without: 1}, jobs, func(_ context.Context, turn *Turn[int]) Verdict {
			began = append(began, time.Now())
			if turn.Value == 0 {
				wait(t.Context(), tick/2)
				turn.Release(true)
				if turn.tokens != 0 {
					t.Errorf("the job keeps %d tokens", turn.tokens)
				}
				<-released
				return Done
			}
			close(released)
			return Done
		})
		if after := began[1].Sub(began[0]); after != tick/2 {
			t.Errorf("the second job began %v after the first, want %v", after, tick/2)
		}
	})
}

// TestRefusedKeepsOne checks that Refused never takes a job's last token.
func TestRefusedKeepsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		jobs := slices.Values([]Job[int]{{Host: "h"}})
		Run(t.Context(), Options{Jobs: 1, Patience: 9}, jobs, func(_ context.Context, turn *Turn[int]) Verdict {
			turn.Refused(turn.Host, errTooMany)
			if turn.tokens != 1 {
				t.Errorf("the job has %d tokens", turn.tokens)
			}
			return Done
		})
	})
}

// TestSpare checks that a job gets spare tokens only if no job is queued and none can come from the source.
func TestSpare(t *testing.T) {
	for what, tt := range map[string]struct {
		jobs []Job[int]
		o    Options
		open bool // the source has not ended
		want int
	}{
		"the last job":          {jobs: []Job[int]{{Host: "h", Last: true}}, o: Options{Jobs: 4}, open: true, want: 2},
		"an ended source":       {jobs: []Job[int]{{Host: "h"}}, o: Options{Jobs: 4}, want: 2},
		"a source that goes on": {jobs: []Job[int]{{Host: "h"}}, o: Options{Jobs: 4}, open: true},
		"few in all":            {jobs: []Job[int]{{Host: "h"}}, o: Options{Jobs: 2}, want: 1},
		"few for the host":      {jobs: []Job[int]{{Host: "h"}}, o: Options{Jobs: 4, PerHost: 2}, want: 1},
		"only its own":          {jobs: []Job[int]{{Host: "h"}}, o: Options{Jobs: 1}},
		"a queued job":          {jobs: []Job[int]{{Host: "h"}, {Host: "h", Value: 1}}, o: Options{Jobs: 4, PerHost: 1}},
		"a queued job of another host": {jobs: []Job[int]{{Host: "h"}, {Host: "g", Value: 1}, {Host: "g", Value: 1}},
			o: Options{Jobs: 4, PerHost: 1}},
	} {
		synctest.Test(t, func(t *testing.T) {
			source := func(yield func(Job[int]) bool) {
				for _, j := range tt.jobs {
					yield(j)
				}
				if tt.open {
					wait(t.Context(), time.Hour)
				}
			}
			Run(t.Context(), tt.o, source, func(_ context.Context, turn *Turn[int]) Verdict {
				wait(t.Context(), time.Minute) // let Run read the source
				if turn.Value > 0 {
					wait(t.Context(), time.Minute)
					return Done
				}
				if got := turn.Spare(turn.Host, 2); got != tt.want {
					t.Errorf("%s: %d spare tokens, want %d", what, got, tt.want)
				}
				return Done
			})
		})
	}
}

// TestGivenUpForOneReason has jobs that hand back what they are told: why the host was given up. The reason stays the first.
func TestGivenUpForOneReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("no reply")
		left := 10 * mostMissed
		jobs := slices.Values(slices.Repeat([]Job[int]{{Host: "h"}}, left))
		Run(t.Context(), Options{Jobs: 1}, jobs, func(_ context.Context, turn *Turn[int]) Verdict {
			if turn.GivenUp != nil && errors.Unwrap(turn.GivenUp) != why {
				t.Errorf("given up for %v within %v", errors.Unwrap(turn.GivenUp), turn.GivenUp)
			}
			if left--; left%(mostMissed+1) == 0 { // such a job needed no connection
				return Done
			}
			return Unusable(cmp.Or(turn.GivenUp, why))
		})
	})
}

// TestSpareOfGivenUp checks that a job of a host that was given up gets no token.
func TestSpareOfGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spare := -1
		jobs := slices.Values(slices.Repeat([]Job[int]{{Host: "h"}}, mostMissed+1))
		Run(t.Context(), Options{Jobs: 1, Without: 1}, jobs, func(_ context.Context, turn *Turn[int]) Verdict {
			if turn.GivenUp != nil {
				wait(t.Context(), time.Second) // let Run read the source
				spare = turn.Spare(turn.Host, 1)
				return Untouched
			}
			return Unusable(errTooMany)
		})
		if spare != 0 {
			t.Errorf("%d spare tokens", spare)
		}
	})
}

// TestMayBeFull checks when a host may have refused a connection, without giving a reason, because of other
// connections.
func TestMayBeFull(t *testing.T) {
	for _, tt := range []struct {
		h        host[int]
		own      int // tokens of the job
		patience int
		times    int
		want     bool
	}{
		{h: host[int]{tokens: 1}, own: 1},
		{h: host[int]{tokens: 2}, own: 1, want: true},
		{h: host[int]{tokens: 2}, own: 2},
		{h: host[int]{tokens: 1}, own: 1, times: 1, want: true},
		{h: host[int]{tokens: 1, refusals: 1}, own: 1, times: 1},
		{h: host[int]{tokens: 1, hasServed: true}, own: 1},
		{h: host[int]{tokens: 1, hasServed: true}, own: 1, patience: 1, want: true},
		{h: host[int]{tokens: 1, hasServed: true, refusals: 1}, own: 1, patience: 1},
		{h: host[int]{tokens: 1, hasServed: true, refusals: mostMissed - 1}, own: 1, patience: 9, want: true},
		{h: host[int]{tokens: 1, hasServed: true, refusals: mostMissed}, own: 1, patience: 9},
		{h: host[int]{tokens: 1, hasServed: true, refusals: mostMissed}, own: 1, patience: 9, times: 9, want: true},
		{h: host[int]{tokens: 1, crowded: true, refusals: mostMissed - 1}, own: 1, patience: 9, want: true},
		{h: host[int]{tokens: 1, ceiling: 1, refusals: 1}, own: 1, patience: 9}, // it has refused the only connection before
	} {
		turn := Turn[int]{h: &tt.h, tokens: tt.own, s: &scheduler[int]{Options: Options{Patience: tt.patience}}}
		if got := turn.MayBeFull(tt.times); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

// TestFollowsAndAlone checks whether a job learns that another job of its host is queued, and that no other job runs.
func TestFollowsAndAlone(t *testing.T) {
	for _, tt := range []struct {
		jobs    int
		hosts   []string
		spare   int
		end     bool // the run ends meanwhile
		follows bool // for the first job, like alone
		alone   bool
	}{
		{jobs: 1, hosts: []string{"h"}, alone: true},
		{jobs: 1, hosts: []string{"h", "h"}, follows: true, alone: true},
		{jobs: 1, hosts: []string{"h", "g"}, alone: true},
		{jobs: 1, hosts: []string{"h", "h"}, end: true, alone: true},
		{jobs: 2, hosts: []string{"h", "h"}},
		{jobs: 2, hosts: []string{"h"}, spare: 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, end := context.WithCancel(t.Context())
			defer end()
			var jobs []Job[int]
			for i, host := range tt.hosts {
				jobs = append(jobs, Job[int]{Host: host, Value: i, Last: i == len(tt.hosts)-1})
			}
			Run(ctx, Options{Jobs: tt.jobs}, slices.Values(jobs), func(_ context.Context, turn *Turn[int]) Verdict {
				wait(t.Context(), time.Millisecond) // let Run read the source
				if turn.Value > 0 {
					wait(t.Context(), time.Second)
					return Done
				}
				turn.Spare(turn.Host, tt.spare)
				if tt.end {
					end()
				}
				follows := turn.Follows()
				alone := turn.Alone()
				if follows != tt.follows || alone != tt.alone {
					t.Errorf("%+v: follows %v, alone %v", tt, follows, alone)
				}
				wait(t.Context(), time.Second)
				return Done
			})
		})
	}
}

// TestReleaseUnserved checks that a host that a job did not need is not taken for one that has served a job.
func TestReleaseUnserved(t *testing.T) {
	jobs := slices.Values([]Job[int]{{Host: "h"}})
	Run(t.Context(), Options{Jobs: 1}, jobs, func(_ context.Context, turn *Turn[int]) Verdict {
		turn.Release(false)
		if turn.tokens != 0 || turn.h.hasServed {
			t.Errorf("the job keeps %d tokens; the host has served: %v", turn.tokens, turn.h.hasServed)
		}
		return Untouched
	})
}
