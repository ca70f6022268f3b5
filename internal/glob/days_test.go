package glob_test

import (
	"fmt"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/glob"
)

// days has how many names there are for a range of dates, the first and the last; or "!" and a part of the error.
var days = map[string]string{
	"x_{2026-11-01..2026-11-26}.csv":  "26 x_2026-11-01.csv x_2026-11-26.csv",
	"{20261101..20261126}":            "26 20261101 20261126",
	"{2026_11_01..2026_11_26}":        "26 2026_11_01 2026_11_26",
	"{2026.11.01..2026.11.26}":        "26 2026.11.01 2026.11.26",
	"{2026-11-26..2026-11-26}":        "1 2026-11-26 2026-11-26",
	"{2024-02-27..2024-03-02}":        "5 2024-02-27 2024-03-02", // a leap year
	"{2023-02-27..2023-03-02}":        "4 2023-02-27 2023-03-02",
	"{1900-02-28..1900-03-01}":        "2 1900-02-28 1900-03-01",
	"{2000-02-28..2000-03-01}":        "3 2000-02-28 2000-03-01",
	"{2026-04-29..2026-05-02}":        "4 2026-04-29 2026-05-02",
	"{20251230..20260102}":            "4 20251230 20260102",
	"{2026-03-28..2026-03-30}":        "3 2026-03-28 2026-03-30", // the clocks of Europe change
	"{2026-01-01..2026-12-31}":        "365 2026-01-01 2026-12-31",
	"{2026-11-01..2026-11-26..7}":     "4 2026-11-01 2026-11-22",
	"{20261101..20261103..2}":         "2 20261101 20261103",
	"{2026-01..2026-11}":              "11 2026-01 2026-11",
	"{2025-11..2026-02}.gz":           "4 2025-11.gz 2026-02.gz",
	"{2026-01..2026-12..3}":           "4 2026-01 2026-10",
	"{2026-11-01..2026-11-02}/{a,b}":  "4 2026-11-01/a 2026-11-02/b",
	"{2026-11-01..2026-11-02}_[1-3]":  "6 2026-11-01_1 2026-11-02_3",
	"{1800-01-01..2073-10-15}":        "100000 1800-01-01 2073-10-15",
	"{18000101..18000102}":            "2 18000101 18000102",
	"{1800-01-01..2073-10-16}":        "!stands for more than 100000 names",
	"{0001-01-01..9999-12-31}":        "!stands for more than 100000 names",
	"{2026-01-01..2026-12-31}[1-999]": "!stands for more than 100000 names",
	"{2026-11-01..2026-11-31}":        "!there is no 2026-11-31",
	"{2026-02-29..2026-03-01}":        "!there is no 2026-02-29",
	"{2026-00-01..2026-01-01}":        "!there is no 2026-00-01",
	"{2026-13..2027-01}":              "!there is no 2026-13",
	"{2026-11-26..2026-11-01}":        "!is none: write {2026-11-01..2026-11-26}",
	"{2026-11..2026-01}":              "!is none: write {2026-01..2026-11}",
	"{2026-11-01..2026-11-26..0}":     "!no step",
	"{2026-11-01..2026-11-26..x}":     "!no step",
	"{2026-11-01..2026-11-26..-1}":    "!no step",
	"{2026-11-01..2026-11-26..}":      "!no step",
	"{20261101..20261131}":            "!write [20261101-20261131]", // numbers, as it seems
	"{12345678..12345690}":            "!write [12345678-12345690]",
	"{10000101..10000131}":            "!write [10000101-10000131]", // a date of no file on a server
	"{1..9..2}":                       "!write [1-9:2]",
	"{01..12}":                        "!write [01-12]",
	"{2020..2026}":                    "!write [2020-2026]",
	"{a..e}":                          "!write [a-e]",
	"{a..e..2}":                       "!no list: write {a,b}, [1-20], or days",
	"{2026-11-01..20261126}":          "!no list: write {a,b}, [1-20], or days",
	"{..}":                            "!no list: write {a,b}, [1-20], or days",
	"{..2026-11-26}":                  "!no list: write {a,b}, [1-20], or days",
	"{2026-11-1..2026-11-26}":         "!no list: write {a,b}, [1-20], or days",
	"{2026-11-01...2026-11-26}":       "!no list: write {a,b}, [1-20], or days",
	"[2026-11-01-2026-11-26].csv":     "!write {2026-11-01..2026-11-26}",
	"[2026-11-01..2026-11-26].csv":    "!write {2026-11-01..2026-11-26}",
	"[2026-01-2026-11]":               "!write {2026-01..2026-11}",
	"*[2026_11_01-2026_11_26]":        "!write {2026_11_01..2026_11_26}",
}

// TestDays expands ranges of dates.
func TestDays(t *testing.T) {
	for text, want := range days {
		choices, err := glob.Choices("ftp://h/" + text)
		got := ""
		if after, bad := strings.CutPrefix(want, "!"); bad {
			if err == nil || !strings.Contains(err.Error(), after) {
				t.Errorf("%s: %v, want %q", text, err, after)
			}
			continue
		}
		if err == nil {
			name := func(i int) string { return strings.TrimPrefix(choices[i].URL, "ftp://h/") }
			got = fmt.Sprint(len(choices), " ", name(0), " ", name(len(choices)-1))
		}
		if err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
	dated, err := glob.Choices("ftp://h/*_{2026-02-27..2026-03-01}.csv")
	want := "*_{2026-02-27,2026-02-28,2026-03-01}.csv"
	if err != nil || len(dated) != 1 || dated[0].Pattern != want {
		t.Errorf("in a pattern: %+v, %v; want %s", dated, err, want)
	}
}

// TestListed expands URLs of which a listing shows what exists. A row has the URL and the pattern.
func TestPattern(t *testing.T) {
	for text, want := range map[string]string{
		"d/x_{2026-02-28..2026-03-01}.csv": "d/ x_{2026-02-28,2026-03-01}.csv", "{a,b}/*.gz": " {a,b}/*.gz", "d/[1-3]": "d/ [1-3]",
		"d/[08-10]/f": "d/ {08,09,10}/f", "d/{a,b}/": "d/ {a,b}", "d/f": "d/f ", "d/*": "d/ *", "*/{a,b}": " */{a,b}", "d/": "d/ ",
		"{9..1}": "!write [9-1]", "d/[5-1]": "!is none",
	} {
		c, err := glob.Pattern("ftp://h/" + text)
		got := strings.TrimPrefix(c.URL, "ftp://h/") + " " + c.Pattern
		if after, bad := strings.CutPrefix(want, "!"); bad && (err == nil || !strings.Contains(err.Error(), after)) || !bad && (err != nil || got != want) {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
}
