package download_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/local/ledger"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

// calls records the calls of Done.
type calls struct {
	mu    sync.Mutex
	paths []string
	err   map[string]error // what to return, by the path
}

// done is a RunOptions.Done. Each file must be there, whole, and without its part.
func (c *calls) done(s *stand, files map[string]string) func(context.Context, *download.Task, download.Result) error {
	return func(_ context.Context, t *download.Task, r download.Result) error {
		text, err := os.ReadFile(filepath.Join(s.dir, t.Path))
		if err != nil || string(text) != files["/"+t.Path] || r.Size != int64(len(text)) {
			s.Errorf("%s: %v, %d bytes are there, %d reported", t.Path, err, len(text), r.Size)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.paths = append(c.paths, t.Path)
		return c.err[t.Path]
	}
}

// were returns the paths of the calls, sorted, and forgets them.
func (c *calls) were() string {
	slices.Sort(c.paths)
	text := strings.Join(c.paths, " ")
	c.paths = nil
	return text
}

var errLoad = errors.New("cannot be loaded")

// TestDone runs a tree and a list again and again, with calls that fail at first.
func TestDone(t *testing.T) {
	files := map[string]string{"/a": "first", "/b": "second", "/d/c": "third"}
	for _, list := range []bool{false, true} {
		for _, once := range []bool{false, true} {
			s := newStand(t, files, testserver.Options{})
			tasks := []download.Task{treeOf(t, s.srv.URL("/"), download.Tree{})}
			if list {
				tasks = s.tasks(files)
			}
			c := &calls{err: map[string]error{"b": errLoad}}
			s.options.Once, s.options.Done = once, c.done(s, files)
			for i, tt := range []struct {
				what  string
				do    func()
				calls string
				retr  int
				fails bool
			}{
				{"the first run", func() {}, "a b d/c", 3, true},
				{"again", func() {}, "b", 0, true},
				{"without Done", func() { s.options.Done = nil }, "", 0, false},
				{"with Done", func() { s.options.Done = c.done(s, files) }, "b", 0, true},
				{"one is gone", func() { must.Do(t, os.Remove(filepath.Join(s.dir, "b"))) }, "b", 1, true},
				{"it succeeds", func() { c.err = nil }, "b", 0, false},
				{"after that", func() {}, "", 0, false},
			} {
				tt.do()
				got := s.run(t.Context(), tasks...)
				if called := c.were(); called != tt.calls || got.Whole() == tt.fails || s.verbs()["RETR"] != tt.retr {
					t.Errorf("list %v, once %v, %d (%s): called for %q, %+v, %q", list, once, i, tt.what, called, got, s.failures())
				}
				for _, o := range s.outcomes {
					if o.Err != nil && !errors.Is(o.Err, errLoad) {
						t.Error(o.Err)
					}
				}
				s.compare(below(files))
			}
		}
	}
}

// TestDoneChanged checks that Done is called for what replaces a file, and for no file that was there before the first
// run with Done.
func TestDoneChanged(t *testing.T) {
	s := newOnceStand(t, testserver.Options{})
	s.options.Once, s.options.Each.Existing = false, download.Newer
	c := &calls{}
	tree := treeOf(t, s.srv.URL("/d/"), download.Tree{})
	s.run(t.Context(), tree)
	files := map[string]string{"/a": "first", "/b": "second", "/sub/c": ""}
	s.options.Done = c.done(s.stand, files)
	s.run(t.Context(), tree)
	before := c.were()
	files["/a"] = "first, changed"
	s.change("/d/a", files["/a"], time.Hour)
	s.run(t.Context(), tree)
	after := c.were()
	s.run(t.Context(), tree)
	if before != "" || after != "a" || c.were() != "" {
		t.Errorf("called for %q, then for %q", before, after)
	}
}

// TestDoneSameStamp replaces a file by one of the same size and time, whose record would describe the old one. Done must
// be called although a run is killed at any call on the disk, and never with a wrong file.
func TestDoneSameStamp(t *testing.T) {
	files := map[string]string{"/f": "right"}
	dead := errors.New("dead")
	kills := 0
	for at, more := int64(1), true; more; at++ {
		s := newStand(t, files, testserver.Options{})
		s.write("f", "wrong", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
		c := &calls{}
		s.options.Done, s.options.Each.Existing = c.done(s, files), download.Newer
		ctx, cancel := context.WithCancel(t.Context())
		var n atomic.Int64
		disk.Fault = func(string, string) error {
			if n.Add(1) >= at {
				cancel()
				return dead
			}
			return nil
		}
		s.run(ctx, s.tasks(files)...)
		disk.Fault = nil
		cancel()
		more = n.Load() >= at
		kills++
		first := c.were()
		got := s.run(t.Context(), s.tasks(files)...)
		second := c.were()
		s.compare(files2(files))
		if !got.Whole() || first+second == "" {
			t.Fatalf("call %d: called for %q, then for %q; %q", at, first, second, s.failures())
		}
	}
	t.Logf("%d kills", kills)
}

// files2 returns files without the "/" at the start of their paths.
func files2(files map[string]string) map[string]string { return below(maps.Clone(files)) }

// TestDoneKilled stops a run at each call on the disk, as a kill would, and within the calls of Done. With the next run
// Done has succeeded for each file, and it is called again only for files for which it may have been cut short.
func TestDoneKilled(t *testing.T) {
	files := randomFiles(4)
	dead := errors.New("dead")
	points := 0
	for _, once := range []bool{false, true} {
		for at, more := int64(1), true; more; at += int64(night.Or(11, 1)) {
			s := newStand(t, files, testserver.Options{})
			s.options.Jobs, s.options.PerHost, s.options.Once = 2, 2, once
			ctx, cancel := context.WithCancel(t.Context())
			var n atomic.Int64
			step := func(string, string) error {
				if n.Add(1) >= at {
					cancel()
					return dead
				}
				return nil
			}
			c := &calls{}
			count := c.done(s, files)
			s.options.Done = func(ctx context.Context, t *download.Task, r download.Result) error {
				return cmpError(step("done", ""), count(ctx, t, r), step("done", ""))
			}
			disk.Fault = step
			task := treeOf(t, s.srv.URL("/"), download.Tree{})
			first := s.run(ctx, task)
			disk.Fault = nil
			cancel()
			more = n.Load() >= at
			points++
			complete := map[string]bool{}
			for _, o := range s.outcomes {
				complete[o.Task.Path] = o.Err == nil
			}
			at0 := at
			at = 1 << 40
			c.were()
			got := s.run(t.Context(), task)
			for path := range below(files) {
				if called := slices.Contains(c.paths, path); !called && !complete[path] && !s.finished(path) || called && complete[path] {
					t.Errorf("call %d: %s: complete %v, called again %v", at0, path, complete[path], called)
				}
			}
			at = at0
			s.compare(below(files))
			if !got.Whole() || t.Failed() {
				t.Fatalf("call %d: %+v, then %+v, %q", at, first, got, s.failures())
			}
		}
	}
	t.Logf("%d points", points)
}

// finished reports whether Done has succeeded for a file, by the ledger.
func (s *stand) finished(path string) bool {
	root := must.Get(os.OpenRoot(s.dir))(s)
	defer root.Close()
	l := must.Get(ledger.Open(root, ledgerName))(s)
	defer l.Close()
	r, ok := l.Last(path)
	return ok && !r.Todo
}

func cmpError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// TestDoneAtOnce checks how many calls of Done run at the same time, and that files arrive meanwhile.
func TestDoneAtOnce(t *testing.T) {
	for jobs, want := range map[int]int{1: 1, 3: 3, 0: 4} {
		synctest.Test(t, func(t *testing.T) {
			network := ftptest.NewNetwork()
			srv := network.NewScript(t, testserver.Honest("contents"))
			s := newClientStand(t)
			s.client.Dial = network.Dial
			var now, most, all, there atomic.Int32
			s.options = download.RunOptions{Jobs: jobs, Each: download.Options{Retries: -1}}
			s.options.Done = func(context.Context, *download.Task, download.Result) error {
				n := now.Add(1)
				for was := most.Load(); n > was && !most.CompareAndSwap(was, n); was = most.Load() {
				}
				<-time.After(time.Minute) // of the simulated clock
				if all.Add(1) == 1 {
					names, _ := filepath.Glob(s.dir + "/f*[0-9]")
					there.Store(int32(len(names)))
				}
				now.Add(-1)
				return nil
			}
			var tasks []download.Task
			for i := range 12 {
				tasks = append(tasks, fileOf(parse(t, srv.URL(fmt.Sprint("/f", i))), fmt.Sprint("f", i)))
			}
			begun := time.Now()
			got := s.run(t.Context(), tasks...)
			if took := time.Since(begun).Round(time.Minute); int(most.Load()) != want || all.Load() != 12 || took != time.Minute*time.Duration(12/want) || there.Load() != 12 || !got.Whole() {
				t.Errorf("-j %d: %d at once, %d in all in %v, %d files after the first, %q", jobs, most.Load(), all.Load(), took, there.Load(), s.failures())
			}
		})
	}
}

// TestDoneEnds checks that the end of the run reaches Done, and that the file of a call that was cut short counts neither
// as complete nor as failed. The time for a URL does not count the call.
func TestDoneEnds(t *testing.T) {
	s := newStand(t, map[string]string{"/f": "text"}, testserver.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	c := 0
	s.options.Timeout = time.Minute
	s.options.Done = func(ctx context.Context, _ *download.Task, _ download.Result) error {
		if _, limited := ctx.Deadline(); limited {
			t.Error("the call has a deadline")
		}
		if c++; c == 1 {
			cancel()
			<-ctx.Done()
		}
		return context.Cause(ctx)
	}
	task := fileOf(s.url("/f"), "f")
	if got := s.run(ctx, task); got.Complete+got.Failed != 0 || !errors.Is(got.err, context.Canceled) {
		t.Errorf("%+v, %q", got, s.failures())
	}
	if got := s.run(t.Context(), task); c != 2 || !got.Whole() || got.Before != 1 {
		t.Errorf("%d calls, %+v, %q", c, got, s.failures())
	}
}

// TestDoneAlone checks that a second run with the same ledger fails while Done is called, and that it changes nothing.
func TestDoneAlone(t *testing.T) {
	files := map[string]string{"/a": "first", "/b": "second"}
	s := newStand(t, files, testserver.Options{})
	s.run(t.Context(), fileOf(s.url("/a"), "a"))
	var other ftpexec.Client
	n := 0
	s.options.Done = func(context.Context, *download.Task, download.Result) error {
		n++
		for _, done := range []func(context.Context, *download.Task, download.Result) error{nil, s.options.Done} {
			root := must.Get(os.OpenRoot(s.dir))(t)
			defer root.Close()
			o := download.RunOptions{Ledger: ledgerName, Done: done, Each: download.Options{Root: root}}
			if _, err := download.Run(t.Context(), &other, slices.Values(s.tasks(files)), &o); !errors.Is(err, ledger.ErrAtWork) {
				t.Errorf("got %v", err)
			}
		}
		return nil
	}
	if got := s.run(t.Context(), s.tasks(files)...); !got.Whole() || n != 1 {
		t.Errorf("%d calls, %+v, %q", n, got, s.failures())
	}
}
