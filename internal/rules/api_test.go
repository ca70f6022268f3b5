package rules_test

import (
	"cmp"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/api.txt")

const apiFile = root + "/docs/api.txt"

// TestAPI compares what the public packages export with docs/api.txt.
func TestAPI(t *testing.T) {
	got := surface{}
	from := loader(t, public...)
	for _, dir := range public {
		got.add(dir, load(t, from, dir))
	}
	if *update {
		if err := os.WriteFile(apiFile, []byte(got.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for name, what := range got {
		if strings.Contains(what, "internal/") {
			t.Errorf("%s: %s: other modules cannot name this type, and its page shows nothing of it", name, what)
		}
	}
	list := changes(parseSurface(read(t, apiFile)), got)
	if len(list) > 0 {
		t.Error(advice(list))
	}
}

// TestPromise: docs/api.md names every public package, and every interface that callers may implement.
func TestPromise(t *testing.T) {
	text := read(t, root+"/docs/api.md")
	for _, dir := range public {
		if !strings.Contains(text, "["+dir+"](../"+dir+")") {
			t.Errorf("docs/api.md does not name package %s", dir)
		}
	}
	for name, what := range parseSurface(read(t, apiFile)) {
		if what == "type interface" && !strings.Contains(text, "`"+filepath.Base(name)+"`") {
			t.Errorf("docs/api.md does not name %s, which gets no methods in a minor version", name)
		}
	}
}

// advice says what has changed, what that means for the next version, and what to do.
func advice(list []change) string {
	var b strings.Builder
	b.WriteString("the exported names are not those of docs/api.txt:\n")
	breaks := false
	for _, c := range list {
		level := "minor  "
		if c.major {
			level, breaks = "MAJOR  ", true
		}
		b.WriteString("    " + level + c.what + "\n")
	}
	if breaks {
		b.WriteString("Programs that use what is MAJOR may not compile any more. Keep the old name and deprecate it, if you can (docs/api.md).\n")
	}
	b.WriteString("If all this is meant, say so in CHANGELOG.md, and: go test ./internal/rules -run TestAPI -update")
	return b.String()
}

// TestAPIChanges compares two small packages that differ in every way that TestAPI must see.
func TestAPIChanges(t *testing.T) {
	const before, after = "internal/rules/testdata/api/before", "internal/rules/testdata/api/after"
	from := loader(t, before, after)
	old, now := surface{}, surface{}
	old.add("p", load(t, from, before))
	now.add("p", load(t, from, after))
	var got []string
	for _, c := range changes(parseSurface(old.String()), now) {
		level := "minor "
		if c.major {
			level = "major "
		}
		got = append(got, level+c.what)
	}
	want := strings.Split(strings.TrimSuffix(read(t, filepath.Join("testdata", "api", "changes.txt")), "\n"), "\n")
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if same := changes(old, parseSurface(old.String())); same != nil {
		t.Errorf("a surface differs from itself: %v", same)
	}
}

// TestAdvice: the message tells a break from an addition.
func TestAdvice(t *testing.T) {
	for _, tt := range []struct {
		c    change
		want string
	}{
		{change{"added p.F: func()", false}, "minor  added p.F: func()"},
		{change{"removed p.F: func()", true}, "deprecate it"},
	} {
		got := advice([]change{tt.c})
		if !strings.Contains(got, tt.want) || strings.Contains(got, "deprecate") != tt.c.major || !strings.Contains(got, "-update") {
			t.Errorf("%v: got %s", tt.c, got)
		}
	}
}

// String returns the lines of docs/api.txt, which parseSurface reads.
func (s surface) String() string {
	var b strings.Builder
	for _, name := range names(s) {
		b.WriteString(name + ": " + s[name] + "\n")
	}
	return b.String()
}

func parseSurface(text string) surface {
	s := surface{}
	for line := range strings.Lines(text) {
		name, what, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		s[name] = what
	}
	return s
}

// names returns the names of all surfaces in order, those of a type's methods beside the type.
func names(surfaces ...surface) []string {
	all := map[string]bool{}
	for _, s := range surfaces {
		for name := range s {
			all[name] = true
		}
	}
	plain := strings.NewReplacer("(*", "", ")", "")
	return slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(strings.Compare(plain.Replace(a), plain.Replace(b)), strings.Compare(a, b))
	})
}
