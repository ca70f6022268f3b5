package download

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// TestExisting checks what happens to an existing target and an existing part.
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
		{"new, overwriting", nil, Options{Existing: Overwrite}, map[string]string{"f": "new"}, nil, false},
		{"new, skipping", nil, Options{Existing: Skip}, map[string]string{"f": "new"}, nil, false},
		{"refused", map[string]string{"f": "old"}, Options{}, map[string]string{"f": "old"}, fs.ErrExist, false},
		{"empty one refused", map[string]string{"f": ""}, Options{}, map[string]string{"f": ""}, fs.ErrExist, false},
		{"overwritten", map[string]string{"f": "old"}, Options{Existing: Overwrite}, map[string]string{"f": "new"}, nil, false},
		{"skipped", map[string]string{"f": "old"}, Options{Existing: Skip}, map[string]string{"f": "old"}, nil, true},
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
		{Options{Existing: Newer}, "theirs", fs.ErrExist, false}, // the file has not been compared
		{Options{Existing: Skip}, "theirs", nil, true},
		{Options{Existing: Overwrite}, body, nil, false},
	} {
		k := newKit(t, map[string]string{"/f": body})
		tt.o.Events = onProgress(func(int64, int64) { k.write("f", "theirs") })
		if r, err := k.get("/f", tt.o); !errors.Is(err, tt.err) || (r.Left != "") != tt.skipped {
			t.Errorf("%+v: got %+v, %v, want %v", tt.o, r, err, tt.err)
		}
		if got := read(t, k.path("f")); got != tt.want {
			t.Errorf("%+v: the file has %d bytes", tt.o, len(got))
		}
	}
}

// TestReplacedPart replaces the complete part by another program's file, or truncates it.
func TestReplacedPart(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // Windows does not replace open files
	}
	for what, do := range map[string]func(part string) error{
		"another program replaced it: run the command again": func(part string) error {
			return errors.Join(os.Remove(part), os.WriteFile(part, []byte("theirs"), 0o644))
		},
		"holds 2 bytes, but 300000 were written: another program changed it": func(part string) error { return os.Truncate(part, 2) },
	} {
		k := newKit(t, map[string]string{"/f": body})
		place := must.Get(new(partfile.Group).Find(nil, k.path("f")))(t)
		f := newSingle(k.c, k.url("/f"), Options{})
		f.caller = arrival{f.caller, func() {
			if err := do(k.path("f.ftpfetch.part")); err != nil {
				t.Error(err)
			}
		}}
		_, err := save(t.Context(), place, func() *fetch { return f })
		place.Close(err != nil)
		if !errors.Is(err, ErrLocal) || !strings.Contains(err.Error(), what) || k.exists("f") {
			t.Errorf("got %v, want %q", err, what)
		}
		if strings.HasPrefix(what, "was") && read(t, k.path("f.ftpfetch.part")) != "theirs" {
			t.Error("another program's part is gone")
		}
	}
}

