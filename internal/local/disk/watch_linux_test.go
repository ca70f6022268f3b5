package disk

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"example.com/ftpfetch/internal/testkit/must"
)

// TestWatch meddles with a watched file. The watch notices everything that opens the file, and nothing else. A file that
// is open elsewhere already has no watch.
func TestWatch(t *testing.T) {
	t.Setenv("TMPDIR", "/dev/shm") // a file system with watches
	for what, tt := range map[string]struct {
		meddle func(path string) error
		opens  bool
	}{
		"nothing":   {func(string) error { return nil }, false},
		"times":     {func(path string) error { return syscall.Utimes(path, make([]syscall.Timeval, 2)) }, false},
		"renamed":   {func(path string) error { return os.Rename(path, path+"~") }, false},
		"looked at": {func(path string) error { return discard(os.Stat(path)) }, false},
		"read":      {func(path string) error { return discard(os.ReadFile(path)) }, true},
		"written":   {func(path string) error { return os.WriteFile(path, []byte("text"), 0o600) }, true},
		"linked": {func(path string) error {
			return errors.Join(os.Link(path, path+"~"), os.WriteFile(path+"~", nil, 0o600))
		}, true},
	} {
		path := filepath.Join(t.TempDir(), "f")
		f := must.Get(os.Create(path))(t)
		w := WatchOpens(f)
		if w == nil {
			t.Fatal("no watch")
		}
		must.Get(f.WriteString("text"))(t)
		must.Do(t, tt.meddle(path))
		if got := w.Opened(); got != tt.opens {
			t.Errorf("%s: opened: %v", what, got)
		}
		w.Close()
		w.Close() // a part may be closed twice
		second := must.Get(os.OpenFile("/proc/self/fd/"+strconv.Itoa(int(f.Fd())), os.O_RDWR, 0))(t)
		if WatchOpens(f) != nil {
			t.Errorf("%s: a watch of a file that is open elsewhere", what)
		}
		second.Close()
		f.Close()
	}
	proc := must.Get(os.Open("/proc/self/stat"))(t)
	defer proc.Close()
	if WatchOpens(proc) != nil || !(*Watch)(nil).Opened() {
		t.Error("no disk: a watch")
	}
}

// TestDense cuts bytes off a file and writes behind them.
func TestDense(t *testing.T) {
	t.Setenv("TMPDIR", "/dev/shm")
	const size = 1 << 20
	for _, cut := range []int64{size, 0, size / 2} {
		f := must.Get(os.Create(filepath.Join(t.TempDir(), "f")))(t)
		must.Get(f.Write(make([]byte, size)))(t)
		must.Do(t, os.Truncate(f.Name(), cut))
		must.Get(f.WriteString("end"))(t)
		if got := Dense(f, size+3); got != (cut == size) {
			t.Errorf("cut at %d: %v", cut, got)
		}
		f.Close()
	}
}

func discard[T any](_ T, err error) error { return err }
