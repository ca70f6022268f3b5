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