// TestNewer checks which targets Newer retrieves again. NewerOrContinue must continue a target that is shorter and no
// older.
func TestNewer(t *testing.T) {
	tests := []struct {
		what  string
		local string // "" means none
		time  time.Time
		fault failure
		path  string
		want  string // the target's contents at the end
		noted string
		how   Existing
		rests []string
	}{
		{"none", "", kitTime, nil, "/f", body, "", Newer, nil},
		{"same", body, kitTime, nil, "/f", body, "", Newer, nil},
		{"newer here", body, kitTime.Add(time.Hour), nil, "/f", body, "", Newer, nil},
		{"older here", strings.Repeat("x", len(body)), kitTime.Add(-time.Second), nil, "/f", body, "", Newer, nil},
		{"other size", body[1:], kitTime.Add(time.Hour), nil, "/f", body, "", Newer, nil},
		{"other size in ASCII type", "x", kitTime.Add(time.Hour), nil, "/f;type=a", "x", "", Newer, nil},
		{"no time", body, kitTime.Add(time.Hour), replies("MDTM", "502 What?"), "/f", body, "does not report the file's time", Newer, nil},
		{"no size", body[1:], kitTime, unsized("502 What?"), "/f", body[1:], "", Newer, nil},
		{"size refused", body[1:], kitTime, unsized("550 No"), "/f", body[1:], "", Newer, nil},
		{"both refused", body, kitTime.Add(time.Hour), noFacts, "/f", body, "does not report the file's time", Newer, nil},
		{"same, continued", body, kitTime, nil, "/f", body, "", NewerOrContinue, nil},
		{"half", body[:150_000], kitTime.Add(time.Hour), nil, "/f", body, "", NewerOrContinue, []string{"150000"}},
		{"half, older", strings.Repeat("x", 150_000), kitTime.Add(-time.Second), nil, "/f", body, "", NewerOrContinue, nil},
		{"too much", body + "x", kitTime.Add(time.Hour), nil, "/f", body, "", NewerOrContinue, nil},
		{"half, in ASCII type", body[:150_000], kitTime.Add(time.Hour), nil, "/f;type=a", body[:150_000], "", NewerOrContinue, nil},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			k := newKit(t, map[string]string{"/f": body})
			if tt.local != "" {
				k.write("f", tt.local)
				must.Do(t, os.Chtimes(k.path("f"), tt.time, tt.time))
			}
			k.faulty(tt.fault)
			r, err := k.get(tt.path, Options{Existing: tt.how})
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

// TestForeignFiles puts other programs' files beside the target, with names that look like a part's. No run may change
// them.
func TestForeignFiles(t *testing.T) {
	for _, o := range []Options{{}, {Existing: Overwrite}, {Existing: Continue}, {Existing: Newer}, {Sum: sum(t, "crc32:00000000")}, {checkpoint: time.Millisecond}} {
		k := newKit(t, map[string]string{"/f": body})
		theirs := map[string]string{}
		for _, name := range []string{"f.part", "f.part.json", "f.json", "f.bad", "f~", "ftpfetch.part"} {
			theirs[name] = "another program's bytes"
			k.write(name, theirs[name])
		}
		if _, err := k.get("/f", o); (err == nil) != (o.Sum.Algorithm == "") {
			t.Errorf("%+v: got %v", o, err)
		}
		must.Do(t, os.Remove(k.path(map[bool]string{true: "f", false: "f.ftpfetch.bad"}[o.Sum.Algorithm == ""])))
		k.want(theirs)
	}
}

// TestLinksInTheWay puts a link at each name that a run uses. No run may change the link's target.
func TestLinksInTheWay(t *testing.T) {
	for name, wrong := range map[string]bool{"f.ftpfetch.part": true, "f.ftpfetch.json": true, "f.ftpfetch.next": false, "f.ftpfetch.bad": false} {
		for _, o := range []Options{{}, {Sum: sum(t, "crc32:00000000")}} {
			k := newKit(t, map[string]string{"/f": body})
			k.write("aim", "theirs")
			must.Do(t, os.Symlink("aim", k.path(name)))
			k.faulty(cut(1, 100_000))
			o.Retries = -1
			if _, err := k.get("/f", o); errors.Is(err, ErrLocal) != wrong {
				t.Errorf("%s: got %v", name, err)
			}
			k.faulty(nil)
			if _, err := k.get("/f", o); errors.Is(err, ErrLocal) != wrong || read(t, k.path("aim")) != "theirs" {
				t.Errorf("%s: then %v, and the aim holds %.10q", name, err, read(t, k.path("aim")))
			}
		}
	}
}

// TestLinkedPart gives the part a second name, as a run leaves it that is killed between link and unlink, and then
// moves that file away. The next run must not write to it.
func TestLinkedPart(t *testing.T) {
	for _, archived := range []string{body, ""} {
		k := newKit(t, map[string]string{"/f": "new"})
		k.write("archived", archived)
		must.Do(t, os.Link(k.path("archived"), k.path(k.part)))
		k.write(k.json, k.journal("/f", 300_000, kitTime, span{0, int64(len(archived))}))
		if _, err := k.get("/f", Options{}); err != nil {
			t.Errorf("got %v", err)
		}
		k.want(map[string]string{"f": "new", "archived": archived})
	}
}

// TestContinueLinked checks that Continue does not change the file that shares its data with the target by a hard link,
// as snapshots do.
func TestContinueLinked(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	k.write("f", body[:1000])
	must.Do(t, os.Link(k.path("f"), k.path("snapshot")))
	must.Get(k.get("/f", Options{Existing: Continue}))(t)
	k.want(map[string]string{"f": body, "snapshot": body[:1000]})
}

// TestAdoptedKept checks that a later run that cannot resume from the bytes copied by Continue drops them only if the
// options say so.
func TestAdoptedKept(t *testing.T) {
	tests := []struct {
		what string
		do   func(*kit)
		path string
	}{
		{"no REST", func(k *kit) { k.faulty(replies("REST", "502 no")) }, "/f"},
		{"another time", func(k *kit) { k.change("/f", body, kitTime.Add(time.Hour)) }, "/f"},
		{"another size", func(k *kit) { k.change("/f", body+"x", kitTime) }, "/f"},
		{"another URL", func(*kit) {}, "/g"},
		{"ASCII type", func(*kit) {}, "/f;type=a"},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			k := newKit(t, map[string]string{"/f": body, "/g": "gg"})
			k.write("f", body[:50_000])
			k.faulty(cut(1, overlapSize+1))
			r, err := k.get("/f", Options{Existing: Continue, Retries: -1})
			if err == nil || r.Kept != 50_001 {
				t.Errorf("cut: %+v, %v", r, err)
			}
			k.faulty(nil)
			tt.do(k)
			for _, o := range []Options{{Existing: Continue}, {}, {Segments: 2}} {
				want := fs.ErrExist
				if o.Existing == Continue {
					want = ErrResume
				}
				if _, err := k.get(tt.path, o); !errors.Is(err, want) || read(t, k.path("f")) != body[:50_000] {
					t.Errorf("%+v: got %v, want %v", o, err, want)
				}
				if got := read(t, k.path("f.ftpfetch.part")); !strings.HasPrefix(got, body[:50_001]) {
					t.Errorf("%+v: the part lost bytes", o)
				}
			}
			if _, err := k.get(tt.path, Options{Existing: Overwrite}); err != nil || !k.exists("f") {
				t.Errorf("overwriting: %v", err)
			}
		})
	}
}

