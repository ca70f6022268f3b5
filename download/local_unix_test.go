//go:build unix

package download

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestFilePlaces tries every kind of target that a path can name.
func TestFilePlaces(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	k.write("file", "")
	link := k.path("link")
	if err := os.Symlink(k.dir, link); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		path string
		err  error
	}{
		{"", ErrName}, {k.dir, ErrName}, {k.dir + "/", ErrName}, {link, ErrName}, {k.path("new") + "/", ErrName},
		{k.path("none/f"), os.ErrNotExist}, {k.path("file/f"), syscall.ENOTDIR},
		{k.path(strings.Repeat("n", 256)), syscall.ENAMETOOLONG},
		{"/dev/full", syscall.ENOSPC},
	}
	for _, tt := range tests {
		_, err := File(t.Context(), k.c, k.url("/f"), tt.path, &Options{Existing: Overwrite})
		if !errors.Is(err, tt.err) || !errors.Is(err, ErrLocal) {
			t.Errorf("%.80q: got %v, want %v", tt.path, err, tt.err)
		}
	}
	if r, err := File(t.Context(), k.c, k.url("/f"), os.DevNull, nil); err != nil || r.Size != int64(len(body)) {
		t.Errorf("%s: %+v, %v", os.DevNull, r, err)
	}
	wantNames(t, k.dir, "file", "link")
}

// TestFileToFIFO checks that a FIFO gets the bytes as they arrive, even after a
// failure and a retry.
func TestFileToFIFO(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	if err := syscall.Mkfifo(k.path("f"), 0o600); err != nil {
		t.Fatal(err)
	}
	k.faulty(cut(1, 100_000))
	got := make(chan string)
	go func() { b, _ := os.ReadFile(k.path("f")); got <- string(b) }()
	if _, err := k.get("/f", Options{}); err != nil {
		t.Error(err)
	}
	if <-got != body {
		t.Error("the reader got something else")
	}
}

// TestFileMode checks that the mode follows umask, or the file to replace.
func TestFileMode(t *testing.T) {
	old := syscall.Umask(0o027)
	defer syscall.Umask(old)
	k := newKit(t, map[string]string{"/f": body})
	for _, want := range []os.FileMode{0o640, 0o600} {
		if _, err := k.get("/f", Options{Existing: Overwrite}); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(k.path("f"))
		if err != nil || info.Mode() != want {
			t.Errorf("mode %v, %v, want %v", info.Mode(), err, want)
		}
		if err := os.Chmod(k.path("f"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFileJournalMode checks that only the owner can read the journal: a URL may
// be private.
func TestFileJournalMode(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	k.leaves("/f", 1000)
	info, err := os.Stat(k.path("f.part.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// TestFilePartOfOthers checks that a run trusts no bytes that another user left
// in a directory that both can write to.
func TestFilePartOfOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		return
	}
	for _, name := range []string{"f.part", "f.part.json"} {
		k := newKit(t, map[string]string{"/f": body})
		k.leaves("/f", 1000)
		if err := os.Chown(k.path(name), 65534, 65534); err != nil {
			t.Fatal(err)
		}
		for _, o := range []Options{{}, {Continue: true}, {Existing: Overwrite}} {
			if _, err := k.get("/f", o); !errors.Is(err, ErrForeign) {
				t.Errorf("%s: got %v, want ErrForeign", name, err)
			}
		}
		wantNames(t, k.dir, "f.part", "f.part.json")
	}
}
