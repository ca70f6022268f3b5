package show

import (
	"fmt"
	"testing"
	"time"
)

func TestSpeed(t *testing.T) {
	const second = time.Second
	type step struct {
		after time.Duration
		done  int64
	}
	for _, tt := range []struct {
		name  string
		start int64
		steps []step
		want  float64
	}{
		{"nothing yet", 0, nil, 0},
		{"too short for a sample", 0, []step{{second / 10, 100}}, 0},
		{"steps of half a second", 0, []step{{second / 4, 0}, {second / 4, 500}, {second / 4, 500}, {second / 4, 1000}}, 1000},
		{"earlier bytes do not count", 1e6, []step{{second, 1e6 + 1000}}, 1000},
		{"a stall shows", 0, []step{{second, 1000}, {5 * second, 1000}}, 1000.0 / 6},
		{"a short one does not", 0, []step{{second, 1000}, {second, 1000}}, 1000},
		{"starting over", 0, []step{{second, 1000}, {second, 0}, {second, 200}}, 200},
		{"a slow start is soon forgotten", 0, []step{{second, 100}, {second, 1100}, {second, 2100}}, 700},
		{"smoothed", 0, []step{{12 * second, 12000}, {12 * second, 36000}}, 1632.1},
	} {
		var s speed
		now := time.Unix(0, 0)
		s.update(tt.start, now)
		for _, step := range tt.steps {
			now = now.Add(step.after)
			s.update(step.done, now)
		}
		if s.rate < tt.want-0.5 || s.rate > tt.want+0.5 {
			t.Errorf("%s: got %.1f, want %.1f", tt.name, s.rate, tt.want)
		}
	}
}

func TestUnits(t *testing.T) {
	left := func(rate float64, done, total int64) string {
		return fmt.Sprint((&speed{rate: rate}).left(done, total))
	}
	for _, tt := range []struct {
		got, want string
	}{
		{left(100, 0, 1000), "10s"}, {left(100, 1000, 1000), "0s"}, {left(0, 0, 1000), "-1ns"}, {left(100, 0, -1), "-1ns"},
		{left(100, 10, 5), "-1ns"}, {left(1e-9, 0, 1<<40), "-1ns"},
		{clockTime(0), "0:00"}, {clockTime(1), "0:01"}, {clockTime(61 * time.Second), "1:01"},
		{clockTime(59*time.Minute + 59*time.Second), "59:59"}, {clockTime(25*time.Hour + time.Second), "25:00:01"},
		{binary(0), "0 B"}, {binary(1023), "1023 B"}, {binary(1023.96), "1.0 KiB"}, {binary(1536), "1.5 KiB"},
		{binary(1 << 20), "1.0 MiB"}, {binary(1<<30 - 1), "1.0 GiB"}, {binary(5 << 40), "5.0 TiB"}, {binary(1 << 60), "1048576.0 TiB"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %s, want %s", tt.got, tt.want)
		}
	}
}
