package claims

import (
	"fmt"
	"strings"
	"testing"
)

// words has a word for each Clash.
var words = map[Clash]string{None: "no", Same: "same", Respelled: "respelled", BelowFile: "below", AboveFile: "above"}

// TestAdd adds paths one after the other. A row says whether and how each path conflicts with an earlier one.
func TestAdd(t *testing.T) {
	for _, row := range []struct{ paths, want string }{
		{"a b c/d", "no no no"},
		{"a a", "no same"},
		{"a/b a/b", "no same"},
		{"a a/b", "no below"},
		{"a a/b/c/d", "no below"},
		{"a/b a", "no above"},
		{"a/b/c/d a/b", "no above"},
		{"a/b a/c ab", "no no no"},
		{"a/b a/b/c a", "no below above"},
	} {
		p := New()
		var got []string
		for i, path := range strings.Fields(row.paths) {
			mine := Claim{Who: int32(i + 1), What: p.Hash(path)}
			first, clash := p.Add(path, mine)
			if clash != None && first.Who != 1 {
				t.Errorf("%s: %s conflicts with file %d, want the first", row.paths, path, first.Who)
			}
			got = append(got, words[clash])
		}
		if all := strings.Join(got, " "); all != row.want {
			t.Errorf("%s: got %q, want %q", row.paths, all, row.want)
		}
	}
}

// TestFirstStays checks that a path stays with the file that claimed it first, and that a hash tells two texts apart.
func TestFirstStays(t *testing.T) {
	p := New()
	p.Add("a", Claim{Who: 7, What: p.Hash("seven")})
	for who := range int32(3) {
		first, clash := p.Add("a", Claim{Who: who + 1, What: 1})
		if clash != Same || first != (Claim{Who: 7, What: p.Hash("seven")}) {
			t.Errorf("file %d: got %v and %v", who+1, first, clash)
		}
	}
	if p.Hash("seven") == p.Hash("eight") {
		t.Error("two texts have one hash")
	}
}

// TestConcurrent checks that each path goes to one of several goroutines that claim it at the same time.
func TestConcurrent(t *testing.T) {
	const files, claimants = 200, 8
	p := New()
	won := make(chan string, files*claimants)
	done := make(chan bool)
	for who := range claimants {
		go func() {
			for i := range files {
				path := fmt.Sprint("d/", i)
				if _, clash := p.Add(path, Claim{Who: int32(who + 1), What: uint32(who)}); clash == None {
					won <- path
				}
			}
			done <- true
		}()
	}
	for range claimants {
		<-done
	}
	if len(won) != files {
		t.Errorf("%d claims were granted for %d paths", len(won), files)
	}
}

// TestSpellings adds paths that differ only in their spelling, where that counts and where it does not.
func TestSpellings(t *testing.T) {
	for _, row := range []struct{ paths, one, two string }{
		{"README readme README", "no respelled same", "no no same"},
		{"readme README readme", "no respelled same", "no no same"},
		{"A/x a/x A/X", "no same respelled", "no no no"},
		{"A/x a/y", "no no", "no no"},
		{"a A/b", "no below", "no no"},
		{"A/b a", "no above", "no no"},
		{"A/x a/x/y", "no below", "no no"},
		{"A/x a/y A/Y", "no no respelled", "no no no"},
		{"b B c", "no respelled no", "no no no"},
	} {
		for folds, want := range map[bool]string{true: row.one, false: row.two} {
			p := New()
			asked := 0
			p.Folds = func(string, string) bool { asked++; return folds }
			var got []string
			for i, path := range strings.Fields(row.paths) {
				_, clash := p.Add(path, Claim{Who: int32(i + 1), What: p.Hash(path)})
				got = append(got, words[clash])
			}
			if all := strings.Join(got, " "); all != want || asked == 0 {
				t.Errorf("%s, folds %v: got %q, want %q, asked %d times", row.paths, folds, all, want, asked)
			}
		}
	}
}
