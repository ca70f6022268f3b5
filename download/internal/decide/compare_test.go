package decide

import (
	"fmt"
	"testing"
	"time"
)

// comparisons are what Compare asks, and what it finds. Each row starts from a target with the server's size, 100
// bytes, and time.
var comparisons = []struct {
	what   string
	change func(f *Facts, server *Stamp)
	want   string
}{
	{"the same", func(*Facts, *Stamp) {}, "server; same"},
	{"listed", func(f *Facts, _ *Stamp) { f.Listed = Stamp{100, serverTime} }, "same"},
	{"listed without a time", func(f *Facts, _ *Stamp) { f.Listed.Size = 100 }, "server; same"},
	{"listed without a size", func(f *Facts, _ *Stamp) { f.Listed.Time = serverTime }, "server; same"},
	{"dropped by the disk", func(f *Facts, _ *Stamp) { f.Local.Time = serverTime.Add(999 * time.Millisecond) }, "server; same"},
	{"not here", func(f *Facts, _ *Stamp) { f.Here = Nothing }, "server; missing: not here"},
	{"not here, listed", func(f *Facts, _ *Stamp) { f.Here = Nothing; f.Listed.Size = 100 }, "missing: not here"},
	{"a link", func(f *Facts, _ *Stamp) { f.Here = Link }, "server; same"},
	{"a link to nothing", func(f *Facts, _ *Stamp) { f.Here = Dangling }, "server; differs [kind]: kind: a link here, which leads to nothing"},
	{"aria2 at work", func(f *Facts, _ *Stamp) { f.Pieces = "f.aria2" }, "server; differs [pieces]: pieces: some are missing, as f.aria2 shows"},

	{"shorter", func(f *Facts, _ *Stamp) { f.Local.Size = 99 }, "server; differs [size]: size: 100 there, 99 here"},
	{"empty", func(f *Facts, _ *Stamp) { f.Local.Size = 0; f.Listed.Size = 100 }, "differs [size]: size: 100 there, 0 here"},
	{"longer and newer", func(f *Facts, _ *Stamp) { f.Local = Stamp{101, serverTime.Add(time.Hour)} },
		"server; differs [size time]: size: 100 there, 101 here; time: 2026-01-02T03:04:05Z there, 2026-01-02T04:04:05Z here"},
	{"newer", func(f *Facts, _ *Stamp) { f.Local.Time = serverTime.Add(time.Second) }, "server; differs [time]: time: 2026-01-02T03:04:05Z there, 2026-01-02T03:04:06Z here"},
	{"older", func(f *Facts, _ *Stamp) { f.Local.Time = serverTime.Add(-time.Second) }, "server; differs [time]: time: 2026-01-02T03:04:05Z there, 2026-01-02T03:04:04Z here"},
	{"not of the list's size", func(f *Facts, _ *Stamp) { f.Want = 7 }, "server; differs [size]: size: 7 in the list, 100 here"},
	{"of the latest time of the disk", func(f *Facts, s *Stamp) {
		f.Local.Time = time.Unix(1<<31-1, 0)
		s.Time = time.Unix(1<<40, 0)
	}, "server; same"},

	{"right by Verify", func(f *Facts, _ *Stamp) { f.Verify = true }, "server digest; same"},
	{"right by Verify, newer here", func(f *Facts, _ *Stamp) { f.Verify = true; f.Local.Time = serverTime.Add(time.Hour) }, "server digest; same"},
	{"right by Verify, newer there", func(f *Facts, _ *Stamp) { f.Verify = true; f.Local.Time = serverTime.Add(-time.Hour) },
		"server digest; differs [time]: time: 2026-01-02T03:04:05Z there, 2026-01-02T02:04:05Z here"},
	{"right, newer there", func(f *Facts, _ *Stamp) { f.Given = true; f.Local.Time = serverTime.Add(-time.Hour) }, "server digest; same"},
	{"right, nothing told", func(f *Facts, s *Stamp) { f.Given = true; *s = Unknown }, "server digest; same"},
	{"wrong", func(f *Facts, _ *Stamp) { f.Given = true; f.Mismatch = "md5 is 1, not 2" }, "server digest; differs [digest]: digest: md5 is 1, not 2"},
	{"wrong and older", func(f *Facts, _ *Stamp) {
		f.Verify = true
		f.Mismatch = "other"
		f.Local.Time = serverTime.Add(-time.Hour)
	},
		"server digest; differs [digest time]: digest: other; time: 2026-01-02T03:04:05Z there, 2026-01-02T02:04:05Z here"},
	{"shorter, not read", func(f *Facts, _ *Stamp) { f.Given = true; f.Local.Size = 99 }, "server; differs [size]: size: 100 there, 99 here"},

	{"no size", func(_ *Facts, s *Stamp) { s.Size = -1 }, "server; same untold [size]"},
	{"no time", func(_ *Facts, s *Stamp) { s.Time = time.Time{} }, "server; same untold [time]"},
	{"nothing told", func(_ *Facts, s *Stamp) { *s = Unknown }, "server; same untold [size time]"},
	{"in ASCII", func(f *Facts, _ *Stamp) { f.Text = true; f.Local.Size = 99 }, "server; same untold [size]"},
	{"no time, shorter", func(f *Facts, s *Stamp) { s.Time = time.Time{}; f.Local.Size = 99 }, "server; differs [size] untold [time]: size: 100 there, 99 here"},
}

// TestCompare compares what Compare asks and finds with the table.
func TestCompare(t *testing.T) {
	for _, tt := range comparisons {
		f := Facts{Here: Regular, Local: Stamp{100, serverTime}, Want: -1, Listed: Unknown}
		server := Stamp{100, serverTime}
		tt.change(&f, &server)
		if got := compared(f, server); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.what, got, tt.want)
		}
	}
}

// compared returns what Compare asks about the target, and what it finds.
func compared(f Facts, server Stamp) (text string) {
	for range 3 {
		c := Compare(&f)
		switch {
		case c.Ask == AskServer:
			text += "server "
			f.Asked = true
			f.Server = server
			continue
		case c.Ask == AskDigest:
			text += "digest "
			f.Digest = Right
			if f.Mismatch != "" {
				f.Digest = Wrong
			}
			continue
		}
		if text != "" {
			text = text[:len(text)-1] + "; "
		}
		switch {
		case c.Missing:
			text += "missing"
		case c.Differs == nil:
			text += "same"
		default:
			text += fmt.Sprint("differs ", c.Differs)
		}
		if c.Untold != nil {
			text += fmt.Sprint(" untold ", c.Untold)
		}
		if c.Why != "" {
			text += ": " + c.Why
		}
		return text
	}
	return text + "does not end"
}