// TestGivenUpLate checks that a run drops the bytes of a part only once the server has opened the transfer that
// replaces them.
func TestGivenUpLate(t *testing.T) {
	tests := []struct {
		what string
		path string
		o    Options
		rest string // the reply to REST
	}{
		{"no REST", "/f", Options{}, "502 no"},
		{"not wanted", "/f", Options{NoResume: true}, ""},
		{"another URL", "/g", Options{}, ""},
	}
	for _, tt := range tests {
		k := newKit(t, map[string]string{"/f": body, "/g": "gg"})
		k.leaves("/f", 100_000)
		journal := read(t, k.path("f.ftpfetch.json"))
		rest, retr := replies("REST", tt.rest), replies("RETR", "550 no")
		k.faulty(func(p *testserver.Conn) testserver.Action {
			if tt.rest != "" && p.Verb == "REST" {
				return rest(p)
			}
			return retr(p)
		})
		tt.o.checkpoint = time.Millisecond
		if _, err := k.get(tt.path, tt.o); err == nil {
			t.Errorf("%s: no error", tt.what)
		}
		k.want(map[string]string{"f.ftpfetch.part": body[:100_000], "f.ftpfetch.json": journal})
		k.faulty(nil)
		if r, err := k.get("/f", Options{}); err != nil || r.Resumed != 100_000 {
			t.Errorf("%s: then %+v, %v", tt.what, r, err)
		}
	}
}

// TestSumOfLaterVersion feeds bytes of an earlier version to the digest before several connections fetch the later
// version.
func TestSumOfLaterVersion(t *testing.T) {
	fresh := noise(3<<20, 2)
	k := newKit(t, map[string]string{"/f": noise(1<<20, 1)})
	k.faulty(cut(1, 300_000))
	o := &Options{Segments: 2, Sum: sum(t, "sha256:"+sha256Of(fresh))}
	waiting(t, func(context.Context, time.Duration) error {
		k.change("/f", fresh, kitTime.Add(time.Hour))
		return nil
	})
	must.Get(File(t.Context(), k.c, k.url("/f"), k.path("f"), o))(t)
	k.want(map[string]string{"f": fresh})
}
