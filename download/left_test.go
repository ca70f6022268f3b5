package download

import (
	"strings"
	"testing"
)

// TestAdoptedPartGone checks that a run starts over if nothing is left of what Continue took.
func TestAdoptedPartGone(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	k.leaves("/f", 100_000)
	j := read(t, k.path("f.ftpfetch.json"))
	k.remove("f.ftpfetch.part")
	k.write("f.ftpfetch.json", strings.Replace(j, `"done"`, `"adopted":1000,"done"`, 1))
	if _, err := k.get("/f", Options{}); err != nil {
		t.Errorf("got %v", err)
	}
}

// TestOverwriteAfterContinue checks that Overwrite starts over and does not keep what Continue took.
func TestOverwriteAfterContinue(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	k.write("f", strings.Repeat("x", 1000))
	k.faulty(cut(1, 100_000))
	_, _ = k.get("/f", Options{Continue: true, Retries: -1})
	k.faulty(nil)
	if _, err := k.get("/f", Options{Overwrite: true}); err != nil || read(t, k.path("f")) != body {
		t.Errorf("got %v, and f begins with %q", err, read(t, k.path("f"))[:5])
	}
}
