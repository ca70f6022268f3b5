package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"example.com/ftpfetch/internal/testkit/must"
)

// TestFlushMany flushes many files: together where that may be done, and one by one if it fails. A file that cannot be
// flushed is the only one with an error.
func TestFlushMany(t *testing.T) {
	defer func() { Fault = nil }()
	for _, n := range []int{1, many - 1, many, 100} {
		for _, together := range []error{nil, syscall.EIO} {
			files := make([]*os.File, n)
			for i := range files {
				files[i] = must.Get(os.Create(filepath.Join(t.TempDir(), fmt.Sprint(i))))(t)
				must.Get(files[i].WriteString("text"))(t)
			}
			var all, single atomic.Int64
			Fault = func(call, path string) error {
				switch {
				case call == "syncfs":
					all.Add(1)
					return together
				case call == "fsync" && path == files[n/2].Name():
					return syscall.ENOSPC
				case call == "fsync":
					single.Add(1)
				}
				return nil
			}
			for i, err := range Flush(files...) {
				if errors.Is(err, syscall.ENOSPC) != (i == n/2) || err != nil && i != n/2 {
					t.Errorf("file %d of %d: %v", i, n, err)
				}
			}
			if all.Load() != min(1, int64(n/many)) || single.Load() != int64(n-1) {
				t.Errorf("%d files: %d flushes together, %d of single files", n, all.Load(), single.Load())
			}
			for _, f := range files {
				f.Close()
			}
		}
	}
}

// TestFlushAll checks when all of a file system may be flushed.
func TestFlushAll(t *testing.T) {
	for text, want := range map[string]int{
		"": 0,
		"MemTotal:  24683656 kB\nDirty:         944 kB\nWriteback:      20 kB\nWritebackTmp:   7 kB\n": 964,
		"Dirty:\nWriteback: x kB\n": 0,
	} {
		if got := unwritten([]byte(text)); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
	proc := must.Get(os.Open("/proc/self/stat"))(t)
	defer proc.Close()
	if err := flushAll([]*os.File{proc}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("no disk: %v", err)
	}
	disk := must.Get(os.Create(filepath.Join(t.TempDir(), "f")))(t)
	defer disk.Close()
	var fs unix.Statfs_t
	must.Do(t, unix.Fstatfs(int(disk.Fd()), &fs))
	if err := flushAll([]*os.File{disk, disk}); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("file system %x: %v", fs.Type, err)
	}
	if !together([]*os.File{disk, disk}) || together([]*os.File{disk, disk, proc, disk}) {
		t.Error("wrong about two file systems")
	}
	if err := flushed(disk); err != nil {
		t.Error(err)
	}
}
