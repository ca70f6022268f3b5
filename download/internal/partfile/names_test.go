package partfile

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestNames(t *testing.T) {
	for n := 1; n <= 255; n++ {
		for _, letter := range []string{"n", "ü", "語", "\xff"} {
			name := strings.Repeat(letter, n/len(letter)+1)[:n/len(letter)*len(letter)]
			got, _ := namesOf(name, false)
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
	a, _ := namesOf(strings.Repeat("n", 254)+"a", false)
	if b, own := namesOf(strings.Repeat("n", 254)+"b", false); a.partial == b.partial || !own {
		t.Errorf("two names have the part %q, own %v", a.partial, own)
	}
	if a, own := namesOf("f", true); a.partial == "f.part" || !strings.HasPrefix(a.partial, "f~") || !own {
		t.Errorf("with a hash the part is %q", a.partial)
	}
	want := names{target: "f", partial: "f.part", journal: "f.part.json", fresh: "f.part.json~", bad: "f.bad"}
	if got, own := namesOf("f", false); got != want || own {
		t.Errorf("got %v, want %v", got, want)
	}
}
