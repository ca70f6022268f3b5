package download_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/testserver"
)

// TestDirectoryMoved renames an output directory before each call on the disk, and may make a new one of that name,
// while a run fetches files or finds them complete by their digests or the ledger. A run must fail, even if it had
// reported the files that were moved, unless it was looking the directories up for the last time. The next run must
// fetch the files again.
func TestDirectoryMoved(t *testing.T) {
	files := randomFiles(6)
	t.Cleanup(func() { disk.Fault = nil })
	runs := 0
	for _, state := range []string{"nothing", "all", "all, without a ledger", "tree"} {
		s := &sweeper{stand: newStand(t, files, testserver.Options{})}
		s.options.Jobs, s.options.PerHost = 3, 3
		tasks := s.tasks(files)
		for i := range tasks {
			if state == "all" { // leave only the ledger to show that they are complete
				tasks[i].Sum = digest.Sum{}
			}
		}
		if state == "tree" {
			tasks = []download.Task{treeOf(t, s.srv.URL("/"), download.Tree{})}
		}
		run := func(context.Context) { s.totals = s.run(t.Context(), tasks...) }
		for at, more := 1, true; more; at += night.Or(7, 1) {
			for _, anew := range []bool{false, true} {
				runs++
				s.dir = t.TempDir()
				if state != "nothing" && state != "tree" {
					s.count(run)
				}
				if state == "all, without a ledger" {
					must.Do(t, os.Remove(filepath.Join(s.dir, ledgerName)))
				}
				more = s.moved(at, anew, run)
				second := s.count(run)
				if !second.Whole() || second.there < 6 {
					t.Errorf("%s, moved before call %d, anew %v: the second run %+v, %q", state, at, anew, second, s.failures())
				}
				if t.Failed() {
					t.Fatalf("%s, moved before call %d, anew %v", state, at, anew)
				}
			}
		}
	}
	t.Logf("%d runs", runs)
}

// moved runs once, and renames a directory before call number at. It reports whether the run made that many calls.
func (s *sweeper) moved(at int, anew bool, run func(context.Context)) bool {
	s.Helper()
	var mu sync.Mutex
	n, last, from := 0, "", filepath.Join(s.dir, "d0") // this directory has two files
	ending, before := false, false
	disk.Fault = func(call, path string) error {
		mu.Lock()
		defer mu.Unlock()
		if n++; n != at {
			ending = ending || call == "stat again"
			return nil
		}
		last = call + " " + path
		before = ending // the directories are looked up one by one, and the turn of d0 may be over
		if os.Rename(from, filepath.Join(s.dir, "old")) == nil && anew {
			must.Do(s, os.Mkdir(from, 0o777))
		}
		return nil
	}
	first := s.count(run)
	disk.Fault = nil
	if first.Whole() && first.there < 6 && !before {
		s.Errorf("%s: the run is whole, but %d files are there: %+v", last, first.there, first)
	}
	return n >= at
}

// TestDirectoryMovedLater changes a directory right after its only file was reported as complete, while the run goes on
// with the files of other directories, more than it keeps open. The run must fail.
func TestDirectoryMovedLater(t *testing.T) {
	files := make(map[string]string)
	for i := range 20 {
		files[fmt.Sprintf("/d%02d/f", i)] = fmt.Sprint(i)
	}
	for what, change := range map[string]func(dir string) error{
		"renamed":  func(dir string) error { return os.Rename(dir, dir+"-old") },
		"removed":  os.RemoveAll,
		"replaced": func(dir string) error { return errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o777)) },
		"a file":   func(dir string) error { return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o666)) },
	} {
		for i := range files {
			s := newStand(t, files, testserver.Options{})
			moved := 0
			s.options.Jobs = 1
			s.options.Events = func(e download.Event) {
				if e.Kind == download.Ended && e.Err == nil && "/"+e.Task.Path == i {
					moved++
					must.Do(t, change(filepath.Join(s.dir, filepath.Dir(e.Task.Path))))
				}
			}
			root := must.Get(os.OpenRoot(s.dir))(t)
			s.options.Each.Root = root
			_, err := download.Run(t.Context(), &s.client, slices.Values([]download.Task{treeOf(t, s.srv.URL("/"), download.Tree{})}), &s.options)
			root.Close()
			s.client.CloseIdleConnections()
			if moved != 1 || !errors.Is(err, download.ErrLocal) {
				t.Errorf("%s is %s: %v", i, what, err)
			}
		}
	}
}
