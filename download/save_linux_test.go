package download

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// withoutRoot runs f with the file permissions of an ordinary user, also where
// the tests run as root: Linux keeps those by thread.
func withoutRoot(t *testing.T, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		f()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends with f
		if err := syscall.Setfsuid(65534); err != nil {
			t.Error(err)
			return
		}
		f()
	}()
	<-done
}

func TestSaveReadOnlyDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	withoutRoot(t, func() {
		_, err := saveText(filepath.Join(dir, "f"), "x", Refuse)
		var local *Error
		if !errors.Is(err, os.ErrPermission) || !errors.As(err, &local) || local.Path != filepath.Join(dir, "f.part") {
			t.Errorf("got %v, want a permission error about f.part", err)
		}
	})
	wantFiles(t, dir, nil)
}
