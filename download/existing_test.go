package download

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/download/internal/sums"
)

// TestExisting checks what happens to a target and to a part that are there.
func TestExisting(t *testing.T) {
	for _, tt := range []struct {
		what    string
		before  map[string]string
		o       Options
		want    map[string]string
		err     error
		skipped bool
	}{
		{"new", nil, Options{}, map[string]string{"f": "new"}, nil, false},
		{"new, overwriting", nil, Options{Overwrite: true}, map[string]string{"f": "new"}, nil, false},
		{"new, skipping", nil, Options{Skip: true}, map[string]string{"f": "new"}, nil, false},
		{"refused", map[string]string{"f": "old"}, Options{}, map[string]string{"f": "old"}, fs.ErrExist, false},
		{"empty one refused", map[string]string{"f": ""}, Options{}, map[string]string{"f": ""}, fs.ErrExist, false},
		{"overwritten", map[string]string{"f": "old"}, Options{Overwrite: true}, map[string]string{"f": "new"}, nil, false},
		{"skipped", map[string]string{"f": "old"}, Options{Skip: true}, map[string]string{"f": "old"}, nil, true},
		{"left-over replaced", map[string]string{"f.ftpfetch.part": "half"}, Options{}, map[string]string{"f": "new"}, nil, false},
		{"empty left-over replaced", map[string]string{"f.ftpfetch.part": ""}, Options{}, map[string]string{"f": "new"}, nil, false},
	} {
		k := newKit(t, map[string]string{"/f": "new"})
		for name, text := range tt.before {
			k.write(name, text)
		}
		r, err := k.get("/f", tt.o)
		if !errors.Is(err, tt.err) || tt.err != nil && !errors.Is(err, ErrLocal) || (r.Left != "") != tt.skipped || err == nil && r.Size != 3 {
			t.Errorf("%s: got %+v, %v, want %v, skipped %v", tt.what, r, err, tt.err, tt.skipped)
		}
		if info, serr := os.Stat(k.path("f")); err == nil && r.Left == "" && (serr != nil || !info.ModTime().Equal(kitTime)) {
			t.Errorf("%s: the file has %v, %v, want the server's time", tt.what, info.ModTime(), serr)
		}
		k.want(tt.want)
	}
}

// TestAppears makes a file appear under the final name while the part is written.
func TestAppears(t *testing.T) {
	for _, tt := range []struct {
		o       Options
		want    string
		err     error
		skipped bool
	}{
		{Options{}, "theirs", fs.ErrExist, false},
		{Options{Newer: true}, "theirs", fs.ErrExist, false}, // it has not been compared
		{Options{Skip: true}, "theirs", nil, true},
		{Options{Overwrite: true}, body, nil, false},
	} {
		k := newKit(t, map[string]string{"/f": body})
		tt.o.Events = onProgress(func(int64, int64) { k.write("f", "theirs") })
		r, err := k.get("/f", tt.o)
		if !errors.Is(err, tt.err) || (r.Left != "") != tt.skipped {
			t.Errorf("%+v: got %+v, %v, want %v", tt.o, r, err, tt.err)
		}
		if got := read(t, k.path("f")); got != tt.want {
			t.Errorf("%+v: the file has %d bytes", tt.o, len(got))
		}
	}
}

// TestReplacedPart replaces the part by another program's file, or takes bytes from it, when all bytes are there.
func TestReplacedPart(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // an open file cannot be replaced there
	}
	for what, do := range map[string]func(part string) error{
		"another program replaced it: run the command again": func(part string) error {
			return errors.Join(os.Remove(part), os.WriteFile(part, []byte("theirs"), 0o644))
		},
		"holds 2 bytes, but 300000 were written: another program changed it": func(part string) error { return os.Truncate(part, 2) },
	} {
		k := newKit(t, map[string]string{"/f": body})
		src := arriving{k.c, func() {
			if err := do(k.path("f.ftpfetch.part")); err != nil {
				t.Error(err)
			}
		}}
		_, err := File(t.Context(), src, k.url("/f"), k.path("f"), nil)
		if !errors.Is(err, ErrLocal) || !strings.Contains(err.Error(), what) || k.exists("f") {
			t.Errorf("got %v, want %q", err, what)
		}
		if strings.HasPrefix(what, "was") && read(t, k.path("f.ftpfetch.part")) != "theirs" {
			t.Error("another program's part is gone")
		}
	}
}

// arriving is a Source that does something when all bytes are there.
type arriving struct {
	Source
	do func()
}

func (a arriving) Arrived()               { a.do() }
func (a arriving) Extra() Source          { return a.Source }
func (a arriving) Place() *partfile.Place { return nil }
func (a arriving) Lists() *sums.Cache     { return new(sums.Cache) }

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
