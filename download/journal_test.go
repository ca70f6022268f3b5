package download

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ftpfetch/urlparse"
)

var stateSeeds = []state{
	{url: "ftp://h/f", size: 100, modTime: time.Date(2020, 2, 29, 12, 30, 45, 0, time.UTC), done: spans{{0, 10}, {20, 100}}, adopted: 10, inode: "12",
		sums: blockSums{50, []extent{{span{0, 10}, []uint32{0}}, {span{20, 60}, []uint32{1<<32 - 1}}, {span{60, 100}, []uint32{5}}}}},
	{url: "ftp://h/f", size: -1},
	{url: "ftp://u@h/%FF%0A", size: 0, complete: true},
}

// badJournals holds journals that parseJournal refuses.
var badJournals = map[string]string{
	"empty":            "",
	"no JSON":          "hello",
	"cut":              `{"version":2,"url":"ftp://h/f","size":10,"done":[[0,`,
	"more after it":    `{"version":2,"url":"ftp://h/f","size":10,"done":[]} x`,
	"old version":      `{"version":1,"url":"ftp://h/f","size":10,"done":[]}`,
	"later version":    `{"version":3,"url":"ftp://h/f","size":10,"done":[]}`,
	"no version":       `{"url":"ftp://h/f","size":10,"done":[]}`,
	"no URL":           `{"version":2,"size":10,"done":[]}`,
	"negative":         `{"version":2,"url":"ftp://h/f","size":10,"done":[[-5,5]],"block":10,"sums":["00000000"]}`,
	"backwards":        `{"version":2,"url":"ftp://h/f","size":10,"done":[[5,3]],"block":10,"sums":["00000000"]}`,
	"empty range":      `{"version":2,"url":"ftp://h/f","size":10,"done":[[5,5]],"block":10,"sums":["00000000"]}`,
	"beyond the file":  `{"version":2,"url":"ftp://h/f","size":10,"done":[[0,11]],"block":10,"sums":["00000000"]}`,
	"overlapping":      `{"version":2,"url":"ftp://h/f","size":10,"done":[[0,5],[4,8]],"block":10,"sums":["00000000","00000000"]}`,
	"no block":         `{"version":2,"url":"ftp://h/f","size":10,"done":[[0,5]],"sums":["00000000"]}`,
	"block below 0":    `{"version":2,"url":"ftp://h/f","size":10,"block":-1,"done":[[0,5]],"sums":["00000000"]}`,
	"too few sums":     `{"version":2,"url":"ftp://h/f","size":10,"block":4,"done":[[0,5]],"sums":["00000000"]}`,
	"too many sums":    `{"version":2,"url":"ftp://h/f","size":10,"block":5,"done":[[0,5]],"sums":["0000000000000000"]}`,
	"half a sum":       `{"version":2,"url":"ftp://h/f","size":10,"block":5,"done":[[0,5]],"sums":["0000"]}`,
	"not complete":     `{"version":2,"url":"ftp://h/f","size":10,"complete":true,"block":5,"done":[[0,5]],"sums":["00000000"]}`,
	"out of order":     `{"version":2,"url":"ftp://h/f","size":10,"done":[[6,8],[0,5]],"block":10,"sums":["00000000","00000000"]}`,
	"no size":          `{"version":2,"url":"ftp://h/f","size":-1,"done":[[0,5]],"block":10,"sums":["00000000"]}`,
	"size below -1":    `{"version":2,"url":"ftp://h/f","size":-2,"done":[]}`,
	"too great":        `{"version":2,"url":"ftp://h/f","size":1e30,"done":[]}`,
	"fraction":         `{"version":2,"url":"ftp://h/f","size":10,"done":[[0.5,1]],"block":10,"sums":["00000000"]}`,
	"no time":          `{"version":2,"url":"ftp://h/f","size":10,"modified":"yesterday","done":[]}`,
	"a list":           `[1]`,
	"no sums":          `{"version":2,"url":"ftp://h/f","size":10,"done":[[0,5]]}`,
	"sums left over":   `{"version":2,"url":"ftp://h/f","size":10,"done":[],"block":10,"sums":["00000000"]}`,
	"sum no number":    `{"version":2,"url":"ftp://h/f","size":10,"done":[[0,5]],"block":10,"sums":["what"]}`,
	"adopted too much": `{"version":2,"url":"ftp://h/f","size":10,"adopted":6,"done":[[0,5]],"block":10,"sums":["00000000"]}`,
	"adopted in a gap": `{"version":2,"url":"ftp://h/f","size":10,"adopted":1,"done":[[1,5]],"block":10,"sums":["00000000"]}`,
	"adopted below 0":  `{"version":2,"url":"ftp://h/f","size":10,"adopted":-1,"done":[[0,5]],"block":10,"sums":["00000000"]}`,
	"three in a range": `{"version":2,"url":"ftp://h/f","size":10,"done":[{"a":1}],"block":10,"sums":["00000000"]}`,
}

