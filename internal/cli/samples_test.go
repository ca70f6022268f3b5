package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/docs"
	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/cli/config"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// document reads a document of the repository.
func document(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// tableCell is a cell of a table in a document.
var tableCell = regexp.MustCompile(`[^|]+`)

// tableAfter returns the cells of the table that follows head, row by row.
func tableAfter(t *testing.T, text, head string) (rows [][]string) {
	t.Helper()
	_, rest, ok := strings.Cut(text, "\n"+head+"\n")
	if !ok {
		t.Fatalf("there is no table %s", head)
	}
	for line := range strings.Lines(rest) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		var row []string
		for _, cell := range tableCell.FindAllString(strings.TrimSpace(line), -1) {
			row = append(row, strings.TrimSpace(cell))
		}
		rows = append(rows, row)
	}
	return rows[1:]
}

// inCode returns what is between backquotes.
func inCode(text string) (words []string) {
	for i, part := range strings.Split(text, "`") {
		if i%2 == 1 {
			words = append(words, part)
		}
	}
	return words
}

// fieldsOf returns the names of the fields of a struct in JSON.
func fieldsOf[T any]() (names []string) {
	fields := reflect.TypeFor[T]()
	for i := range fields.NumField() {
		name, _, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// TestDocumentedNames checks that the documents have the names of fields and forms,
// and no others.
func TestDocumentedNames(t *testing.T) {
	many, manifests := document(t, "docs/many.md"), document(t, "docs/manifests.md")
	var report, forms []string
	for _, row := range tableAfter(t, many, "| field | meaning |") {
		report = append(report, inCode(row[0])...)
	}
	for _, row := range tableAfter(t, manifests, "| name | the list begins with |") {
		forms = append(forms, inCode(row[0])...)
	}
	_, long, _ := strings.Cut(many, "with `--json` the fields are ")
	long, _, _ = strings.Cut(long, ".")
	slices.Sort(forms)
	tests := []struct {
		name      string
		got, want []string
	}{
		{"the table of --report", report, fieldsOf[reported]()},
		{"the forms of lists", slices.Compact(forms), slices.Sorted(func(yield func(string) bool) {
			for _, f := range manifest.Formats() {
				if !yield(string(f)) {
					return
				}
			}
		})},
		{"-l --json", slices.Sorted(slices.Values(inCode(long))), wordsOfLong(t)},
	}
	for _, tt := range tests {
		if !slices.Equal(tt.got, tt.want) {
			t.Errorf("%s: the document has %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}

// wordsOfLong returns the fields of -l --json, the types and the precisions.
func wordsOfLong(t *testing.T) []string {
	words := make(map[string]bool)
	for _, mode := range []fs.FileMode{0, fs.ModeDir, fs.ModeSymlink, fs.ModeNamedPipe, fs.ModeIrregular} {
		for _, precision := range []time.Duration{24 * time.Hour, time.Minute, time.Second, time.Microsecond} {
			e := ftpexec.Entry{Name: "n", URL: new(urlparse.URL), Precision: precision, Local: true, HasPerm: true, Target: "t", Mode: mode}
			var fields map[string]any
			if err := json.Unmarshal(longEntry(e, true, false), &fields); err != nil {
				t.Fatal(err)
			}
			for name := range fields {
				words[name] = true
			}
			words[fields["type"].(string)], words[fields["precision"].(string)] = true, true
		}
	}
	return slices.Sorted(maps.Keys(words))
}

// TestDocumentedLines checks the lines of output that the documents show.
func TestDocumentedLines(t *testing.T) {
	o := overview{
		print: &printer{now: func() time.Time { return time.Unix(12, 3e8) }}, files: 500, bytes: -1, began: time.Unix(0, 0),
		totals: batch.Totals{Files: 500, Complete: 498, Before: 120, Failed: 2, Received: 48213377},
	}
	list := strings.Repeat("ftp://h/x\t1\n", 5) + "ftp://h/x\t1 MB\n"
	_, errs := manifest.Check(func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("url\tsize\n" + list)), nil
	}, manifest.Options{})
	if len(errs) != 1 {
		t.Fatalf("got %v, want one bad line", errs)
	}
	for name, line := range map[string]string{"docs/many.md": o.last(), "docs/manifests.md": errs[0].Error()} {
		if !strings.Contains(document(t, name), "\n    "+line+"\n") {
			t.Errorf("%s does not show the line\n%s", name, line)
		}
	}
}

// TestDocumentedEvents checks that the events in docs/progress.md are written as
// the command writes them.
func TestDocumentedEvents(t *testing.T) {
	found := 0
	for line := range strings.Lines(document(t, "docs/progress.md")) {
		if !strings.HasPrefix(line, `{"event"`) {
			continue
		}
		found++
		var e event
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&e); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		if again := printable.JSON(e); !bytes.Equal(again, []byte(line)) {
			t.Errorf("docs/progress.md has\n%swant\n%s", line, again)
		}
	}
	if found < 4 {
		t.Errorf("docs/progress.md has %d events", found)
	}
}

// TestDocumentedDefaults checks the numbers of connections that docs/many.md names.
func TestDocumentedDefaults(t *testing.T) {
	for args, want := range map[string][2]int{"-i urls": {4, 2}, "-i urls -j auto": {0, 0}, "-i urls -j auto --per-host 3": {0, 3}} {
		o, err := config.Parse(strings.Fields(args))
		if got := [2]int{o.Jobs, o.PerHost}; err != nil || got != want {
			t.Errorf("%s: -j and --per-host are %v, want %v (%v)", args, got, want, err)
		}
	}
}

// TestEventsAreDocumented finds every field of an event in docs/progress.md and
// the man page.
func TestEventsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/progress.md")
	if err != nil {
		t.Fatal(err)
	}
	_, man, _ := strings.Cut(docs.Man, ".SH EVENTS\n")
	fields := reflect.TypeFor[event]()
	for i := range fields.NumField() {
		name, _, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ",")
		if !regexp.MustCompile(`(?m)^\| [^|]*\x60`+name+`\x60`).Match(text) || !strings.Contains(man, name) {
			t.Errorf("%s is not in docs/progress.md or the man page", name)
		}
	}
}
