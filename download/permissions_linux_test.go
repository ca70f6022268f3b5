package download

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/testkit/must"
)

// withoutRoot runs f with the file permissions of an ordinary user, even if the tests run as root. On Linux each thread
// has its own.
func withoutRoot(t *testing.T, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		f()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // there is no Unlock, so that the thread ends with f
		if err := syscall.Setfsuid(65534); err != nil {
			t.Error(err)
			return
		}
		f()
	}()
	<-done
}

func TestReadOnlyDirectory(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.Chmod(filepath.Dir(dir), 0o755))
	must.Do(t, os.Chmod(dir, 0o555))
	withoutRoot(t, func() {
		_, err := File(t.Context(), memorySource{contents: "x"}, urlOf(t, "ftp://h/f"), filepath.Join(dir, "f"), nil)
		var local *localfile.Error
		if !errors.Is(err, os.ErrPermission) || !errors.As(err, &local) || local.Path != filepath.Join(dir, "f.ftpfetch.part") {
			t.Errorf("got %v, want a permission error about f.ftpfetch.part", err)
		}
	})
	wantFiles(t, dir, nil)
}

// TestReadOnlyTarget checks that a run can replace a read-only file, because only the directory must be writable.
func TestReadOnlyTarget(t *testing.T) {
	for _, o := range []Options{{Existing: Overwrite}, {Existing: Newer}} {
		k := newKit(t, map[string]string{"/f": body})
		k.write("f", "old")
		must.Do(t, errors.Join(os.Chmod(k.path("f"), 0o444), os.Chmod(k.dir, 0o777), os.Chmod(filepath.Dir(k.dir), 0o755)))
		k.faulty(cut(1, 1000))
		withoutRoot(t, func() {
			if _, err := k.get("/f", o); err != nil {
				t.Error(err)
			}
		})
		if info, err := os.Stat(k.path("f")); err != nil || info.Mode() != 0o444 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
		k.want(map[string]string{"f": body})
	}
}

// TestJournalUnreadable checks that a run fails and keeps the part if it cannot read the journal.
func TestJournalUnreadable(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	k.leaves("/f", 100_000)
	must.Do(t, errors.Join(os.Chmod(k.path("f.ftpfetch.json"), 0), os.Chmod(k.dir, 0o777), os.Chmod(filepath.Dir(k.dir), 0o755)))
	withoutRoot(t, func() {
		if _, err := k.get("/f", Options{}); !errors.Is(err, os.ErrPermission) || !errors.Is(err, ErrLocal) {
			t.Errorf("got %v, want a permission error", err)
		}
	})
	wantNames(t, k.dir, k.json, k.part)
}

// mountSmall mounts a small file system at dir. It fails without the privilege to mount.
func mountSmall(dir, size string) error {
	return syscall.Mount("none", dir, "tmpfs", 0, "size="+size)
}

func unmount(t *testing.T, dir string) {
	if err := syscall.Unmount(dir, 0); err != nil {
		t.Error(err)
	}
}
