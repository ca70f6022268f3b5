package download

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/testserver"
)

func TestNewer(t *testing.T) {
	tests := []struct {
		what   string
		local  string // "" means none
		time   time.Time
		fault  func(*testserver.Conn) testserver.Action
		path   string
		skip   bool
		noted  string
		asking int // MDTM commands
	}{
		{"none", "", kitTime, nil, "/f", false, "", 1},
		{"same", body, kitTime, nil, "/f", true, "", 1},
		{"newer here", body, kitTime.Add(time.Hour), nil, "/f", true, "", 1},
		{"older here", body, kitTime.Add(-time.Second), nil, "/f", false, "", 2},
		{"other size", body[1:], kitTime.Add(time.Hour), nil, "/f", false, "", 2},
		{"other size in ASCII type", "x", kitTime.Add(time.Hour), nil, "/f;type=a", true, "", 1},
		{"no time", body, kitTime.Add(time.Hour), replies("MDTM", "502 What?"), "/f", false, "does not report the file's time", 2},
		{"no size", body[1:], kitTime, replies("SIZE", "502 What?"), "/f", true, "", 1},
		{"size refused", body[1:], kitTime, replies("SIZE", "550 No"), "/f", true, "", 1},
		{"both refused", body, kitTime.Add(time.Hour), noFacts, "/f", false, "does not report the file's time", 2},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			k := newKit(t, map[string]string{"/f": body})
			if tt.local != "" {
				k.write("f", tt.local)
				if err := os.Chtimes(k.path("f"), tt.time, tt.time); err != nil {
					t.Fatal(err)
				}
			}
			k.faulty(tt.fault)
			r, err := k.get(tt.path, Options{Newer: true})
			if err != nil || (r.Left != "") != tt.skip || tt.noted != "" && !k.told(Noted, tt.noted) {
				t.Errorf("got %+v, %v, events %v", r, err, k.events)
			}
			if tt.skip {
				k.want(map[string]string{"f": tt.local})
			} else {
				k.want(map[string]string{"f": body})
			}
		})
	}
}

// TestNewerContinue runs with both: only a target that is shorter and no older is
// continued.
func TestNewerContinue(t *testing.T) {
	half, other := body[:150_000], strings.Repeat("x", 150_000)
	tests := []struct {
		what, local string
		time        time.Time
		path        string
		want        string // what the target holds in the end
		rests       []string
	}{
		{"same", body, kitTime, "/f", body, nil},
		{"half", half, kitTime.Add(time.Hour), "/f", body, []string{"150000"}},
		{"half, older", other, kitTime.Add(-time.Second), "/f", body, nil},
		{"too much", body + "x", kitTime.Add(time.Hour), "/f", body, nil},
		{"in ASCII type", half, kitTime.Add(time.Hour), "/f;type=a", half, nil},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			k := newKit(t, map[string]string{"/f": body})
			k.write("f", tt.local)
			if err := os.Chtimes(k.path("f"), tt.time, tt.time); err != nil {
				t.Fatal(err)
			}
			r, err := k.get(tt.path, Options{Newer: true, Continue: true})
			if err != nil || (r.Left != "") != (tt.local == tt.want) {
				t.Errorf("got %+v, %v", r, err)
			}
			k.want(map[string]string{"f": tt.want})
			if got := k.rests(); !slices.Equal(got, tt.rests) {
				t.Errorf("the run resumed at %q, want %q", got, tt.rests)
			}
		})
	}
}
