package newest_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"example.com/ftpfetch/download/internal/newest"
	"example.com/ftpfetch/ftpexec"
)

var base = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// told returns what a listing tells about a file that changed at a time.
func told(at time.Time, unit time.Duration, zone time.Duration) *ftpexec.Entry {
	local := at.Add(zone)
	return &ftpexec.Entry{ModTime: local.Truncate(unit), Precision: unit, Local: zone != 0}
}

// TestPlaces has a row for each kind of listing. A place is written N, P, V or C.
func TestPlaces(t *testing.T) {
	minute := func(m int) *ftpexec.Entry {
		return &ftpexec.Entry{ModTime: base.Add(time.Duration(m) * time.Minute), Precision: time.Minute, Local: true}
	}
	second := func(s int) *ftpexec.Entry {
		return &ftpexec.Entry{ModTime: base.Add(time.Duration(s) * time.Second), Precision: time.Second}
	}
	day := func(d int) *ftpexec.Entry {
		return &ftpexec.Entry{ModTime: base.AddDate(0, 0, d), Precision: 24 * time.Hour, Local: true}
	}
	guessed := &ftpexec.Entry{ModTime: base.AddDate(0, 0, -200), Precision: time.Minute, Local: true, YearGuessed: true}
	unknown := &ftpexec.Entry{Size: -1}
	for _, tt := range []struct {
		name    string
		entries []*ftpexec.Entry
		n       int
		want    string
	}{
		{"none", nil, 1, ""},
		{"fewer", []*ftpexec.Entry{unknown, minute(0)}, 2, "CC"},
		{"seconds", []*ftpexec.Entry{second(1), second(3), second(2)}, 1, "NCN"},
		{"seconds", []*ftpexec.Entry{second(1), second(3), second(2)}, 2, "NCC"},
		{"the same second", []*ftpexec.Entry{second(1), second(1), second(0)}, 1, "PPN"},
		{"the same second, with room", []*ftpexec.Entry{second(1), second(1), second(0)}, 2, "CCN"},
		{"minutes", []*ftpexec.Entry{minute(0), minute(1)}, 1, "NC"},
		{"the same minute", []*ftpexec.Entry{minute(1), minute(1), minute(0)}, 1, "VVN"},
		{"a border", []*ftpexec.Entry{minute(2), minute(1), minute(1), minute(0)}, 2, "CVVN"},
		{"behind the border", []*ftpexec.Entry{minute(2), minute(1), minute(1), minute(0)}, 3, "CCCN"},
		{"a day and minutes", []*ftpexec.Entry{day(0), minute(3), minute(2), day(-1)}, 1, "VVNN"},
		{"seconds and minutes of one clock", []*ftpexec.Entry{{ModTime: base.Add(30 * time.Second), Precision: time.Second, Local: true}, minute(0), minute(-1)}, 1, "PVN"},
		{"local and UTC", []*ftpexec.Entry{minute(0), second(60 * 60)}, 1, "VP"},
		{"local and UTC, far apart", []*ftpexec.Entry{day(-2), second(0)}, 1, "NC"},
		{"an unknown time", []*ftpexec.Entry{unknown, minute(0)}, 1, "VV"},
		{"perhaps to come", []*ftpexec.Entry{guessed, minute(0)}, 1, "VV"},
		{"exact, and an unknown time", []*ftpexec.Entry{unknown, second(0), second(-1)}, 1, "VPN"},
	} {
		got := ""
		for _, p := range newest.Places(tt.entries, tt.n) {
			got += "NPVC"[p : p+1]
		}
		if got != tt.want {
			t.Errorf("%s, %d: %s, want %s", tt.name, tt.n, got, tt.want)
		}
	}
}

// TestAgainstTruth makes random files and the listing of a server with rough times in some zone. Once the times of the
// Vague files are known, the chosen files must be the newest, and no other time may be asked for.
func TestAgainstTruth(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	units := []time.Duration{time.Second, time.Minute, time.Minute, 24 * time.Hour}
	asked := 0
	const runs = 3000
	for run := range runs {
		zone := time.Duration(r.IntN(27)-13) * time.Hour
		unit := units[r.IntN(len(units))]
		truth := make([]time.Time, 1+r.IntN(12))
		entries := make([]*ftpexec.Entry, len(truth))
		spread := []int{3, 200, 20000, 500000}[r.IntN(4)]
		for i := range truth {
			truth[i] = base.Add(time.Duration(r.IntN(spread)) * time.Second)
			entries[i] = told(truth[i], unit, zone)
			if unit == 24*time.Hour && r.IntN(3) == 0 { // servers write the minute of some
				entries[i] = told(truth[i], time.Minute, zone)
			}
		}
		n := 1 + r.IntN(len(truth)+1)
		order := make([]int, len(truth))
		for i := range order {
			order[i] = i
		}
		newer := func(i, j int) int { return truth[j].Compare(truth[i]) }
		slices.SortStableFunc(order, newer)
		want := order[:min(n, len(order))]
		var got, rest []int
		for i, p := range newest.Places(entries, n) {
			switch p {
			case newest.Certain:
				got = append(got, i)
			case newest.Vague:
				asked++
				fallthrough
			case newest.Possible:
				rest = append(rest, i)
			}
		}
		slices.SortStableFunc(rest, newer)
		got = append(got, rest[:min(n-len(got), len(rest))]...)
		slices.Sort(got)
		want = slices.Sorted(slices.Values(want))
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("run %d, %d of %v in units of %v: %v, want %v", run, n, truth, unit, got, want)
		}
	}
	if asked == 0 || asked > 6*runs {
		t.Errorf("%d times were asked for", asked)
	}
}
