package download

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/internal/localfile"
	"example.com/ftpfetch/internal/rules/must"
	"example.com/ftpfetch/testserver"
)

// TestForeignFiles puts other programs' files under the names of a download's files. None of them may change.
func TestForeignFiles(t *testing.T) {
	theirs := "another program's bytes"
	pair := map[string]string{"f.part": theirs, "f.part.json": `{"another":"program"}`}
	tests := []struct {
		what   string
		before map[string]string
		o      Options
		err    error
	}{
		{"a data file under the journal's name", map[string]string{"f.part.json": theirs}, Options{}, partfile.ErrForeign},
		{"JSON with a version", map[string]string{"f.part.json": `{"version":1,"entries":[]}`}, Options{}, partfile.ErrForeign},
		{"a backup of it", map[string]string{"f.part.json~": theirs}, Options{}, partfile.ErrForeign},
		{"a pair", pair, Options{}, partfile.ErrForeign},
		{"a pair, overwriting", pair, Options{Overwrite: true}, partfile.ErrForeign},
		{"a pair, continuing", pair, Options{Continue: true}, partfile.ErrForeign},
		{"a journal's name, continuing", map[string]string{"f": body[:1000], "f.part.json": theirs}, Options{Continue: true}, partfile.ErrForeign},
		{"a part, with Newer", map[string]string{"f.part": theirs}, Options{Newer: true}, localfile.ErrPart},
		{"a part and an old file, with Newer", map[string]string{"f": "old", "f.part": theirs}, Options{Newer: true}, localfile.ErrPart},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			k := newKit(t, map[string]string{"/f": body})
			for name, text := range tt.before {
				k.write(name, text)
			}
			if _, err := k.get("/f", tt.o); !errors.Is(err, tt.err) {
				t.Errorf("got %v, want %v", err, tt.err)
			}
			k.want(tt.before)
		})
	}
}

// TestFreshJournalOfMany puts a file where the first journal of one of many files is to be written. A stranger's stays;
// one that a killed run has left goes with the part.
func TestFreshJournalOfMany(t *testing.T) {
	for text, wrong := range map[string]error{"another program's bytes": partfile.ErrForeign, `{"ftpfetch":3,"ur`: nil} {
		k := newKit(t, map[string]string{"/f": body})
		k.among()
		k.write(k.part+".json~", text)
		want := map[string]string{"f": body}
		if wrong != nil {
			want = map[string]string{k.part + ".json~": text}
		}
		if _, err := k.get("/f", Options{checkpoint: time.Millisecond}); !errors.Is(err, wrong) {
			t.Errorf("%s: got %v, want %v", text, err, wrong)
		}
		k.want(want)
	}
	k := newKit(t, map[string]string{"/f": body})
	must.Do(t, os.Symlink("nowhere", k.path("f.part.json~")))
	if _, err := k.get("/f", Options{checkpoint: time.Millisecond}); !errors.Is(err, ErrLocal) || k.exists("f") {
		t.Errorf("a link: %v", err)
	}
}

// TestForeignPartBesideJournal replaces the part by another program's file of any length. The journal must not count for
// it, whatever the flags.
func TestForeignPartBesideJournal(t *testing.T) {
	for _, theirs := range []string{"short", noise(150_000, 9)} {
		for _, o := range []Options{{}, {NoResume: true}, {Newer: true}, {Skip: true}, {Segments: 2}} {
			k := newKit(t, map[string]string{"/f": body, "/g": "gg"})
			k.leaves("/f", 100_000)
			k.write("theirs", theirs) // before f.part is gone: its inode number is not used again
			if err := os.Rename(k.path("theirs"), k.path("f.part")); err != nil {
				t.Fatal(err)
			}
			for _, path := range []string{"/f", "/g", "/f;type=a"} {
				if _, err := k.get(path, o); !errors.Is(err, localfile.ErrPart) || read(t, k.path("f.part")) != theirs {
					t.Errorf("%s, %+v: got %v", path, o, err)
				}
			}
		}
	}
}

// TestLinkedPart kills a run between the two steps that give a file its name, and moves the file away. The next run must
// not write to it.
func TestLinkedPart(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	k.write("archived", body)
	must.Do(t, os.Link(k.path("archived"), k.path("f.part")))
	k.write("f.part.json", k.journal("/f", 300_000, kitTime, span{0, 300_000}))
	k.change("/f", "new", kitTime.Add(time.Hour))
	if _, err := k.get("/f", Options{}); err != nil || !k.told(Noted, "other names") {
		t.Errorf("got %v, events %v", err, k.events)
	}
	k.want(map[string]string{"f": "new", "archived": body})
}

// TestContinueLinked checks that a second name of a file, as snapshots give it, keeps its bytes: a target is copied, a
// part is refused.
func TestContinueLinked(t *testing.T) {
	for name, want := range map[string]error{"f": nil, "f.part": ErrResume} {
		k := newKit(t, map[string]string{"/f": body})
		k.write(name, body[:1000])
		must.Do(t, os.Link(k.path(name), k.path("snapshot")))
		if _, err := k.get("/f", Options{Continue: true}); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", name, err, want)
		}
		if got := read(t, k.path("snapshot")); got != body[:1000] {
			t.Errorf("%s: the other name has %d bytes", name, len(got))
		}
	}
}

// TestAdoptedKept checks that a later run that cannot resume from the bytes that Continue took gives them up only on
// request.
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
			k.faulty(cut(1, lapSize+1))
			r, err := k.get("/f", Options{Continue: true, Retries: -1})
			if err == nil || r.Kept != 50_001 {
				t.Errorf("cut: %+v, %v", r, err)
			}
			k.faulty(nil)
			tt.do(k)
			for _, o := range []Options{{Continue: true}, {}, {Segments: 2}} {
				want := fs.ErrExist
				if o.Continue {
					want = ErrResume
				}
				if _, err := k.get(tt.path, o); !errors.Is(err, want) || read(t, k.path("f")) != body[:50_000] {
					t.Errorf("%+v: got %v, want %v", o, err, want)
				}
				if got := read(t, k.path("f.part")); !strings.HasPrefix(got, body[:50_001]) {
					t.Errorf("%+v: the part lost bytes", o)
				}
			}
			if _, err := k.get(tt.path, Options{Overwrite: true}); err != nil || !k.exists("f") {
				t.Errorf("overwriting: %v", err)
			}
		})
	}
}

// TestGivenUpLate checks that a part is given up only once the server has opened the transfer that replaces it.
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
		journal := read(t, k.path("f.part.json"))
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
		k.want(map[string]string{"f.part": body[:100_000], "f.part.json": journal})
		k.faulty(nil)
		if r, err := k.get("/f", Options{}); err != nil || r.Resumed != 100_000 {
			t.Errorf("%s: then %+v, %v", tt.what, r, err)
		}
	}
}

// TestSumOfLaterVersion feeds the digest bytes of an earlier version before several connections fetch the later one.
func TestSumOfLaterVersion(t *testing.T) {
	fresh := noise(3<<20, 2)
	k := newKit(t, map[string]string{"/f": noise(1<<20, 1)})
	k.faulty(cut(1, 300_000))
	o := &Options{Segments: 2, Sum: sum(t, "sha256:"+sha256Of(fresh))}
	waiting(t, func(context.Context, time.Duration) error {
		k.change("/f", fresh, kitTime.Add(time.Hour))
		return nil
	})
	if _, err := File(t.Context(), k.c, k.url("/f"), k.path("f"), o); err != nil {
		t.Error(err)
	}
	k.want(map[string]string{"f": fresh})
}
