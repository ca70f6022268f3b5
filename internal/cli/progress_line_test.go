package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-runewidth"

	"example.com/ftpfetch/download/batch"
)

func TestMiddle(t *testing.T) {
	for _, tt := range []struct {
		in   string
		n    int
		want string
	}{
		{"short", 10, "short"}, {"0123456789", 10, "0123456789"}, {"SRR0123456_1.fastq.gz", 12, "SRR01...q.gz"},
		{"0123456789a", 10, "0123...89a"}, {"名前名前名前", 10, "名前... 前"}, {"éééééééééééé", 10, "éééé...ééé"},
	} {
		if got := middle(tt.in, tt.n); got != tt.want || runewidth.StringWidth(got) > tt.n {
			t.Errorf("middle(%q, %d) = %q, want %q", tt.in, tt.n, got, tt.want)
		}
	}
}

// TestPartLine checks the line of one of many files in terminals of several widths.
func TestPartLine(t *testing.T) {
	s := newStand(progressBar)
	m := &barMeter{print: s.printer, label: "SRR0123456789_1_with_a_long_name.fastq.gz", one: true}
	m.speed.update(0, s.clock)
	s.after(time.Second)
	m.done, m.total = 1<<20, 4<<20
	m.speed.update(m.done, s.now())
	for width, want := range map[int]string{
		40:  "SRR0....gz   25 %     1.0 MiB/s    0:03",
		80:  "SRR012345678...me.fastq.gz       1.0 MiB / 4.0 MiB   25 %     1.0 MiB/s    0:03",
		200: "SRR0123456789_1_with_a_long_name.fastq.gz                          1.0 MiB / 4.0 MiB   25 %     1.0 MiB/s    0:03",
	} {
		if got := m.figures(width); got != want {
			t.Errorf("%d columns: got\n%q, want\n%q", width, got, want)
		}
	}
	m.one = false
	for width, want := range map[int]string{
		40:  "SRR0....gz   25 %     1.0 MiB/s    0:03",
		90:  "SRR0123456789_1_w...ng_name.fastq.gz       1.0 MiB / 4.0 MiB   25 %     1.0 MiB/s    0:03",
		120: "SRR0123456789_1_with_a_long_name.fastq.gz [=====>----------------]       1.0 MiB / 4.0 MiB   25 %     1.0 MiB/s    0:03",
	} {
		if got := m.figures(width); got != want {
			t.Errorf("one file, %d columns: got\n%q, want\n%q", width, got, want)
		}
	}
	m.done, m.total, m.retries = 1<<29, 9<<40, 10
	for _, label := range []string{"f", strings.Repeat("名", 100), strings.Repeat("x", 100)} {
		for _, one := range []bool{true, false} {
			m.label, m.one = label, one
			for width := range 200 {
				got := m.figures(width)
				if n := runewidth.StringWidth(got); n > width {
					t.Errorf("%d columns: the line has %d", width, n)
				}
				if width >= 40 && !strings.HasSuffix(got, m.pace()) {
					t.Errorf("%d columns: %q lacks a part of %q", width, got, m.pace())
				}
			}
		}
	}
}

// TestOverviewLine checks that the line about all files fits, and says the most
// important first.
func TestOverviewLine(t *testing.T) {
	s := newStand(progressBar)
	o := s.newOverview(500, 3<<30)
	o.totals = batch.Totals{Complete: 123, Failed: 2, Unlisted: 1, Done: 1 << 30}
	o.speed.update(0, s.clock)
	s.after(time.Second)
	o.speed.update(64<<20, s.now())
	const all = "123 of 500 files, 3 failed, 0:32 left, 64.0 MiB/s, 1.0 GiB of 3.0 GiB"
	for width, want := range map[int]string{
		len(all): all, len(all) - 1: "123 of 500 files, 3 failed, 0:32 left, 64.0 MiB/s", 40: "123 of 500 files, 3 failed, 0:32 left",
		10: "123 of 500 files",
	} {
		if got := o.line(width); got != want {
			t.Errorf("%d columns: got %q, want %q", width, got, want)
		}
	}
}

// TestOverviewPlain checks that the lines about all files become rarer.
func TestOverviewPlain(t *testing.T) {
	s := newStand(progressPlain)
	o := s.newOverview(3, 300)
	for range 4000 { // seconds
		s.after(time.Second)
		o.update(batch.Totals{Files: 3, Size: 300, Complete: 1, Done: 100})
	}
	if n := strings.Count(s.out.String(), "\n"); n != 36 { // after 10, 30, 70 and 150 s, then every two minutes
		t.Errorf("%d lines in 4000 s, want 36", n)
	}
	s.out.Reset()
	o.end(batch.Totals{Files: 3, Size: 300, Complete: 1, Before: 1, Failed: 1, Unlisted: 1, Listing: 1, Links: 1, Abandoned: 1, Received: 1})
	s.compare(t, "1 of 3 complete (1 of them before), 1 failed, 2 directories not listed whole, 1 link not followed; received 1 byte in 4000.0 s\n")
}

// TestOverviewJSON checks the events about all files.
func TestOverviewJSON(t *testing.T) {
	s := newStand(progressJSON)
	o := s.newOverview(-1, -1)
	o.update(batch.Totals{Files: 2, Size: 10, Listing: 1})
	s.after(time.Second)
	o.update(batch.Totals{Files: 2, Size: 10, Listing: 1})
	s.after(time.Second / 2)
	o.update(batch.Totals{Files: 3, Size: 30}) // too soon
	s.after(time.Second / 2)
	o.update(batch.Totals{Files: 3, Size: 30, Complete: 1, Received: 10, Done: 10})
	o.end(batch.Totals{Files: 3, Size: 30, Complete: 2, Failed: 1, Received: 20, Done: 20})
	s.compare(t, `{"event":"total","version":1,"time":"1970-01-01T00:00:01.000Z","received":0,"rate":0,"files":2,"complete":0,"failed":0}
{"event":"total","version":1,"time":"1970-01-01T00:00:02.000Z","size":30,"received":10,"rate":5,"files":3,"complete":1,"failed":0}
{"event":"end","version":1,"time":"1970-01-01T00:00:02.000Z","size":30,"received":20,"rate":10,"seconds":2,"files":3,"complete":2,"failed":1}
`)
}
