package disk

import (
	"os"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/testkit/must"
)

// TestSpellings asks a real directory, which leaves nothing in it, and one that folds. Each directory is asked once for
// each kind of spelling.
func TestSpellings(t *testing.T) {
	top := t.TempDir()
	must.Do(t, os.WriteFile(top+"/probe", nil, 0o666))
	_, err := os.Stat(top + "/PROBE")
	folds := err == nil
	must.Do(t, os.Mkdir(top+"/d", 0o777))
	root := must.Get(os.OpenRoot(top))(t)
	defer root.Close()
	for _, dry := range []bool{false, true} {
		s := &Spellings{Root: root, Dry: dry}
		for _, name := range []string{"README", "readme", strings.Repeat("Aa", 120), "12"} {
			if got := s.Folds(".", name); got != (folds && name != "12") {
				t.Errorf("dry %v: %s: %v, want %v", dry, name, got, folds)
			}
		}
		if left := must.Get(os.ReadDir(top))(t); len(left) != 2 {
			t.Errorf("dry %v: left %v", dry, left)
		}
	}
	asked := map[string]int{}
	FakeFolds = func(dir, name, other string) bool {
		asked[dir]++
		return dir == "d" && localfile.Fold(name) == localfile.Fold(other)
	}
	defer func() { FakeFolds = nil }()
	s := &Spellings{Root: root}
	for range 3 {
		for dir, want := range map[string]bool{".": false, "d": true, "d/new/newer": true, "new": false} {
			if got := s.Folds(dir, "README"); got != want {
				t.Errorf("%s: %v", dir, got)
			}
		}
	}
	if asked["."] != 2 || asked["d"] != 1 || len(asked) != 2 { // for the case of letters, and for dots at the end
		t.Errorf("asked %v", asked)
	}
	if (&Spellings{}).Folds(".", "A") || (*Spellings)(nil).Folds(".", "A") {
		t.Error("nothing folds")
	}
}

func TestDiffering(t *testing.T) {
	long := strings.Repeat("x", 250)
	for _, tt := range [][4]string{
		{"README", "readme", "README", "readme"}, {long + "A", long + "a", "A", "a"}, {"A" + long, "a" + long, "A" + long[:31], "a" + long[:31]},
		{"a", "a.", "", "."}, {"\u00e9", "e\u0301", "\u00e9", "e\u0301"}, {"x\u00e9", "x\u00c9", "\u00e9", "\u00c9"},
	} {
		if a, b := differing(tt[0], tt[1]); a != tt[2] || b != tt[3] {
			t.Errorf("%q, %q: got %q, %q", tt[0], tt[1], a, b)
		}
	}
}
