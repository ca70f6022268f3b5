package localfile

import (
	"testing"
	"unicode/utf8"
)

// TestFold compares names that some file system takes for one, and names that none does.
func TestFold(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{"README", "readme", true}, {"d/README", "D/readme", true}, {"\u00c9", "\u00e9", true}, {"\u00e9", "e\u0301", true},
		{"\u00c9", "e\u0301", true}, {"stra\u00dfe", "STRASSE", true}, {"\u03c3", "\u03c2", true}, {"K", "\u212a", true},
		{"a.", "a", true}, {"a ", "a", true}, {"a. ./b", "a/b", true}, {"caf\xe9", "CAF\xe9", true},
		{"a", "b", false}, {"a/b", "ab", false}, {"a.b", "ab", false}, {"caf\xe9", "caf\xc9", false}, {"e", "\u00e9", false}, {"", "a", false},
	} {
		if got := Fold(tt.a) == Fold(tt.b); got != tt.same {
			t.Errorf("Fold(%q) = %q, Fold(%q) = %q, want the same %v", tt.a, Fold(tt.a), tt.b, Fold(tt.b), tt.same)
		}
	}
}

// FuzzRespell checks that each other spelling of a name has the same Fold.
func FuzzRespell(f *testing.F) {
	for _, name := range []string{"README.txt", "\u00c9t\u00e9", "e\u0301", "a. .", "caf\xe9", "\u0130", "\u01c5", "\u1e9e", "..."} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if name == "" { // no file has this name, and "" means that there is no other spelling
			return
		}
		for _, how := range Spellings {
			other := Respell(name, how)
			if how != Tail && other == name || utf8.ValidString(name) && !utf8.ValidString(other) {
				t.Errorf("%q: %d: %q", name, how, other)
			}
		}
		if other := Respell(name, ASCIICase); other != "" && Fold(other) != Fold(name) {
			t.Errorf("%q and %q: %q and %q", name, other, Fold(name), Fold(other))
		}
	})
}
