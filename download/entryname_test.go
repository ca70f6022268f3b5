package download

import (
	"errors"
	"path/filepath"
	"testing"
)

func TestEntryNames(t *testing.T) {
	tests := []struct {
		goos string
		in   []string
		want []string // "" if the name is refused
	}{
		{"linux", []string{"a", "b", "A", "a"}, []string{"a", "b", "A", ""}},
		{"windows", []string{"a", "b", "A", "É", "é"}, []string{"a", "b", "", "É", ""}},
		{"darwin", []string{"README", "readme", "ReadMe"}, []string{"README", "", ""}},
		{"darwin", []string{"ſ", "S"}, []string{"ſ", ""}}, // the long s folds to s
		{"linux", []string{".", "..", "", "/", "a/b", "/a", "../a", "a\x00b"}, make([]string, 8)},
		{"windows", []string{"NUL", "con.txt", "x.", "x ", "a:b", `a\b`, `..\x`, "C:", "\x1b[2J"}, make([]string, 9)},
		{"linux", []string{"NUL", "x.", `a\b`, "..x", "-rf", "\xff"}, []string{"NUL", "x.", `a\b`, "..x", "-rf", "\xff"}},
		{"linux", []string{"a.part", "a.part.json", "A.PART.JSON", "part.json"}, []string{"a.part", "", "", "part.json"}},
	}
	for _, tt := range tests {
		n := EntryNames{goos: tt.goos}
		for i, in := range tt.in {
			got, err := n.Local(in)
			if got != tt.want[i] || (err == nil) != (got != "") || err != nil && !errors.Is(err, ErrName) {
				t.Errorf("%s %q: got %q, %v, want %q", tt.goos, in, got, err, tt.want[i])
			}
		}
	}
}

// hostile is a listing that tries to leave the directory.
var hostile = []string{
	"..", ".", "../up", "/etc/passwd", "a/../../up2", "sub/..", "sub/.", "..\\..\\up3", "", "/", "//", "ok", "ok",
	"link", "x\x00y", "ok.part.json", "\x1b]0;title\a", "-rf",
}

func FuzzEntryNames(f *testing.F) {
	for _, name := range hostile {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, in string) {
		for _, goos := range []string{"linux", "windows", "darwin"} {
			n := EntryNames{goos: goos}
			name, err := n.Local(in)
			if err != nil {
				continue
			}
			if name != in || filepath.Join("d", name) != "d"+string(filepath.Separator)+name {
				t.Errorf("%s: %q is saved as %q", goos, in, name)
			}
			if _, err := n.Local(in); err == nil {
				t.Errorf("%s: %q is given twice", goos, in)
			}
		}
	})
}
