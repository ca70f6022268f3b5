//go:build unix

package ledger

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
)

// TestLedgerFlushed checks that Flush fails if the disk cannot be flushed. It writes to a pipe, which takes the record
// but cannot be flushed.
func TestLedgerFlushed(t *testing.T) {
	r, w, err := os.Pipe()
	must.Do(t, err)
	defer r.Close()
	defer w.Close()
	l := &Ledger{store: &store{own: w}}
	if err := errors.Join(l.Add(Record{Path: "f"}), l.Flush()); !errors.Is(err, localfile.ErrLocal) {
		t.Errorf("got %v, want the failure of the flush", err)
	}
}

// TestLedgerForeign plants ledgers of every kind, mode and owner, under the run's own name and under others. A run must
// trust a ledger only if no other user can have written it, and must still record its own files.
func TestLedgerForeign(t *testing.T) {
	regular := func(mode fs.FileMode, uid int) func(string, []byte) error {
		return func(path string, text []byte) error {
			return errors.Join(os.WriteFile(path, text, 0o600), os.Chmod(path, mode), os.Chown(path, uid, -1))
		}
	}
	const ours, foreign = -1, 12345
	kinds := []struct {
		what    string
		believe bool
		plant   func(path string, text []byte) error
	}{
		{"a directory", false, func(path string, _ []byte) error { return os.Mkdir(path, 0o777) }},
		{"a link", false, func(path string, text []byte) error {
			return errors.Join(os.WriteFile(path+"x", text, 0o600), os.Rename(path+"x", filepath.Dir(path)+"/target"), os.Symlink("target", path))
		}},
		{"a dangling link", false, func(path string, _ []byte) error { return os.Symlink("nothing", path) }},
		{"a FIFO", false, func(path string, _ []byte) error { return syscall.Mkfifo(path, 0o600) }},
		{"a socket", false, func(path string, _ []byte) error { return syscall.Mknod(path, syscall.S_IFSOCK|0o600, 0) }},
	}
	for mode := fs.FileMode(0o600); mode <= 0o677; mode += fs.FileMode(night.Or(0o11, 1)) {
		kinds = append(kinds, struct {
			what    string
			believe bool
			plant   func(path string, text []byte) error
		}{mode.String(), mode&0o022 == 0, regular(mode, ours)})
		if os.Geteuid() == 0 {
			kinds = append(kinds, kinds[len(kinds)-1])
			last := &kinds[len(kinds)-1]
			last.what, last.believe, last.plant = "foreign "+last.what, false, regular(mode, foreign)
		}
	}
	cases := 0
	for _, kind := range kinds {
		for _, name := range []string{Name, Name + ".evil", Name + "-1-of-2"} {
			cases++
			r := newRoom(t)
			r.add(r.open(Name), "planted", 1)
			path := filepath.Join(r.dir, Name)
			text := []byte(r.text(Name))
			must.Do(t, errors.Join(os.Remove(path), kind.plant(filepath.Join(r.dir, name), text)))
			l := r.open(Name)
			r.has(l, "planted", 1, kind.believe)
			if slices.Contains(l.Ignored, name) == kind.believe {
				t.Errorf("%s as %s: ignored are %q", kind.what, name, l.Ignored)
			}
			r.add(l, "a", 1)
			r.has(r.open(Name), "a", 1, true)
			if _, err := os.Stat(filepath.Join(r.dir, "nothing")); err == nil || t.Failed() {
				t.Fatalf("%s as %s: something was written through the link, or the above", kind.what, name)
			}
		}
	}
	t.Logf("%d cases", cases)
}

// TestLedgerForeignFile checks that no record counts for another user's file.
func TestLedgerForeignFile(t *testing.T) {
	r := newRoom(t)
	r.add(r.open(Name), "f", 0)
	path := filepath.Join(r.dir, "f")
	must.Do(t, errors.Join(os.WriteFile(path, nil, 0o666), os.Chtimes(path, modified, modified)))
	for _, uid := range []int{os.Geteuid(), 12345} {
		if err := os.Chown(path, uid, -1); err != nil {
			return // only root may change the owner of a file
		}
		info := must.Get(r.root.Lstat("f"))(t)
		if _, ok := r.open(Name).Find("f", info); ok != (uid == os.Geteuid()) {
			t.Errorf("of user %d: %v", uid, ok)
		}
	}
}

// TestLedgerModes opens a ledger that others may write to. It counts only where the disk gives every file such a mode.
func TestLedgerModes(t *testing.T) {
	for _, modeless := range []bool{false, true} {
		r := newRoom(t)
		r.add(r.open(Name), "f", 1)
		must.Do(t, os.Chmod(filepath.Join(r.dir, Name), 0o777))
		probeMode = 0o600
		if modeless {
			probeMode = 0o777
		}
		t.Cleanup(func() { probeMode = 0o600 })
		was := syscall.Umask(0)
		l := r.open(Name)
		syscall.Umask(was)
		r.has(l, "f", 1, modeless)
		if (len(l.Ignored) > 0) == modeless {
			t.Errorf("%v: ignored are %q", modeless, l.Ignored)
		}
		if left, _ := filepath.Glob(filepath.Join(r.dir, ".ftpfetch-mode-*")); len(left) > 0 {
			t.Errorf("%q is left", left)
		}
	}
}
