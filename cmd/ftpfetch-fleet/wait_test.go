package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ftpfetch/internal/testkit/must"
)

// lasting is a view of a job that is over after d.
type lasting struct {
	view
	begun time.Time
	d     time.Duration
	asked int
}

func (l *lasting) jobsNow(context.Context) ([]job, error) { return []job{{ID: "j", Files: 1}}, nil }

func (l *lasting) states(_ context.Context, jobs []job, _ map[string]*sum) ([]*state, error) {
	l.asked++
	s := &state{job: jobs[0]}
	s.Chunks = 1
	if time.Since(l.begun) >= l.d {
		s.Results = 1
	}
	return []*state{s}, nil
}

// TestFollow waits for jobs of several lengths. It sees the end within a second, that of a short job within a tenth
// of its time, and does not ask for a long one more than once a second.
func TestFollow(t *testing.T) {
	t.Parallel()
	for _, d := range []time.Duration{0, time.Millisecond, time.Second, 7 * time.Second, time.Minute, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			l := &lasting{begun: time.Now(), d: d}
			must.Get(follow(t.Context(), l, "j", func(*state) {}))(t)
			late := time.Since(l.begun) - d
			if late > max(min(time.Second, d/10), time.Second/10) || l.asked > 100+int(d/time.Second) {
				t.Errorf("a job of %v: its end is seen %v late, asked %d times", d, late, l.asked)
			}
		})
	}
}
