package partfile

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/testkit/must"
)

// TestDirectoryComesAndGoes creates a part while files that fail remove its directory, and others make it again. A
// directory that is there and takes no files, as those of /proc, is an error.
func TestDirectoryComesAndGoes(t *testing.T) {
	root := must.Get(os.OpenRoot(t.TempDir()))(t)
	defer root.Close()
	must.Do(t, root.Mkdir("d", 0o777))
	defer func() { disk.Fault = nil }()
	for _, gone := range []int{0, 1, 3, 1000} {
		left := gone
		disk.Fault = func(call, path string) error {
			if call == "open" && strings.HasSuffix(path, ".ftpfetch.part") && left > 0 {
				left--
				return syscall.ENOENT
			}
			return nil
		}
		place := must.Get(new(Group).Find(root, "d/f"))(t)
		part, err := place.Claim("ftp://h/f", nil)
		if (err == nil) != (gone < 1000) || err != nil && !strings.Contains(err.Error(), "cannot be created") {
			t.Errorf("gone %d times: %v", gone, err)
		}
		if err == nil {
			part.Discard()
		}
		place.Close(false)
	}
}

// TestPartIsLookedAt claims a part for which another run holds a lease at the moment.
func TestPartIsLookedAt(t *testing.T) {
	defer func() { disk.Fault = nil }()
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "f.ftpfetch.part"), nil, 0o600))
	calls := 0
	disk.Fault = func(call, path string) error {
		if call == "open" && strings.HasSuffix(path, ".ftpfetch.part") {
			if calls++; calls == 2 || calls == 4 { // 1 and 3 find that it is there
				return syscall.EAGAIN
			}
		}
		return nil
	}
	part := must.Get(placeIn(t, dir, "f").Claim("ftp://h/f", nil))(t)
	part.Discard()
	if calls != 6 {
		t.Errorf("%d calls", calls)
	}
}
