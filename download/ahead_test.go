package download_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/afero"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/testserver"
)

// newList returns a stand that has fetched a list of n files in three directories, and the tasks. The server has changed
// every tenth since; want is what the next run with Newer must leave.
func newList(t *testing.T, n int, o testserver.Options) (s *onceStand, tasks []download.Task, want map[string]string) {
	fs := afero.NewMemMapFs()
	files := map[string]string{}
	want = map[string]string{}
	for i := range n {
		files[fmt.Sprintf("/%d/f%03d", i*3/n, i)] = fmt.Sprint("file ", i)
	}
	o.FS = afero.NewIOFS(fs)
	s = &onceStand{newStand(t, files, o), fs, files}
	s.options.Each.Existing = download.Newer
	for i, path := range slices.Sorted(maps.Keys(files)) {
		tasks = append(tasks, fileOf(s.url(path), path[1:]))
		want[path[1:]] = files[path]
		if i%10 == 3 {
			want[path[1:]] = "changed"
		}
	}
	if got := s.run(t.Context(), tasks...); !got.Whole() {
		t.Fatal(got.err, s.failures())
	}
	for name, text := range want {
		if text == "changed" {
			s.change("/"+name, text, time.Hour)
		}
	}
	s.srv.ResetCommands()
	return s, tasks, want
}

// TestAsksAhead runs a list again with Newer. The server must be asked about each file once, about many in one flight,
// and must send only those that have changed. A check of the list, and a dry run, ask in the same way.
func TestAsksAhead(t *testing.T) {
	t.Parallel()
	const n, changed = 200, 20
	for name, test := range map[string]struct {
		set    func(s *onceStand)
		sent   int // files that are fetched
		failed int
	}{
		"newer":          {func(*onceStand) {}, changed, 0},
		"one connection": {func(s *onceStand) { s.options.Jobs, s.options.PerHost = 1, 1 }, changed, 0},
		"dry":            {func(s *onceStand) { s.options.Dry = true }, 0, 0},
		"dry, new files": {func(s *onceStand) { s.options.Dry = true; s.moved() }, 0, 0},
		"check":          {func(s *onceStand) { s.options.Check = true }, 0, 0},
		"once":           {func(s *onceStand) { s.options.Once = true }, changed, 0},
		"once, moved":    {func(s *onceStand) { s.options.Once = true; s.moved() }, changed, 0},
		"no ledger": {func(s *onceStand) {
			s.options.Each.Existing = ""
			must.Do(s, os.Remove(filepath.Join(s.dir, ledgerName)))
		}, 0, changed}, // which are other files than those that are here
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, tasks, want := newList(t, n, testserver.Options{})
			test.set(s)
			s.run(t.Context(), tasks...)
			flights := len(s.srv.Flights())
			sent := s.verbs()
			if name == "newer" || name == "one connection" || name == "once" {
				s.compare(want)
			}
			logins, asked := sent[""], n+test.sent // SIZE and MDTM come with RETR once more
			if logins > 4 || sent["RETR"] != test.sent || sent["SIZE"] != asked || sent["MDTM"] != asked {
				t.Errorf("%d logins, sent %v, for %d files of which %d are fetched", logins, sent, n, test.sent)
			}
			if most := 12*logins + 3*test.sent; flights > most {
				t.Errorf("%d flights, at most %d are due", flights, most)
			}
			if failed := s.failures(); len(failed) != test.failed {
				t.Errorf("failures: %q", failed)
			}
		})
	}
}

// TestAsksAheadGone runs a list again with Newer after the server has lost some of the files. These alone fail.
func TestAsksAheadGone(t *testing.T) {
	t.Parallel()
	s, tasks, want := newList(t, 60, testserver.Options{})
	for _, name := range []string{"0/f005", "1/f030"} {
		must.Do(t, s.fs.Remove("/"+name))
	}
	s.run(t.Context(), tasks...)
	failed := s.failures()
	slices.Sort(failed)
	if len(failed) != 2 || !strings.HasPrefix(failed[0], "0/f005: ") || !strings.HasPrefix(failed[1], "1/f030: ") {
		t.Errorf("failures: %q", failed)
	}
	s.compare(want)
}

// TestAsksAheadFaults runs a list again with Newer while the server closes a connection at each command in turn, or
// refuses one. Every file must be right.
func TestAsksAheadFaults(t *testing.T) {
	for name, fault := range map[string]testserver.Action{
		"": testserver.EndControl(testserver.Closed), "502": testserver.Reply("502 no"), "550": testserver.Reply("550 no"),
	} {
		total := int64(1)
		for at := int64(1); at <= total; at += int64(night.Or(23, 1)) {
			var armed atomic.Bool
			var n atomic.Int64
			s, tasks, want := newList(t, 40, testserver.Options{Fault: func(c *testserver.Conn) testserver.Action {
				if !armed.Load() || c.Verb == "" {
					return nil
				}
				if n.Add(1) == at && (name == "" || c.Verb == "SIZE" || c.Verb == "MDTM") {
					return fault
				}
				return nil
			}})
			armed.Store(true)
			if got := s.run(t.Context(), tasks...); !got.Whole() {
				t.Errorf("%s at command %d: %v %q", name, at, got.err, s.failures())
			}
			total = n.Load()
			s.compare(want)
			if t.Failed() {
				return
			}
		}
		if total < 80 {
			t.Errorf("only %d commands", total)
		}
	}
}
