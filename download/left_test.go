package download

import (
	"os"
	"strings"
	"testing"

	"example.com/ftpfetch/download/internal/partfile"
)

// killedAfterNaming stops a run before it removes the journal.
func (k *kit) killedAfterNaming(path string) {
	k.Helper()
	onCall(k.T, func(call, p string) error {
		if k.exists("f") && call == "unlink" {
			return errDead
		}
		return nil
	})
	_, _ = k.get(path, Options{})
	partfile.Fault = nil
	if !k.exists("f") || !k.exists("f.part.json") {
		k.Fatalf("there is %q", namesIn(k.T, k.dir))
	}
}

// TestForeignJournalOfTarget puts another user's journal beside a target.
func TestForeignJournalOfTarget(t *testing.T) {
	if os.Geteuid() != 0 {
		return // only root can create another user's file
	}
	k := newKit(t, map[string]string{"/f": body})
	k.killedAfterNaming("/f")
	k.write("f", strings.Repeat("x", len(body)))
	if err := os.Chown(k.path("f.part.json"), 65534, 65534); err != nil {
		t.Fatal(err)
	}
	_, _ = k.get("/f", Options{})
	if !k.exists("f.part.json") {
		t.Error("another user's journal was removed")
	}
}

// TestEmptyLinkedPart checks that a part with other names is not written to, even if it is empty.
func TestEmptyLinkedPart(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	k.write("theirs", "")
	if err := os.Link(k.path("theirs"), k.path("f.part")); err != nil {
		t.Fatal(err)
	}
	_, err := k.get("/f", Options{})
	if got := read(t, k.path("theirs")); got != "" {
		t.Errorf("%v; theirs holds %d bytes", err, len(got))
	}
}

// TestAdoptedPartGone checks that a run starts over if nothing is left of what Continue took.
func TestAdoptedPartGone(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	k.leaves("/f", 100_000)
	j := read(t, k.path("f.part.json"))
	k.remove("f.part")
	k.write("f.part.json", strings.Replace(j, `"inode"`, `"adopted":1000,"inode"`, 1))
	if _, err := k.get("/f", Options{}); err != nil {
		t.Errorf("got %v", err)
	}
}

// TestOverwriteAfterContinue checks that Overwrite starts over and does not keep what Continue took.
func TestOverwriteAfterContinue(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	k.write("f.part", strings.Repeat("x", 1000))
	k.faulty(cut(1, 100_000))
	_, _ = k.get("/f", Options{Continue: true, Retries: -1})
	k.faulty(nil)
	if _, err := k.get("/f", Options{Overwrite: true}); err != nil || read(t, k.path("f")) != body {
		t.Errorf("got %v, and f begins with %q", err, read(t, k.path("f"))[:5])
	}
}
