package urlparse

import "testing"

// TestNormalHost checks, for all short texts of these characters, that a host which counts as normal is what Parse makes
// of it.
func TestNormalHost(t *testing.T) {
	const letters = "aZ0-._:é"
	normal := 0
	var try func(text string)
	try = func(text string) {
		if isNormal(text) {
			normal++
			if h, f := host(part{s: bracket(text)}); f == nil && bracket(h) != text {
				t.Errorf("%s is normal, but Parse makes %s of it", text, h)
			}
		}
		if len(text) < 5 {
			for _, c := range letters {
				try(text + string(c))
			}
		}
	}
	try("")
	if normal < 100 {
		t.Errorf("only %d are normal", normal)
	}
}
