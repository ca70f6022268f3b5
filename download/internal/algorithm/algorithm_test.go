package algorithm

import (
	"slices"
	"testing"
)

// TestStronger compares each pair of algorithms, and expects the order of the table.
func TestStronger(t *testing.T) {
	all := append(Names(), "")
	for i, a := range all {
		for j, b := range all {
			if got := Stronger(a, b); got != (i < j) {
				t.Errorf("Stronger(%q, %q) = %v", a, b, got)
			}
		}
	}
}

// TestNamedIsUnique checks that each spelling belongs to one algorithm, whose name is a spelling too.
func TestNamedIsUnique(t *testing.T) {
	var spellings []string
	for _, a := range algorithms {
		for _, s := range []string{a.name, a.alias} {
			if s != "" && (slices.Contains(spellings, s) || Named(s) != a.name) {
				t.Errorf("%s is not the name of %s alone", s, a.name)
			}
			spellings = append(spellings, s)
		}
	}
	if Named("") != "" || Named("-") != "" {
		t.Error("no name is the name of an algorithm")
	}
}
