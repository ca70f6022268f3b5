package download_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// TestFlushedLater makes the flush of a directory fail after its files have got their names, or kills the run there.
// The next run must flush the directory before it reports the files as complete, unless their names are old. It must do
// so however it knows that they are complete.
func TestFlushedLater(t *testing.T) {
	files := map[string]string{"/d/f": "f", "/d/g": "g"}
	t.Cleanup(func() { disk.Fault = nil })
	for _, by := range []string{"the ledger", "the digest", "the size and time", "-N", "-N, lone"} {
		s := newStand(t, files, testserver.Options{})
		tasks := s.tasks(files)
		for i := range tasks {
			if by != "the digest" {
				tasks[i].Sum = digest.Sum{}
			}
		}
		if strings.HasPrefix(by, "-N") {
			s.options.Each.Existing = download.Newer
		}
		if by == "-N" {
			tasks = []download.Task{treeOf(t, s.srv.URL("/"), download.Tree{})}
		}
		fails, flushes := true, 0
		var mu sync.Mutex
		disk.Fault = func(call, path string) error {
			mu.Lock()
			defer mu.Unlock()
			if call != "fsync" || filepath.Base(filepath.Clean(path)) != "d" {
				return nil
			}
			if flushes++; fails {
				return syscall.EIO
			}
			return nil
		}
		run := func(want bool) int {
			t.Helper()
			flushes = 0
			if by != "the ledger" {
				_ = os.Remove(filepath.Join(s.dir, ledgerName))
			}
			if got := s.run(t.Context(), tasks...); got.Whole() != want {
				t.Errorf("%s: %+v, %q, want it whole: %v", by, got, s.failures(), want)
			}
			return flushes
		}
		run(false)
		s.compare(below(files))
		run(false)
		fails = false
		if n := run(true); n == 0 {
			t.Errorf("%s: the names are not flushed", by)
		}
		run(true)
		old := time.Now().Add(-2 * time.Hour)
		must.Do(t, os.Chtimes(filepath.Join(s.dir, "d"), old, old))
		if n := run(true); n > 0 {
			t.Errorf("%s: old names are flushed %d times", by, n)
		}
	}
}

// TestNamesAreFlushed checks, each time a run reports a file as complete and at its end, that the names of the
// directories that it made are on the disk.
func TestNamesAreFlushed(t *testing.T) {
	files := map[string]string{"/a/b/c/f": "f", "/a/b/d/g": "g", "/e/h": "h"}
	s := newStand(t, map[string]string{"/a/b/c/f": "f", "/a/b/d/g": "g", "/e/h": "h", "/a/b/empty/none/": ""}, testserver.Options{})
	tree := []download.Task{treeOf(t, s.srv.URL("/"), download.Tree{})}
	t.Cleanup(func() { disk.Fault = nil })
	for _, tasks := range [][]download.Task{tree, s.tasks(files)} {
		s.dir = t.TempDir()
		made := map[string]bool{} // directories that the run made; true: the name is on the disk
		var mu sync.Mutex
		disk.Fault = func(call, path string) error {
			mu.Lock()
			defer mu.Unlock()
			switch path = filepath.Clean(path); call {
			case "mkdir":
				if _, err := os.Lstat(path); err != nil {
					made[path] = false
				}
			case "fsync":
				for dir := range made {
					made[dir] = made[dir] || filepath.Dir(dir) == path
				}
			}
			return nil
		}
		missing := func(below string) (all []string) {
			mu.Lock()
			defer mu.Unlock()
			for dir, flushed := range made {
				if !flushed && strings.HasPrefix(below, dir) {
					all = append(all, dir)
				}
			}
			return slices.Sorted(slices.Values(all))
		}
		s.options.Events = func(e download.Event) {
			if e.Kind == download.Ended && e.Err == nil {
				if left := missing(filepath.Join(s.dir, e.Task.Path)); len(left) > 0 {
					t.Errorf("%s is told to be there, and the names of %q are not on the disk", e.Task.Path, left)
				}
			}
		}
		if got := s.run(context.Background(), tasks...); !got.Whole() || len(made) < 5 {
			t.Errorf("%+v, %q, made %v", got, s.failures(), made)
		}
		for dir, flushed := range made {
			if !flushed {
				t.Errorf("at the end the name of %s is not on the disk", dir)
			}
		}
	}
}

// TestRecordIsOfTheFile lets a run replace a damaged file of the right size and time. It makes each call on the disk
// fail, or kills the run there, and checks that the ledger never has a record that matches the damaged file.
func TestRecordIsOfTheFile(t *testing.T) {
	files := map[string]string{"/f": "right", "/g": "large"}
	t.Cleanup(func() { disk.Fault = nil })
	dead, runs, vouched := errors.New("dead"), 0, 0
	for _, kind := range []error{syscall.EIO, dead} {
		for at, more := int64(1), true; more; at++ {
			s := newStand(t, files, testserver.Options{})
			tasks := s.tasks(files)
			for path := range files {
				s.write(path[1:], "wrong", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
			}
			ctx, cancel := context.WithCancel(t.Context())
			var calls atomic.Int64
			disk.Fault = func(string, string) error {
				switch n := calls.Add(1); {
				case n > at && kind == dead, n == at:
					if kind == dead {
						cancel()
					}
					return kind
				}
				return nil
			}
			s.options.Each.Existing = download.Overwrite
			s.run(ctx, tasks...)
			disk.Fault = nil
			cancel()
			more = calls.Load() >= at
			runs++
			s.options.Each.Existing = ""
			s.run(t.Context(), tasks...)
			for _, o := range s.outcomes {
				text, _ := os.ReadFile(filepath.Join(s.dir, o.Task.Path))
				if o.Err == nil && string(text) != files["/"+o.Task.Path] {
					t.Errorf("%v at call %d: %s is %q, %s", kind, at, o.Task.Path, text, o.Result.Left)
				}
				if o.Err == nil {
					vouched++
				}
			}
		}
	}
	t.Logf("%d runs, %d files found right", runs, vouched)
}
