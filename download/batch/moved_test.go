package batch_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/rules/must"
	"example.com/ftpfetch/internal/rules/night"
	"example.com/ftpfetch/testserver"
)

// TestDirectoryMoved renames an output directory before each call on the disk, and may make a new one of that name,
// while a run fetches files or finds them complete by their digests or the ledger. A run must fail if it had not yet
// reported the files that were moved, and the next run must fetch them again.
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
			tasks = []batch.Task{treeOf(t, s.srv.URL("/"), batch.Tree{})}
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
	told, named, checked, before := 0, 0, false, false
	s.options.Events = func(e batch.Event) {
		mu.Lock()
		defer mu.Unlock()
		if e.Kind == download.Ended && e.Err == nil && strings.HasPrefix(e.Task.Path, "d0/f") {
			told++
		}
	}
	disk.Fault = func(call, path string) error {
		mu.Lock()
		defer mu.Unlock()
		if n++; n != at {
			switch {
			case strings.HasSuffix(path, ".ftpfetch.part") && filepath.Base(filepath.Dir(path)) == "d0" && slices.Contains([]string{"renameat2", "link", "rename"}, call):
				named++
			case call == "stat" && filepath.Base(path) == "d0" && named == 2: // both files are about to be reported
				checked = true
			}
			return nil
		}
		last = call + " " + path
		before = told == 2 || checked || call == "stat" && filepath.Base(path) != "d0" // the turn of d0 may be over
		if os.Rename(from, filepath.Join(s.dir, "old")) == nil && anew {
			must.Do(s, os.Mkdir(from, 0o777))
		}
		return nil
	}
	first := s.count(run)
	disk.Fault, s.options.Events = nil, nil
	if first.Whole() && first.there < 6 && !before {
		s.Errorf("%s: the run is whole, but %d files are there: %+v", last, first.there, first)
	}
	return n >= at
}
