package show

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mattn/go-runewidth"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/batch"
)

// TestBar checks that messages appear above the line, and that a line that says what
// happened takes its place.
func TestBar(t *testing.T) {
	s := newStand(Bar)
	for _, tt := range []struct {
		err  error
		done download.Result
		want string
	}{
		{err: lost, want: "ftpfetch: ftp://h/x: RETR x: connection lost\n"},
		{done: download.Result{Size: 4096, Verified: "md5 in x.md5"}, want: "d/name: 4096 bytes in 2.0 s (verified: md5 in x.md5)\n"},
		{done: download.Result{Left: "already exists"}, want: "d/name: already exists, left alone\n"},
	} {
		f := s.lone(parse(t, "ftp://h/x"), "d/name")
		f.update(0, 4096)
		s.after(time.Second)
		f.update(1024, 4096)
		f.happens(retries)
		s.after(time.Second)
		f.end(tt.done, tt.err)
		got := s.out.String()
		for _, want := range []string{
			"d/name: RETR x: connection lost; trying again in 1.5 s (2 of 5)\n", "name [=", "] ", " 1.0 KiB / 4.0 KiB ", " 25 %", " 1.0 KiB/s", "  try 2\n",
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

// TestBarsTogether shows several files and lines at the same time.
func TestBarsTogether(t *testing.T) {
	s := newStand(Bar)
	r := s.Run("", 5, -1)
	var all sync.WaitGroup
	for i := range int64(5) {
		f := r.one(parse(t, "ftp://h/x"), fmt.Sprint("file", i))
		f.update(i, 100+i)
		all.Go(func() {
			s.after(time.Second)
			s.Line("line %d", i)
			f.end(download.Result{Size: 100 + i}, nil)
			f.end(download.Result{}, lost) // it was not the last word
		})
	}
	all.Wait()
	s.out.Reset()
	r.End(batch.Totals{Files: 5, Complete: 5})
	s.compare(t, "\r\x1b[1A\x1b[J5 of 5 complete; received 0 bytes in 5.0 s\n")
}

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

// TestFileLine checks the line of a file in terminals of all widths.
func TestFileLine(t *testing.T) {
	f := &file{name: "SRR0123456789_1_with_a_long_name.fastq.gz"}
	f.speed.update(0, time.Unix(0, 0))
	f.done, f.total = 1<<20, 4<<20
	f.speed.update(f.done, time.Unix(1, 0))
	for width, want := range map[int]string{
		40:  "SRR0....gz   25 %     1.0 MiB/s    0:03",
		90:  "SRR0123456789_1_w...ng_name.fastq.gz       1.0 MiB / 4.0 MiB   25 %     1.0 MiB/s    0:03",
		120: "SRR0123456789_1_with_a_long_name.fastq.gz [=====>----------------]       1.0 MiB / 4.0 MiB   25 %     1.0 MiB/s    0:03",
	} {
		if got := f.row(width); got != want {
			t.Errorf("%d columns: got\n%q, want\n%q", width, got, want)
		}
	}
	f.done, f.total, f.try = 1<<29, 9<<40, 11
	for _, f.name = range []string{"f", strings.Repeat("名", 100), strings.Repeat("x", 100)} {
		for width := range 200 {
			got := f.row(width)
			if n := runewidth.StringWidth(got); n > width {
				t.Errorf("%d columns: the line has %d", width, n)
			}
			if width >= 40 && !strings.HasSuffix(got, f.pace()) {
				t.Errorf("%d columns: %q lacks a part of %q", width, got, f.pace())
			}
		}
	}
}

// TestRunLine checks that the line about all files fits, and says the most
// important first.
func TestRunLine(t *testing.T) {
	s := newStand(Bar)
	r := s.Run("", 500, 3<<30)
	r.counts(batch.Totals{}, 0, 0, 0)
	s.after(time.Second)
	r.counts(batch.Totals{Complete: 123, Failed: 2, Unlisted: 1}, 1<<30, -1, 64<<20)
	const all = "123 of 500 files, 3 failed, 0:32 left, 64.0 MiB/s, 1.0 GiB of 3.0 GiB"
	for width, want := range map[int]string{
		len(all): all, len(all) - 1: "123 of 500 files, 3 failed, 0:32 left, 64.0 MiB/s", 40: "123 of 500 files, 3 failed, 0:32 left",
		10: "123 of 500",
	} {
		if got := r.row(width); got != want {
			t.Errorf("%d columns: got %q, want %q", width, got, want)
		}
	}
	r.End(batch.Totals{})
}
