package listing

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The corpus is testdata/corpus, with a file for each system. A file begins with its name, "format:" and perhaps
// "note:". A listing begins with "-- title", and perhaps the name of its directory, "(in NAME)". Its lines follow, each
// after "> ", and then what comes out, in order:
//
//	= type and permissions, size, time, name -> target
//	~ the same; nothing shows which spaces belong to the name
//	! why a line is not understood
//
// A line or a name that would not be seen whole is written as a Go string.

// system is a file of the corpus.
type system struct {
	title, format, note string
	listings            []sample
}

// sample is a listing, and what must come out.
type sample struct {
	title, dir  string
	lines, want []string
}

// corpus returns all systems.
func corpus(t testing.TB) (all []system) {
	files, err := filepath.Glob("testdata/corpus/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var s system
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSuffix(line, "\n")
			last := len(s.listings) - 1
			kind, rest, _ := strings.Cut(line, " ")
			switch {
			case line == "":
			case kind == "#":
				s.title = rest
			case kind == "format:":
				s.format = rest
			case kind == "note:":
				s.note = rest
			case kind == "--":
				title, dir, _ := strings.Cut(strings.TrimSuffix(rest, ")"), " (in ")
				s.listings = append(s.listings, sample{title: title, dir: dir})
			case kind == ">":
				if strings.HasPrefix(rest, `"`) {
					if rest, err = strconv.Unquote(rest); err != nil {
						t.Fatalf("%s: %s: %v", file, line, err)
					}
				}
				s.listings[last].lines = append(s.listings[last].lines, rest)
			case slices.Contains([]string{"=", "~", "!"}, kind):
				s.listings[last].want = append(s.listings[last].want, line)
			default:
				t.Fatalf("%s: %s", file, line)
			}
		}
		all = append(all, s)
	}
	return all
}

// read returns what comes out of a listing, as the corpus writes it, and the items.
func (s sample) read() (got []string, items []Item) {
	lines := Lines(slices.DeleteFunc(slices.Clone(s.lines), func(line string) bool { return line == "" })) // as ftpexec does
	r := NewReader(lines, s.dir, now)
	for _, line := range lines {
		item, err := r.LIST(line)
		switch {
		case errors.Is(err, ErrNoEntry):
		case err != nil:
			got = append(got, "! "+err.Error())
		default:
			got = append(got, outcome(item))
			items = append(items, item)
		}
	}
	return got, items
}

// outcome writes an item as the corpus does.
func outcome(item Item) string {
	mode := item.Mode.String()
	if !item.HasPerm {
		mode = mode[:len(mode)-len("rwxrwxrwx")]
	}
	size, at := "-", "-"
	if item.Size >= 0 {
		size = fmt.Sprint(item.Size)
	}
	switch {
	case item.Precision == day:
		at = item.Time.Format("2006-01-02")
	case item.Precision >= time.Minute:
		at = item.Time.Format("2006-01-02T15:04")
	case item.Precision > 0:
		at = item.Time.Format("2006-01-02T15:04:05" + strings.TrimRight("."+strings.Repeat("0", len(fmt.Sprint(int64(time.Second/item.Precision)))-1), "."))
	}
	if item.UTC {
		at += "Z"
	}
	mark := "="
	if item.Doubt {
		mark = "~"
	}
	text := strings.Join([]string{mark, mode, size, at, seen(item.Name)}, " ")
	if item.Target != "" {
		text += " -> " + seen(item.Target)
	}
	return text
}

// seen returns a name, as a Go string if it would not be seen whole.
func seen(name string) string {
	if quoted := strconv.Quote(name); strings.ContainsAny(quoted, `\`) || strings.HasPrefix(name, " ") || strings.HasSuffix(name, " ") {
		return quoted
	}
	return name
}

// Every listing of the corpus is read as it says.
func TestCorpus(t *testing.T) {
	all := corpus(t)
	listings := 0
	for _, s := range all {
		listings += len(s.listings)
		for _, l := range s.listings {
			got, _ := l.read()
			if !slices.EqualFunc(got, l.want, agrees) {
				t.Errorf("%s, %s:\n %s\n got %s\nwant %s", s.title, l.title, strings.Join(l.lines, "\n "), strings.Join(got, "\n     "), strings.Join(l.want, "\n     "))
			}
		}
	}
	if len(all) < 85 || listings < 550 {
		t.Errorf("%d listings of %d systems, want 550 of 85", listings, len(all))
	}
}

// agrees compares what comes out with what must come out. The corpus has only a part of the reasons why a line is not
// understood.
func agrees(got, want string) bool {
	if reason, ok := strings.CutPrefix(want, "!"); ok {
		return strings.HasPrefix(got, "!") && strings.Contains(got, reason[min(1, len(reason)):])
	}
	return got == want
}

// No line of the corpus matches two formats.
func TestCorpusFormatsDoNotOverlap(t *testing.T) {
	for _, s := range corpus(t) {
		for _, l := range s.listings {
			for _, line := range l.lines {
				var names []string
				for _, f := range formats {
					if _, _, ok := NewReader(nil, "", now).by(f, line); ok {
						names = append(names, f.name)
					}
				}
				if len(names) > 1 {
					t.Errorf("%s: %q has the formats %q", s.title, line, names)
				}
			}
		}
	}
}

var update = flag.Bool("update", false, "rewrite the table in docs/listings.md")

// The table of systems in docs/listings.md is made from the corpus: go test ./ftpexec/internal/listing -run TestTable
// -update.
func TestTable(t *testing.T) {
	const file, begin, end = "../../../docs/listings.md", "<!-- systems -->\n", "<!-- end of systems -->\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	table, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatal(file + " has no place for the table")
	}
	want := tableOf(corpus(t))
	if *update {
		if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if table != want {
		t.Error("the table in docs/listings.md differs from the corpus: run this test with -update")
	}
}

func tableOf(all []system) string {
	var b strings.Builder
	b.WriteString("| system | format | type | permissions | size | time to the | listings | |\n|---|---|---|---|---|---|---|---|\n")
	slices.SortStableFunc(all, func(a, b system) int {
		return cmp.Compare(strings.ToLower(strings.TrimPrefix(a.title, "ls ")), strings.ToLower(strings.TrimPrefix(b.title, "ls ")))
	})
	for _, s := range all {
		var items []Item
		for _, l := range s.listings {
			_, some := l.read()
			items = append(items, some...)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %d | %s |\n", s.title, s.format,
			mark(items, func(i Item) bool { return i.Mode.Type() != fs.ModeIrregular }), mark(items, func(i Item) bool { return i.HasPerm }),
			mark(items, func(i Item) bool { return i.Size >= 0 }), unitOf(items), len(s.listings), s.note)
	}
	return b.String()
}

// mark says whether any of the items has something.
func mark(items []Item, has func(Item) bool) string {
	if slices.ContainsFunc(items, has) {
		return "yes"
	}
	return "no"
}

// unitOf returns the units of the times of items, the coarsest first.
func unitOf(items []Item) string {
	var units []string
	for _, u := range []struct {
		name string
		to   time.Duration
	}{{"day", day}, {"minute", time.Minute}, {"second", time.Millisecond}, {"nanosecond", time.Nanosecond}} {
		if slices.ContainsFunc(items, func(i Item) bool {
			return i.Precision >= u.to && (u.to == day || i.Precision < map[time.Duration]time.Duration{time.Minute: day, time.Millisecond: time.Minute, time.Nanosecond: time.Millisecond}[u.to])
		}) {
			units = append(units, u.name)
		}
	}
	return cmp.Or(strings.Join(units, ", "), "no")
}
