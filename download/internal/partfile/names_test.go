package partfile

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestNames(t *testing.T) {
	for n := 1; n <= 255; n++ {
		for _, letter := range []string{"n", "ü", "語", "\xff"} {
			name := strings.Repeat(letter, n/len(letter)+1)[:n/len(letter)*len(letter)]
			got := namesOf(name, false)
			switch {
			case len(name)+len(freshSuffix) <= 255 && got.partial != name+".part":
				t.Errorf("%d bytes: shortened to %s", len(name), got.partial)
			case len(got.fresh) > 255, len(got.bad+".999") > 255:
				t.Errorf("%d bytes: the names have %d", len(name), len(got.fresh))
			case utf8.ValidString(name) != utf8.ValidString(got.partial):
				t.Errorf("%q is not UTF-8", got.partial)
			}
		}
	}
	if a, b := namesOf(strings.Repeat("n", 254)+"a", false), namesOf(strings.Repeat("n", 254)+"b", false); a.partial == b.partial {
		t.Errorf("two names have the part %q", a.partial)
	}
	if a := namesOf("f", true); a.partial == "f.part" || !strings.HasPrefix(a.partial, "f~") {
		t.Errorf("with a hash the part is %q", a.partial)
	}
	d := func(name string) string { return filepath.Join("d", name) }
	want := names{target: d("f"), partial: d("f.part"), journal: d("f.part.json"), fresh: d("f.part.json~"), bad: d("f.bad")}
	if got := namesOf(d("f"), false); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}
