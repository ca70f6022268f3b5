package config

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/internal/testkit/must"
)

// TestTimes reads the values of --newer-than and --min-age, which mean the same moment at a look: what is newer, or
// what is not older.
func TestTimes(t *testing.T) {
	t.Chdir(t.TempDir())
	written := time.Date(2026, 11, 20, 10, 11, 12, 0, time.UTC)
	for _, name := range []string{"stamp", "today"} {
		must.Do(t, os.WriteFile(name, nil, 0o600))
		must.Do(t, os.Chtimes(name, written, written))
	}
	// a time at which it is another day in most of the world
	now := time.Date(2026, 3, 1, 0, 30, 0, 0, time.FixedZone("west", -10*60*60))
	for _, tt := range []struct{ value, want string }{
		{"today", "2026-03-01T00:00:00Z"}, {"yesterday", "2026-02-28T00:00:00Z"},
		{"7d", "2026-02-22T10:30:00Z"}, {"1h", "2026-03-01T09:30:00Z"}, {"90", "2026-03-01T10:28:30Z"},
		{"2w", "2026-02-15T10:30:00Z"}, {"2 weeks ago", "2026-02-15T10:30:00Z"}, {"1 day", "2026-02-28T10:30:00Z"},
		{"3 hours ago", "2026-03-01T07:30:00Z"}, {"10minutes", "2026-03-01T10:20:00Z"}, {"0 days ago", ""}, {"2 months ago", ""},
		{"0.5d", "2026-02-28T22:30:00Z"}, {"2026-11-01", "2026-11-01T00:00:00Z"}, {"2024-02-29", "2024-02-29T00:00:00Z"},
		{"2026-11-01T12:30", "2026-11-01T12:30:00Z"}, {"2026-11-01T12:30:15", "2026-11-01T12:30:15Z"},
		{"2026-11-01 12:30", "2026-11-01T12:30:00Z"}, {"2026-11-01 12:30:15", "2026-11-01T12:30:15Z"},
		{"2026-11-01T12:30:15Z", "2026-11-01T12:30:15Z"}, {"2026-11-01T12:30:15+02:00", "2026-11-01T10:30:15Z"},
		{"stamp", "2026-11-20T10:11:12Z"}, {"./today", "2026-11-20T10:11:12Z"},
		{"2026-02-29", ""}, {"tomorrow", ""}, {"Today", ""}, {"", ""}, {"-1h", ""}, {"0", ""}, {"2026-11", ""}, {"none", ""},
	} {
		for _, flag := range []string{"--newer-than", "--min-age"} {
			c, err := Parse([]string{"-r", flag, tt.value, "ftp://h/d/"})
			if tt.want == "" {
				if err == nil || !strings.Contains(err.Error(), "write a time such as 1h, 7d, today, yesterday, 2026-11-28") {
					t.Errorf("%s %q: %v", flag, tt.value, err)
				}
				continue
			}
			f := c.FilterAt(now)
			got := f.NewerThan
			if flag == "--min-age" {
				got = f.OlderThan
				if f.MinAge > 0 {
					got = now.Add(-f.MinAge)
				}
			}
			if text := got.UTC().Format(time.RFC3339); err != nil || text != tt.want {
				t.Errorf("%s %q: %s, %v; want %s", flag, tt.value, text, err, tt.want)
			}
		}
	}
	// Of two values, the last counts.
	c := must.Get(Parse(strings.Fields("-r --newer-than today --newer-than 1h --min-age 7d --min-age yesterday ftp://h/d/")))(t)
	got := fmt.Sprintln(c.FilterAt(now).NewerThan.UTC(), c.FilterAt(now).OlderThan, c.MinAge)
	if want := "2026-03-01 09:30:00 +0000 UTC 2026-02-28 00:00:00 +0000 UTC 0s\n"; got != want {
		t.Errorf("repeated: %s, want %s", got, want)
	}
	// A word means another day at another look.
	c = must.Get(Parse(strings.Fields("-r --newer-than today --watch 1h ftp://h/d/")))(t)
	if got := c.FilterAt(now.Add(24 * time.Hour)).NewerThan; got.Day() != 2 {
		t.Errorf("a day later, today is %v", got)
	}
}

// TestDaysAreNoSeconds checks that eight digits of a day are not taken for seconds.
func TestDaysAreNoSeconds(t *testing.T) {
	for value, want := range map[string]string{
		"20261127": "write 2026-11-27 for the day, or 20261127s", "20260229": "", "2026112": "", "20261127s": "",
	} {
		_, err := Parse([]string{"-r", "--newer-than", value, "ftp://h/d/"})
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", value, err, want)
		}
	}
}
