package download

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"example.com/ftpfetch/internal/rules/night"
	"example.com/ftpfetch/testserver"
)

// TestNamesOfEveryLength downloads a part, resumes and cleans up under names of
// every length that the system allows, and keeps a file with a wrong digest.
func TestNamesOfEveryLength(t *testing.T) {
	text := noise(2000, 1)
	k := newKit(t, map[string]string{"/f": text})
	wrong := Options{Sum: sum(t, "crc32:00000000")}
	for n := night.Or(200, 1); n <= 255; n++ { // the longest names are shortened
		k.dir = t.TempDir()
		name := strings.Repeat("n", n)
		get := func(o Options) (Result, error) {
			return File(t.Context(), k.c, k.url("/f"), k.path(name), &o)
		}
		k.faulty(always("RETR", testserver.Fault{Data: testserver.Closed, Octets: 1000}))
		if r, err := get(Options{Retries: -1}); err == nil || r.Kept != 1000 {
			t.Fatalf("%d bytes: cut: got %+v, %v", n, r, err)
		}
		k.faulty(nil)
		if r, err := get(Options{}); err != nil || r.Resumed != 1000 {
			t.Fatalf("%d bytes: got %+v, %v", n, r, err)
		}
		k.want(map[string]string{name: text})
		k.remove(name)
		for range 2 {
			if _, err := get(wrong); !errors.Is(err, ErrDigest) {
				t.Fatalf("%d bytes: got %v, want ErrDigest", n, err)
			}
		}
		if all := namesIn(t, k.dir); len(all) != 1 || !strings.HasSuffix(all[0], ".bad") {
			t.Fatalf("%d bytes: there is %q", n, all)
		}
	}
}

func TestStemOf(t *testing.T) {
	for n := 1; n <= 255; n++ {
		for _, letter := range []string{"n", "ü", "語", "\xff"} {
			base := strings.Repeat(letter, n/len(letter)+1)[:n/len(letter)*len(letter)]
			stem := stemOf(base)
			switch {
			case len(base)+len(freshSuffix) <= 255 && stem != base:
				t.Errorf("%d bytes: shortened to %d", len(base), len(stem))
			case len(stem)+len(freshSuffix) > 255, len(stem+badSuffix+".999") > 255:
				t.Errorf("%d bytes: the names have %d", len(base), len(stem+freshSuffix))
			case utf8.ValidString(base) != utf8.ValidString(stem):
				t.Errorf("%q is not UTF-8", stem)
			}
		}
	}
	a, b := stemOf(strings.Repeat("n", 254)+"a"), stemOf(strings.Repeat("n", 254)+"b")
	if a == b {
		t.Errorf("two names have the part %q", a)
	}
	d := func(name string) string { return filepath.Join("d", name) }
	want := names{disk: plain, given: "f", path: d("f"), partial: d("f.part"), journal: d("f.part.json"), fresh: d("f.part.json~"), bad: d("f.bad")}
	if got := plain.namesOf("f", d("f")); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}
