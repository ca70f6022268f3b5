package partfile

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"example.com/ftpfetch/internal/rules/must"
)

var stateSeeds = []State{
	{Version: 4, URL: "ftp://h/f", Size: 100, ModTime: time.Date(2020, 2, 29, 12, 30, 45, 0, time.UTC), Done: Spans{{0, 10}, {20, 100}}, Adopted: 10,
		Blocks: blocks{{Span{0, 10}, 0}, {Span{20, 60}, 1<<32 - 1}, {Span{60, 100}, 5}}},
	{Version: 4, URL: "ftp://u@h/%FF%0A", Size: 0},
}

// badJournals holds journals that parseJournal refuses.
var badJournals = map[string]string{
	"empty":            "",
	"no JSON":          "hello",
	"no version":       `{"url":"ftp://h/f","size":10,"done":[]}`,
	"later version":    `{"ftpfetch":9,"url":"ftp://h/f","size":10,"done":[]}`,
	"no URL":           `{"ftpfetch":4,"size":10,"done":[]}`,
	"cut":              `{"ftpfetch":4,"url":"ftp://h/f","size":10,"done":[[0,`,
	"backwards":        `{"ftpfetch":4,"url":"ftp://h/f","size":10,"done":[[5,3,0]]}`,
	"empty range":      `{"ftpfetch":4,"url":"ftp://h/f","size":10,"done":[[5,5,0]]}`,
	"beyond the file":  `{"ftpfetch":4,"url":"ftp://h/f","size":10,"done":[[0,11,0]]}`,
	"overlapping":      `{"ftpfetch":4,"url":"ftp://h/f","size":10,"done":[[0,5,0],[4,8,0]]}`,
	"sum too great":    `{"ftpfetch":4,"url":"ftp://h/f","size":10,"done":[[0,5,4294967296]]}`,
	"no size":          `{"ftpfetch":4,"url":"ftp://h/f","size":-1,"done":[]}`,
	"no time":          `{"ftpfetch":4,"url":"ftp://h/f","size":10,"modified":"yesterday","done":[]}`,
	"adopted too much": `{"ftpfetch":4,"url":"ftp://h/f","size":10,"adopted":6,"done":[[0,5,0]]}`,
	"adopted in a gap": `{"ftpfetch":4,"url":"ftp://h/f","size":10,"adopted":1,"done":[[1,5,0]]}`,
	"adopted below 0":  `{"ftpfetch":4,"url":"ftp://h/f","size":10,"adopted":-1,"done":[[0,5,0]]}`,
	"no range":         `{"ftpfetch":4,"url":"ftp://h/f","size":10,"done":[{"a":1}]}`,
}

func TestJournalBad(t *testing.T) {
	for what, text := range badJournals {
		if s, err := parseJournal([]byte(text)); err == nil {
			t.Errorf("%s: got %+v, want an error", what, s)
		}
	}
}

func TestJournalRoundTrip(t *testing.T) {
	p := placeIn(t, t.TempDir(), "f")
	if _, err := p.readJournal(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	for _, want := range stateSeeds {
		must.Do(t, p.writeJournal(want))
		got, err := p.readJournal()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
}

// placeIn returns the place of a target in dir.
func placeIn(t *testing.T, dir, name string) *Place {
	t.Helper()
	p := must.Get(new(Group).Find(nil, filepath.Join(dir, name)))(t)
	t.Cleanup(func() { p.Close(false) })
	return p
}

func TestJournalTooLarge(t *testing.T) {
	p := placeIn(t, t.TempDir(), "f")
	text := `{"ftpfetch":4,"url":"ftp://h/f","size":10,"done":[]}` + strings.Repeat(" ", maxJournal)
	must.Do(t, os.WriteFile(p.shown(p.journal), []byte(text), 0o600))
	if _, err := p.readJournal(); err == nil {
		t.Error("no error")
	}
}

// FuzzJournal checks that every journal that parses is sound and means the same when it is written again.
func FuzzJournal(f *testing.F) {
	for _, s := range stateSeeds {
		b := must.Get(json.Marshal(s))(f)
		f.Add(b)
	}
	for _, text := range badJournals {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parseJournal(data)
		if err != nil {
			return
		}
		if s.Size < 0 || !sound(s.Done, max(s.Size, 0)) || s.Done.Octets() > max(s.Size, 0) {
			t.Fatalf("%q: unsound: %+v", data, s)
		}
		b, err := json.Marshal(s)
		if err != nil {
			return // a year that JSON does not write
		}
		if again, err := parseJournal(b); err != nil || again.URL != strings.ToValidUTF8(s.URL, "\ufffd") || again.Adopted != s.Adopted ||
			!reflect.DeepEqual(again.Blocks, s.Blocks) {
			t.Fatalf("%q: %+v, then %+v, %v", data, s, again, err)
		}
	})
}

// TestJournalInDocs checks that the journal in docs/download.md is one, and that its table has every field.
func TestJournalInDocs(t *testing.T) {
	b := must.Get(os.ReadFile("../../../docs/download.md"))(t)
	text := string(b)
	_, sample, _ := strings.Cut(text, "```\n")
	sample, fields, _ := strings.Cut(sample, "```\n")
	s := must.Get(parseJournal([]byte(sample)))(t)
	if again, err := json.Marshal(s); err != nil || string(again)+"\n" != sample {
		t.Errorf("the document has\n%swant\n%s(%v)", sample, again, err)
	}
	var got, want []string
	for row := range strings.Lines(fields) {
		if name, ok := strings.CutPrefix(row, "| `"); ok {
			name, _, _ = strings.Cut(name, "`")
			got = append(got, name)
		} else if len(got) > 0 {
			break
		}
	}
	for field := range reflect.TypeFor[State]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "-" {
			want = append(want, name)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the table has the fields %q, want %q", got, want)
	}
}

func TestNames(t *testing.T) {
	for n := 1; n <= 255; n++ {
		for _, letter := range []string{"n", "ü", "語", "\xff"} {
			name := strings.Repeat(letter, n/len(letter)+1)[:n/len(letter)*len(letter)]
			got := namesOf(name, "")
			switch {
			case len(name)+len(freshSuffix) <= 255 && got.partial != name+".ftpfetch.part":
				t.Errorf("%d bytes: shortened to %s", len(name), got.partial)
			case len(got.fresh) > 255:
				t.Errorf("%d bytes: the names have %d", len(name), len(got.fresh))
			case utf8.ValidString(name) && !utf8.ValidString(got.partial):
				t.Errorf("%q is not UTF-8", got.partial)
			}
		}
	}
	long := strings.Repeat("n", 254)
	if a, b := namesOf(long+"a", ""), namesOf(long+"b", ""); a.partial == b.partial || a.partial == namesOf(long+"a", "run").partial {
		t.Errorf("two names have the part %q", a.partial)
	}
	want := names{target: "f", partial: "f.ftpfetch.part", journal: "f.ftpfetch.json", fresh: "f.ftpfetch.json~", bad: "f.ftpfetch.bad"}
	if got := namesOf("f", ""); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := namesOf("f", "run"); got.partial != "f~run.ftpfetch.part" || got.target != "f" {
		t.Errorf("got %v", got)
	}
}
