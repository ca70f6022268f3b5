package download

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/ftpfetch/testserver"
)

// TestNamedForAnotherURL has a run killed between naming the target and removing
// the journal, and then one of another URL: it must not call the file complete.
func TestNamedForAnotherURL(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body, "/g": "the other file"})
	k.killedAfterNaming("/f")
	r, err := k.get("/g", Options{})
	if err == nil && read(t, k.path("f")) != "the other file" {
		t.Errorf("got %+v, nil error, and f holds another URL's file", r)
	}
}

// TestNamedAndChangedSince is the same for a file that has changed on the server
// since.
func TestNamedAndChangedSince(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	k.killedAfterNaming("/f")
	k.change("/f", "a later version", kitTime.Add(time.Hour))
	r, err := k.get("/f", Options{})
	if err == nil && read(t, k.path("f")) != "a later version" {
		t.Errorf("got %+v, nil error, and f is not the server's file", r)
	}
}

// killedAfterNaming has a run stop before it removes the journal.
func (k *kit) killedAfterNaming(path string) {
	k.Helper()
	onCall(k.T, func(call, p string) error {
		if k.exists("f") && call == "unlink" {
			return errDead
		}
		return nil
	})
	_, _ = k.get(path, Options{})
	fault = nil
	if !k.exists("f") || !k.exists("f.part.json") {
		k.Fatalf("there is %q", namesIn(k.T, k.dir))
	}
}

// TestForeignJournalOfTarget has the journal beside a target be another user's.
func TestForeignJournalOfTarget(t *testing.T) {
	if os.Geteuid() != 0 {
		return // only root makes another user's file
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

// TestKeptOnFullDisk counts as kept only what the journal on the disk claims.
func TestKeptOnFullDisk(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	k.faulty(cut(1, 100_000))
	opens := 0
	onCall(t, func(call, path string) error {
		if call == "open" && strings.HasSuffix(path, "~") {
			if opens++; opens > 1 {
				return syscall.ENOSPC
			}
		}
		return nil
	})
	r, err := k.get("/f", Options{Retries: new(0)})
	fault = nil
	k.faulty(nil)
	again, aerr := k.get("/f", Options{})
	if r.Kept != again.Resumed {
		t.Errorf("%v: kept %d octets; the next run (%v) goes on from %d", err, r.Kept, aerr, again.Resumed)
	}
}

// TestSilentServer has the server no longer tell the size at the end: that is no
// change of the file, and nothing is given up for it.
func TestSilentServer(t *testing.T) {
	for _, reply := range []string{"450 busy", "550 no"} {
		k := newKit(t, map[string]string{"/f": body})
		k.leaves("/f", 100_000)
		sizes, retrs := 0, 0
		k.faulty(func(p testserver.FaultPoint) testserver.Fault {
			switch p.Verb {
			case "SIZE":
				if sizes++; sizes > 1 {
					return testserver.Fault{Reply: reply}
				}
			case "RETR":
				if retrs++; retrs > 1 {
					return testserver.Fault{Reply: "550 no"}
				}
			}
			return testserver.Fault{}
		})
		_, err := k.get("/f", Options{})
		if !k.exists("f") && !k.exists("f.part") {
			t.Errorf("%s: got %v, and all octets are gone", reply, err)
		}
	}
}

// TestContinueBesideOwnPart finds a part of an earlier run beside the target, and
// says whose it is.
func TestContinueBesideOwnPart(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	k.leaves("/f", 100_000)
	k.write("f", body[:1000])
	_, err := k.get("/f", Options{Continue: true})
	if err != nil && strings.Contains(err.Error(), "this program did not write") {
		t.Errorf("got %v of a part with its journal", err)
	}
}

// TestEmptyLinkedPart writes to no part that has other names, though it is empty.
func TestEmptyLinkedPart(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	k.write("theirs", "")
	if err := os.Link(k.path("theirs"), k.path("f.part")); err != nil {
		t.Fatal(err)
	}
	_, err := k.get("/f", Options{})
	if got := read(t, k.path("theirs")); got != "" {
		t.Errorf("%v; theirs holds %d octets", err, len(got))
	}
}

// TestAdoptedPartGone begins again where nothing is left of what Continue took.
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

// TestModeZero keeps the mode of the file replaced, even if it is 0.
func TestModeZero(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	k.write("f", "old")
	k.chmod("f", 0)
	if _, err := k.get("/f", Options{Existing: Overwrite}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(k.path("f")); err != nil || info.Mode().Perm() != 0 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// TestOverwriteAfterContinue begins again and does not keep what Continue took.
func TestOverwriteAfterContinue(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	k.write("f.part", strings.Repeat("x", 1000))
	k.faulty(cut(1, 100_000))
	_, _ = k.get("/f", Options{Continue: true, Retries: new(0)})
	k.faulty(nil)
	if _, err := k.get("/f", Options{Existing: Overwrite}); err != nil || read(t, k.path("f")) != body {
		t.Errorf("got %v, and f begins with %q", err, read(t, k.path("f"))[:5])
	}
}
