package rules_test

import (
	"cmp"
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/rules/must"
)

var update = flag.Bool("update", false, "write docs/api.txt")

const apiFile = root + "/docs/api.txt"

// TestAPI compares what the public packages export with docs/api.txt.
func TestAPI(t *testing.T) {
	got := surface{}
	from := loader(t)
	for _, dir := range public {
		p := must.Get(from.Import(module + dir))(t)
		got.add(dir, p)
	}
	if *update {
		var b strings.Builder
		for _, name := range names(got) {
			b.WriteString(name + ": " + got[name] + "\n")
		}
		must.Do(t, os.WriteFile(apiFile, []byte(b.String()), 0o666))
	}
	for name, what := range got {
		if strings.Contains(what, "internal/") {
			t.Errorf("%s: %s: other modules cannot name this type, and its page shows nothing of it", name, what)
		}
	}
	was := surface{}
	for line := range strings.Lines(read(t, apiFile)) {
		name, what, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		was[name] = what
	}
	for _, name := range names(was, got) {
		if was[name] != got[name] {
			t.Errorf("%s is %q and was %q", name, got[name], was[name])
		}
	}
	if t.Failed() {
		t.Error("what was breaks programs if it goes or changes (docs/api.md). If all this is meant: go test ./internal/rules -run TestAPI -update")
	}
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

func read(t *testing.T, path string) string {
	t.Helper()
	text := must.Get(os.ReadFile(path))(t)
	return string(text)
}
