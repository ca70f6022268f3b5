package show

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mattn/go-runewidth"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/internal/printable"
)

// TestBar checks that messages appear above the line, and that the final message replaces it.
func TestBar(t *testing.T) {
	s := newStand(Bar)
	for _, tt := range []struct {
		err  error
		done download.Result
		want string
	}{
		{err: lost, want: "ftpfetch: ftp://u:***@h/x: connection lost\n"},
		{done: download.Result{Size: 4096, Verified: "md5 in x.md5"}, want: "d/name: 4.0 KiB in 2.0 s, 2.0 KiB/s (verified: md5 in x.md5)\n"},
		{done: download.Result{Left: "already exists"}, want: "d/name: already exists, left alone\n"},
	} {
		f := s.lone("d/name")
		f.update(0, 4096)
		s.after(time.Second)
		f.update(1024, 4096)
		f.happens(retries)
		s.after(time.Second)
		f.end(tt.done, tt.err)
		got := s.out.String()
		for _, want := range []string{
			"d/name: connection lost; trying again in 1.5 s (2 of 5)\n", "name [=", "] ", " 1.0 KiB / 4.0 KiB ", " 25 %", " 1.0 KiB/s", "  try 2\n",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("no %q in %q", want, got)
			}
		}
		if want := "\r\x1b[1A\x1b[J" + tt.want; !strings.HasSuffix(got, want) {
			t.Errorf("%q does not end with %q", got, want)
		}
		s.out.Reset()
		s.Line("next")
		s.compare(t, "next\n")
	}
}

// TestBarsTogether shows several files and messages at the same time.
func TestBarsTogether(t *testing.T) {
	s := newStand(Bar)
	r := s.Run("", 5, -1)
	var all sync.WaitGroup
	for i := range int64(5) {
		f := r.one(fmt.Sprint("file", i))
		f.update(i, 100+i)
		all.Go(func() {
			s.after(time.Second)
			s.Line("line %d", i)
			f.end(download.Result{Size: 100 + i}, nil)
			f.end(download.Result{}, lost) // the first end was not final
		})
	}
	all.Wait()
	s.out.Reset()
	r.End(download.Totals{Files: 5, Complete: 5}, 0)
	s.compare(t, "\r\x1b[1A\x1b[J5 of 5 complete: 0 B in 5.0 s\n")
}

// TestFileLine checks the line of a file in terminals of all widths.
func TestFileLine(t *testing.T) {
	f := &file{name: "SRR0123456789_1_with_a_long_name.fastq.gz"}
	f.speed.update(0, time.Unix(0, 0))
	f.done, f.total = 3<<20, 6<<20
	f.speed.update(f.done, time.Unix(3, 0))
	for width, want := range map[int]string{
		40:  "...h_a_long_name.fastq.gz   50 %    0:03",
		60:  "...89_1_with_a_long_name.fastq.gz   50 %   1.0 MiB/s    0:03",
		90:  "SRR0123456789_1_with_a_long_name.fastq.gz      3.0 MiB / 6.0 MiB  50 %   1.0 MiB/s    0:03",
		120: "SRR0123456789_1_with_a_long_name.fastq.gz [===============>--------------]   3.0 MiB / 6.0 MiB  50 %   1.0 MiB/s    0:03",
	} {
		if got := f.row(width); got != want {
			t.Errorf("%d columns: got\n%q, want\n%q", width, got, want)
		}
	}
	f.done, f.total, f.try = 1<<29, 9<<40, 11
	for _, f.name = range []string{"f", strings.Repeat("名", 100), strings.Repeat("x", 100)} {
		for width := range 200 {
			got := f.row(width)
			if n := runewidth.StringWidth(got); n > width || width >= 40 && (n < leastName || width-len(f.facts(width)) <= leastName) {
				t.Errorf("%d columns: the line %q has %d, or the name fewer than %d", width, got, n, leastName)
			}
		}
	}
}

// TestRunLine checks that the line about all files fits the terminal, and keeps the most important parts.
func TestRunLine(t *testing.T) {
	s := newStand(Bar)
	r := s.Run("", 500, 3<<30)
	r.counts(download.Totals{}, 0, 0, 0)
	s.after(4 * time.Second)
	r.counts(download.Totals{Complete: 123, Failed: 2, Unlisted: 1}, 1<<30, -1, 256<<20)
	const all = "123 of 500 files, 3 failed, 0:32 left, 64.0 MiB/s, 1.0 GiB of 3.0 GiB"
	for width, want := range map[int]string{
		len(all): all, len(all) - 1: all[:49], 40: all[:37], 10: all[:10],
	} {
		if got := r.row(width); got != want {
			t.Errorf("%d columns: got %q, want %q", width, got, want)
		}
	}
	r.End(download.Totals{}, 0)
}

func TestSpeed(t *testing.T) {
	type steps = [][2]int64 // milliseconds, and the number of bytes at that time
	for _, tt := range []struct {
		name  string
		start int64
		steps steps
		want  float64
	}{
		{"nothing yet", 0, nil, 0},
		{"too short for a sample", 0, steps{{100, 100}}, 0},
		{"steps of half a second", 0, steps{{250, 0}, {250, 500}, {250, 500}, {250, 1000}}, 1000},
		{"earlier bytes do not count", 1e6, steps{{1000, 1e6 + 1000}}, 1000},
		{"a stall shows", 0, steps{{1000, 1000}, {5000, 1000}}, 1000.0 / 6},
		{"a short one does not", 0, steps{{1000, 1000}, {1000, 1000}}, 1000},
		{"starting over", 0, steps{{1000, 1000}, {1000, 0}, {1000, 200}}, 200},
		{"a slow start is soon forgotten", 0, steps{{1000, 100}, {1000, 1100}, {1000, 2100}}, 700},
		{"smoothed", 0, steps{{12000, 12000}, {12000, 36000}}, 1632.1},
	} {
		var s speed
		now := time.Unix(0, 0)
		s.update(tt.start, now)
		for _, step := range tt.steps {
			now = now.Add(time.Duration(step[0]) * time.Millisecond)
			s.update(step[1], now)
		}
		if s.rate < tt.want-0.5 || s.rate > tt.want+0.5 {
			t.Errorf("%s: got %.1f, want %.1f", tt.name, s.rate, tt.want)
		}
	}
}

func TestUnits(t *testing.T) {
	left := func(rate float64, done, total int64) string {
		return (&speed{trend: rate}).left(done, total)
	}
	for _, tt := range []struct{ got, want string }{
		{fmt.Sprint(*seconds(1343736168)), "1.344"}, // fewer than nine digits
		{left(100, 0, 1000), "0:10"}, {left(100, 1000, 1000), "0:00"}, {left(0, 0, 1000), ""}, {left(100, 0, -1), ""},
		{left(100, 10, 5), ""}, {left(1e-9, 0, 1<<40), ""},
		{clockTime(0), "0:00"}, {clockTime(1), "0:01"}, {clockTime(61 * time.Second), "1:01"},
		{clockTime(59*time.Minute + 59*time.Second), "59:59"}, {clockTime(25*time.Hour + time.Second), "25:00:01"},
		{printable.Duration(99 * time.Second), "99.0 s"}, {printable.Duration(3599600 * time.Millisecond), "1 h 0 min"}, {printable.Duration(100 * time.Second), "1 min 40 s"},
		{ending(108<<20, 16100*time.Millisecond), "108 MiB in 16.1 s, 6.7 MiB/s"}, {ending(0, 0), "0 B in 0.00 s"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %s, want %s", tt.got, tt.want)
		}
	}
}
