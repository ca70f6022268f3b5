package mirror_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ftpfetch/cmd/internal/mirror"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// TestDaysWithoutYear lists files from two years ago to two years ahead on a server that has only LIST, and writes the
// year only of days more than half a year ago, as four of five servers do. Every source agrees with MDTM, whatever asks.
func TestDaysWithoutYear(t *testing.T) {
	n := 0
	synctest.Test(t, func(t *testing.T) {
		now := time.Now().UTC().Truncate(time.Minute)
		var list strings.Builder
		at := map[string]time.Time{}
		for days := -730; days <= 300; days += 5 {
			when := now.AddDate(0, 0, days)
			if days > 180 { // the last such day is so near that nothing shows it
				continue
			}
			form := "Jan _2 15:04"
			if days < -180 {
				form = "Jan _2  2006"
			}
			name := fmt.Sprintf("f%04d", days+1000)
			at[name] = when
			fmt.Fprintf(&list, "-rw-r--r--   1 ftp ftp  3 %s %s\r\n", when.Format(form), name)
		}
		network := ftptest.NewNetwork()
		mdtm := testserver.On("MDTM", func(c *testserver.Conn) error {
			return testserver.Reply("213 " + at[c.Arg].Format("20060102150405"))(c)
		})
		s := network.NewScript(t, testserver.Honest("abc"), testserver.On("MLSD", testserver.Reply("500 What?")),
			testserver.On("LIST", testserver.Transfer(list.String())), mdtm)
		c := &ftpexec.Client{Dial: network.Dial}
		defer c.CloseIdleConnections()
		u := must.Get(urlparse.Parse(s.URL("/d/")))(t)
		for _, tt := range []struct {
			*mirror.Source
			wants func(time.Time) bool
		}{
			{&mirror.Source{Dates: true}, func(time.Time) bool { return true }},
			{&mirror.Source{Filter: mirror.Filter{NewerThan: now.Add(-time.Hour)}}, func(at time.Time) bool { return !at.Before(now.Add(-time.Hour)) }},
			{&mirror.Source{Filter: mirror.Filter{MinAge: 24 * time.Hour}}, func(at time.Time) bool { return now.Sub(at) >= 24*time.Hour }},
		} {
			tt.FullSource = c
			var got, want []string
			for e, err := range tt.Source.Entries(t.Context(), u) {
				must.Do(t, err)
				got = append(got, e.Name)
				if when := at[e.Name]; e.YearGuessed || e.ModTime.Sub(when).Abs() > 24*time.Hour {
					t.Errorf("%s: got %s, want %s", e.Name, e.ModTime, when)
				}
				n++
			}
			for name, when := range at {
				if tt.wants(when) {
					want = append(want, name)
				}
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%+v: got %q, want %q", tt.Filter, got, want)
			}
		}
		asked := 0
		for _, line := range s.Commands() {
			if strings.HasPrefix(line, "MDTM") {
				asked++
			}
		}
		if asked > 3*60 { // only those whose year or day is open
			t.Errorf("%d files were asked about", asked)
		}
	})
	t.Logf("%d entries", n)
}
