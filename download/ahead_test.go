package download_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/afero"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
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
			// SIZE and MDTM come with RETR once more. Before a file is refused because of an older answer, the server is
			// asked again.
			logins, most := sent[""], n+test.sent+test.failed
			asked := sent["SIZE"]
			if logins > 4 || sent["RETR"] != test.sent || asked != sent["MDTM"] || asked > most || asked < n+test.sent {
				t.Errorf("%d logins, sent %v, for %d files of which %d are fetched", logins, sent, n, test.sent)
			}
			if most := 12*logins + 3*(test.sent+test.failed); flights > most {
				t.Errorf("%d flights, at most %d are due", flights, most)
			}
			if failed := s.failures(); len(failed) != test.failed {
				t.Errorf("failures: %q", failed)
			}
		})
	}
}

// TestAsksAheadGrows continues files of a list, one of which grows after the server was asked about it. All must be as
// they are on the server now.
func TestAsksAheadGrows(t *testing.T) {
	t.Parallel()
	for _, existing := range []download.Existing{download.Continue, download.NewerOrContinue} {
		files := map[string]string{"/a": strings.Repeat("0123456789", 200), "/b": strings.Repeat("0123456789", 200)}
		var s *onceStand
		grow := sync.OnceFunc(func() { s.change("/b", strings.Repeat("0123456789", 300), time.Hour) })
		fs := afero.NewMemMapFs()
		s = &onceStand{newStand(t, files, testserver.Options{FS: afero.NewIOFS(fs), Fault: func(c *testserver.Conn) testserver.Action {
			if c.Verb == "RETR" && strings.HasSuffix(c.Arg, "a") {
				grow()
			}
			return nil
		}}), fs, files}
		s.options.Jobs, s.options.PerHost = 1, 1
		s.options.Each.Existing = existing
		var tasks []download.Task
		for _, name := range []string{"a", "b"} {
			s.write(name, files["/"+name][:1000], time.Date(2026, 1, 2, 6, 0, 0, 0, time.UTC))
			tasks = append(tasks, fileOf(s.url("/"+name), name))
		}
		if got := s.run(t.Context(), tasks...); !got.Whole() {
			t.Errorf("%s: %v %q", existing, got.err, s.failures())
		}
		s.compare(map[string]string{"a": files["/a"], "b": strings.Repeat("0123456789", 300)})
	}
}

// oddSource answers about many files in a way of its own. Stat fails for URLs of the host "gone".
type oddSource struct {
	download.FullSource // nil
	all                 func(yield func(ftpexec.Entry, error) bool)
}

func (s oddSource) Stat(_ context.Context, u *urlparse.URL) (ftpexec.Entry, error) {
	if u.Host == "gone" {
		return ftpexec.Entry{}, errors.New("gone")
	}
	return ftpexec.Entry{Size: 1, ModTime: time.Unix(1, 0)}, nil
}

func (s oddSource) StatAll(_ context.Context, urls []*urlparse.URL) iter.Seq2[ftpexec.Entry, error] {
	if s.all != nil {
		return s.all
	}
	return func(yield func(ftpexec.Entry, error) bool) {
		for range urls {
			if !yield(ftpexec.Entry{Size: 1, ModTime: time.Unix(1, 0)}, nil) {
				return
			}
		}
	}
}

func (oddSource) CloseIdleConnections() {}

// TestAsksAheadOddSource runs lists of files that are here with sources that answer about more or fewer files than they
// are asked about, or panic, and with one of which every second file has a first URL that fails at once.
func TestAsksAheadOddSource(t *testing.T) {
	t.Parallel()
	one := ftpexec.Entry{Size: 1, ModTime: time.Unix(1, 0)}
	for name, test := range map[string]struct {
		all    func(yield func(ftpexec.Entry, error) bool)
		gone   bool
		breaks bool
	}{
		"several URLs": {gone: true},
		"more": {all: func(yield func(ftpexec.Entry, error) bool) {
			for range 100 {
				if !yield(one, nil) {
					return
				}
			}
		}},
		"fewer":  {all: func(yield func(ftpexec.Entry, error) bool) { yield(one, nil) }},
		"panics": {all: func(func(ftpexec.Entry, error) bool) { panic("of the source") }, breaks: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newClientStand(t)
			root := must.Get(os.OpenRoot(s.dir))(t)
			defer root.Close()
			var tasks []download.Task
			for i := range 500 {
				task := fileOf(parse(t, fmt.Sprint("ftp://here/", i)), fmt.Sprint(i))
				s.write(task.Path, "x", time.Unix(1, 0))
				if test.gone && i%2 == 1 {
					task.URLs = append([]*urlparse.URL{parse(t, fmt.Sprint("ftp://gone/", i))}, task.URLs...)
				}
				tasks = append(tasks, task)
			}
			o := download.RunOptions{Jobs: 8, Each: download.Options{Root: root, Existing: download.Newer, Retries: -1}}
			got, err := download.Run(t.Context(), oddSource{all: test.all}, slices.Values(tasks), &o)
			if test.breaks != (err != nil) || !test.breaks && got.Complete != 500 {
				t.Errorf("%d complete, %v", got.Complete, err)
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
