package partfile

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/testkit/must"
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
		if got, err := p.readJournal(); err != nil || !reflect.DeepEqual(got, want) {
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

// TestJournalTooLarge reads journals of the maximum length and longer ones. Blanks after the JSON count too.
func TestJournalTooLarge(t *testing.T) {
	const head, tail = `{"ftpfetch":4,"url":"ftp://h/f","size":10,"done":[`, `]}`
	for what, tt := range map[string]struct {
		inside, after int // blanks
		want          error
	}{
		"as long as it may be":          {maxJournal - len(head+tail), 0, nil},
		"blanks after it, within":       {0, maxJournal - len(head+tail), nil},
		"no end":                        {maxJournal, 0, errJournal},
		"whole, and a byte too long":    {maxJournal - len(head+tail), 1, errJournal},
		"whole, and blanks without end": {0, 2 * maxJournal, errJournal},
	} {
		p := placeIn(t, t.TempDir(), "f")
		text := head + strings.Repeat(" ", tt.inside) + tail + strings.Repeat(" ", tt.after)
		must.Do(t, os.WriteFile(p.shown(p.journal), []byte(text), 0o600))
		if _, err := p.readJournal(); err != tt.want {
			t.Errorf("%s: got %v, want %v", what, err, tt.want)
		}
	}
}

// FuzzJournal checks that every journal that parses is consistent, and stays the same when it is written and read
// again.
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
			return // JSON cannot write this year
		}
		if again, err := parseJournal(b); err != nil || again.URL != strings.ToValidUTF8(s.URL, "\ufffd") || again.Adopted != s.Adopted ||
			!reflect.DeepEqual(again.Blocks, s.Blocks) {
			t.Fatalf("%q: %+v, then %+v, %v", data, s, again, err)
		}
	})
}

// TestJournalInDocs checks that the journal in docs/download.md parses, and that the table there has every field.
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
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "-" {
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
			got := namesOf(name, "", localfile.Beside)
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
	if a, b := namesOf(long+"a", "", localfile.Beside), namesOf(long+"b", "", localfile.Beside); a.partial == b.partial || a.partial == namesOf(long+"a", "run", localfile.Beside).partial {
		t.Errorf("two names have the part %q", a.partial)
	}
	want := names{target: "f", partial: "f.ftpfetch.part", journal: "f.ftpfetch.json", fresh: "f.ftpfetch.next", bad: "f.ftpfetch.bad"}
	if got := namesOf("f", "", localfile.Beside); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := namesOf("f", "run", localfile.Beside); got.partial != "f~run.ftpfetch.part" || got.target != "f" {
		t.Errorf("got %v", got)
	}
}

// TestBlocks adds and drops ranges at random. It checks that the blocks always cover exactly the ranges, and detect
// every changed byte.
func TestBlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, 1000)
	for i := range text {
		text[i] = byte(rng.Uint32())
	}
	for range 300 {
		size := 1 + rng.Int64N(60)
		var b blocks
		var done Spans
		for range 1 + rng.IntN(12) {
			from := rng.Int64N(1000)
			if done = done.Add(Span{from, min(1000, from+1+rng.Int64N(300))}); rng.IntN(4) == 0 {
				done = slices.DeleteFunc(done.UpTo(rng.Int64N(1000)), func(Span) bool { return rng.IntN(4) == 0 })
			}
			var err error
			if b, err = b.cover(strings.NewReader(string(text)), done, size); err != nil {
				t.Fatal(err)
			}
			if got := b.spans(); !slices.Equal(got, done) {
				t.Fatalf("blocks of %v, want %v", got, done)
			}
			if good, err := b.sound(strings.NewReader(string(text))); err != nil || len(good) != len(b) {
				t.Fatalf("of %v only %v are sound", b, good)
			}
		}
		if len(done) == 0 {
			continue
		}
		x := done[rng.IntN(len(done))]
		at := x.Start + rng.Int64N(x.Len())
		text[at] ^= 1 << rng.IntN(8)
		good, err := b.sound(strings.NewReader(string(text)))
		bad := slices.DeleteFunc(slices.Clone(b), func(x block) bool { return slices.Contains(good, x) })
		if err != nil || len(bad) != 1 || at < bad[0].Start || at >= bad[0].End || bad[0].Len() > size {
			t.Fatalf("byte %d changed: damaged are %v", at, bad)
		}
	}
}

// TestBlockFor checks the block size for files from none to 1 TiB.
func TestBlockFor(t *testing.T) {
	for size, want := range map[int64]int64{-1: minBlock, 0: minBlock, 16 << 30: minBlock, 1 << 40: 256 << 20} {
		if got := blockFor(size); got != want {
			t.Errorf("a file of %d bytes has blocks of %d, want %d", size, got, want)
		}
	}
}

// TestSpansAtRandom compares Spans with a set of bytes.
func TestSpansAtRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		var s Spans
		var set [50]bool
		for range rng.IntN(12) {
			start := rng.Int64N(50)
			x := Span{start, start + rng.Int64N(51-start)}
			s = s.Add(x)
			for i := x.Start; i < x.End; i++ {
				set[i] = true
			}
		}
		count := int64(0)
		for i, in := range set {
			if in {
				count++
			}
			if holds := s.UpTo(int64(i)+1).Octets() > s.UpTo(int64(i)).Octets(); holds != in {
				t.Fatalf("%v holds %d: %v, want %v", s, i, holds, in)
			}
		}
		if !sound(s, 50) || s.Octets() != count || s.Missing(50).Octets() != 50-count || !sound(s.Missing(50), 50) {
			t.Fatalf("%v: %d bytes, want %d", s, s.Octets(), count)
		}
	}
}

// sound reports whether s keeps what type Spans promises, within size bytes.
func sound(s Spans, size int64) bool {
	at := int64(-1)
	for _, x := range s {
		if x.Start <= at || x.End <= x.Start || x.End > size {
			return false
		}
		at = x.End
	}
	return true
}

// TestAfter checks After at each byte.
func TestAfter(t *testing.T) {
	var p Part
	p.state.Done = Spans{{10, 20}, {30, 40}}
	for at, want := range map[int64]Span{9: {}, 10: {10, 15}, 17: {17, 20}, 19: {19, 20}, 20: {}, 29: {}, 30: {30, 35}, 40: {}} {
		if got := p.After(at, 5); got != want {
			t.Errorf("after %d: got %v, want %v", at, got, want)
		}
	}
}

// TestAgree checks that bytes which came twice are compared, and are kept for later while the part lacks their other
// copy.
func TestAgree(t *testing.T) {
	p := Part{f: must.Get(os.Create(filepath.Join(t.TempDir(), "f")))(t)}
	defer p.f.Close()
	must.Get(p.f.WriteString("0123456789"))(t)
	for _, tt := range []struct {
		at   int64
		text string
		err  error
		left int
	}{
		{0, "012", nil, 0}, {0, "01x", ErrDiffers, 0}, {7, "789", nil, 0}, {7, "78x", ErrDiffers, 0}, {0, "0123456789", nil, 0},
		{3, "", nil, 0}, {12, "", nil, 0}, {8, "89ab", nil, 1}, {10, "a", nil, 1},
	} {
		p.overlaps = []overlap{{Span{tt.at, tt.at + int64(len(tt.text))}, []byte(tt.text)}}
		if err := p.agree(Spans{{0, 10}}); err != tt.err || len(p.overlaps) != tt.left {
			t.Errorf("%q at %d: got %v, %d kept, want %v, %d", tt.text, tt.at, err, len(p.overlaps), tt.err, tt.left)
		}
	}
}
