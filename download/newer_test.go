package download

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestNewer checks which targets are retrieved again. With Continue too, one that is shorter and no older is continued.
func TestNewer(t *testing.T) {
	tests := []struct {
		what  string
		local string // "" means none
		time  time.Time
		fault failure
		path  string
		want  string // what the target holds in the end
		noted string
		also  bool // with Continue
		rests []string
	}{
		{"none", "", kitTime, nil, "/f", body, "", false, nil},
		{"same", body, kitTime, nil, "/f", body, "", false, nil},
		{"newer here", body, kitTime.Add(time.Hour), nil, "/f", body, "", false, nil},
		{"older here", strings.Repeat("x", len(body)), kitTime.Add(-time.Second), nil, "/f", body, "", false, nil},
		{"other size", body[1:], kitTime.Add(time.Hour), nil, "/f", body, "", false, nil},
		{"other size in ASCII type", "x", kitTime.Add(time.Hour), nil, "/f;type=a", "x", "", false, nil},
		{"no time", body, kitTime.Add(time.Hour), replies("MDTM", "502 What?"), "/f", body, "does not report the file's time", false, nil},
		{"no size", body[1:], kitTime, replies("SIZE", "502 What?"), "/f", body[1:], "", false, nil},
		{"size refused", body[1:], kitTime, replies("SIZE", "550 No"), "/f", body[1:], "", false, nil},
		{"both refused", body, kitTime.Add(time.Hour), noFacts, "/f", body, "does not report the file's time", false, nil},
		{"same, continued", body, kitTime, nil, "/f", body, "", true, nil},
		{"half", body[:150_000], kitTime.Add(time.Hour), nil, "/f", body, "", true, []string{"150000"}},
		{"half, older", strings.Repeat("x", 150_000), kitTime.Add(-time.Second), nil, "/f", body, "", true, nil},
		{"too much", body + "x", kitTime.Add(time.Hour), nil, "/f", body, "", true, nil},
		{"half, in ASCII type", body[:150_000], kitTime.Add(time.Hour), nil, "/f;type=a", body[:150_000], "", true, nil},
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
			r, err := k.get(tt.path, Options{Newer: true, Continue: tt.also})
			if err != nil || (r.Left != "") != (tt.local == tt.want && tt.noted == "") || tt.noted != "" && !k.told(Noted, tt.noted) {
				t.Errorf("got %+v, %v, events %v", r, err, k.events)
			}
			k.want(map[string]string{"f": tt.want})
			if got := k.rests(); !slices.Equal(got, tt.rests) {
				t.Errorf("the run resumed at %q, want %q", got, tt.rests)
			}
		})
	}
}