func TestJournalBad(t *testing.T) {
	for what, text := range badJournals {
		if s, err := parseJournal([]byte(text)); err == nil {
			t.Errorf("%s: got %+v, want an error", what, s)
		}
	}
}

func TestJournalRoundTrip(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f.part.json")
	if _, err := plain.readJournal(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	for _, want := range stateSeeds {
		if err := namesAt(filepath.Join(dir, "f")).writeJournal(want, true); err != nil {
			t.Fatal(err)
		}
		got, err := plain.readJournal(path)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
	wantNames(t, dir, "f.part.json")
}

func TestJournalTooLarge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.part.json")
	text := `{"version":2,"url":"ftp://h/f","size":10,"done":[]}` + strings.Repeat(" ", maxJournal)
	mustWrite(t, path, text)
	if _, err := plain.readJournal(path); err == nil {
		t.Error("no error")
	}
}

// TestJournalSecret checks that no journal has a password.
func TestJournalSecret(t *testing.T) {
	u, err := urlparse.Parse("ftp://me:secret@h/f")
	if err != nil {
		t.Fatal(err)
	}
	if got := journalURL(u); got != "ftp://me@h/f" {
		t.Errorf("got %s", got)
	}
	if _, ok := u.User.Password(); !ok {
		t.Error("the URL itself was changed")
	}
}

// FuzzJournal checks that every journal that parses is sound and means the same
// when it is written again.
func FuzzJournal(f *testing.F) {
	for _, s := range stateSeeds {
		b, err := s.encode()
		if err != nil {
			f.Fatal(err)
		}
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
		if s.size < -1 || !sound(s.done, max(s.size, 0)) || s.done.octets() > max(s.size, 0) {
			t.Fatalf("%q: unsound: %+v", data, s)
		}
		b, err := s.encode()
		if err != nil {
			return // a year that JSON does not write
		}
		if again, err := parseJournal(b); err != nil || again.url != strings.ToValidUTF8(s.url, "\ufffd") || again.adopted != s.adopted ||
			again.complete != s.complete || !reflect.DeepEqual(again.sums.extents, s.sums.extents) {
			t.Fatalf("%q: %+v, then %+v, %v", data, s, again, err)
		}
	})
}

// namesIn lists a directory.
func namesIn(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// wantNames checks that dir holds exactly these names.
func wantNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	if got := namesIn(t, dir); !slices.Equal(got, want) {
		t.Errorf("the directory holds %q, want %q", got, want)
	}
}

// TestJournalInDocs checks that the journal in docs/download.md is one, and that
// its table has every field.
func TestJournalInDocs(t *testing.T) {
	text := read(t, "../docs/download.md")
	_, sample, _ := strings.Cut(text, "```\n")
	sample, fields, _ := strings.Cut(sample, "```\n")
	s, err := parseJournal([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := s.encode(); err != nil || string(again) != sample {
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
	for field := range reflect.TypeFor[record]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		want = append(want, name)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the table has the fields %q, want %q", got, want)
	}
}

// TestCheckpoints checks that a journal is written before the first byte, every
// second while data flows, and at the end.
func TestCheckpoints(t *testing.T) {
	dir := t.TempDir()
	for seconds := range 4 {
		synctest.Test(t, func(t *testing.T) {
			journals := 0
			onCall(t, func(call, path string) error {
				if call == "rename" && strings.HasSuffix(path, freshSuffix) {
					journals++
				}
				return nil
			})
			limit := int64(len(body)) * 2 / int64(2*seconds+1) // so that it takes half a second more
			path := filepath.Join(dir, strconv.Itoa(seconds))
			_, err := File(t.Context(), memorySource{contents: body}, urlOf(t, "ftp://h/f"), path, &Options{Limit: NewLimiter(limit)})
			if want := 1 + seconds + 1; err != nil || journals != want {
				t.Errorf("in %d seconds and a half: %d journals, want %d (%v)", seconds, journals, want, err)
			}
		})
	}
}
