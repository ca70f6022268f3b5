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
		blocks: blocks{{span{0, 10}, 0}, {span{20, 60}, 1<<32 - 1}, {span{60, 100}, 5}}},
	{url: "ftp://h/f", size: -1},
	{url: "ftp://u@h/%FF%0A", size: 0, complete: true},
}

// badJournals holds journals that parseJournal refuses.
var badJournals = map[string]string{
	"empty":            "",
	"no JSON":          "hello",
	"a list":           `[1]`,
	"no version":       `{"url":"ftp://h/f","size":10,"done":[]}`,
	"old version":      `{"ftpfetch":2,"url":"ftp://h/f","size":10,"done":[]}`,
	"later version":    `{"ftpfetch":4,"url":"ftp://h/f","size":10,"done":[]}`,
	"no URL":           `{"ftpfetch":3,"size":10,"done":[]}`,
	"cut":              `{"ftpfetch":3,"url":"ftp://h/f","size":10,"done":[[0,`,
	"more after it":    `{"ftpfetch":3,"url":"ftp://h/f","size":10,"done":[]} x`,
	"negative":         `{"ftpfetch":3,"url":"ftp://h/f","size":10,"done":[[-5,5,0]]}`,
	"backwards":        `{"ftpfetch":3,"url":"ftp://h/f","size":10,"done":[[5,3,0]]}`,
	"empty range":      `{"ftpfetch":3,"url":"ftp://h/f","size":10,"done":[[5,5,0]]}`,
	"beyond the file":  `{"ftpfetch":3,"url":"ftp://h/f","size":10,"done":[[0,11,0]]}`,
	"overlapping":      `{"ftpfetch":3,"url":"ftp://h/f","size":10,"done":[[0,5,0],[4,8,0]]}`,
	"out of order":     `{"ftpfetch":3,"url":"ftp://h/f","size":10,"done":[[6,8,0],[0,5,0]]}`,
	"sum too great":    `{"ftpfetch":3,"url":"ftp://h/f","size":10,"done":[[0,5,4294967296]]}`,
	"sum below 0":      `{"ftpfetch":3,"url":"ftp://h/f","size":10,"done":[[0,5,-1]]}`,
	"not complete":     `{"ftpfetch":3,"url":"ftp://h/f","size":10,"complete":true,"done":[[0,5,0]]}`,
	"no size":          `{"ftpfetch":3,"url":"ftp://h/f","size":-1,"done":[[0,5,0]]}`,
	"size below -1":    `{"ftpfetch":3,"url":"ftp://h/f","size":-2,"done":[]}`,
	"too great":        `{"ftpfetch":3,"url":"ftp://h/f","size":1e30,"done":[]}`,
	"fraction":         `{"ftpfetch":3,"url":"ftp://h/f","size":10,"done":[[0.5,1,0]]}`,
	"no time":          `{"ftpfetch":3,"url":"ftp://h/f","size":10,"modified":"yesterday","done":[]}`,
	"adopted too much": `{"ftpfetch":3,"url":"ftp://h/f","size":10,"adopted":6,"done":[[0,5,0]]}`,
	"adopted in a gap": `{"ftpfetch":3,"url":"ftp://h/f","size":10,"adopted":1,"done":[[1,5,0]]}`,
	"adopted below 0":  `{"ftpfetch":3,"url":"ftp://h/f","size":10,"adopted":-1,"done":[[0,5,0]]}`,
	"no range":         `{"ftpfetch":3,"url":"ftp://h/f","size":10,"done":[{"a":1}]}`,
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
	text := `{"ftpfetch":3,"url":"ftp://h/f","size":10,"done":[]}` + strings.Repeat(" ", maxJournal)
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
			again.complete != s.complete || !reflect.DeepEqual(again.blocks, s.blocks) {
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
