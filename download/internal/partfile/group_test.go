package partfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/testkit/memory"
	"example.com/ftpfetch/internal/testkit/must"
)

func TestMain(m *testing.M) {
	memory.Use()
	os.Exit(m.Run())
}

// flock is a run that names one file first, and then the others in one batch.
type flock struct {
	*testing.T
	root  *os.Root
	group *Group

	mu       sync.Mutex
	at, n    int // the number of the call that fails, and of calls so far
	err      error
	dead     bool   // all later calls fail too
	failed   string // the call that failed, with its path
	path     string
	begun    func()         // called when the first file is being flushed
	synced   map[string]int // how often each file was flushed
	recorded []string
	flushed  []string // those of recorded that were flushed
	errs     map[string]error
}

var flockNames = []string{"a", "b", "d/a", "d/b", "e/a"}

// call is the disk.Fault. The first flush ends when all other files are waiting.
func (f *flock) call(call, path string) error {
	if call == "fsync" {
		f.begun()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if call == "fsync" {
		f.synced[path]++
	}
	if f.n++; f.n == f.at || f.dead && f.at > 0 && f.n > f.at {
		if f.n == f.at {
			f.failed, f.path = call, path
		}
		return f.err
	}
	return nil
}

// run writes and publishes the files that do not exist yet.
func (f *flock) run() {
	f.synced, f.recorded, f.flushed, f.errs = map[string]int{}, nil, nil, map[string]error{}
	var parts []*Part
	for _, name := range flockNames {
		p, err := f.group.Find(f.root, name)
		if err != nil {
			f.Fatal(err)
		}
		defer func() { p.Close(false) }()
		if p.Info != nil {
			continue
		}
		part := must.Get(p.Claim("ftp://h/"+name, nil))(f)
		s, err := part.Write(Span{0, -1})
		_, werr := io.WriteString(s.To, name)
		part.Describe(int64(len(name)), time.Unix(1e9, 0))
		if _, eerr := part.End(s, true); errors.Join(err, werr, eerr) != nil {
			f.Fatal(err, werr, eerr)
		}
		parts = append(parts, part)
	}
	var all sync.WaitGroup
	var ended atomic.Int32
	first := make(chan bool)
	start := sync.OnceFunc(func() { close(first) })
	f.begun = sync.OnceFunc(func() { // the others are waiting by the time that the first is flushed
		start()
		for wait := len(parts) == len(flockNames); wait; runtime.Gosched() {
			f.group.batches.mu.Lock()
			wait = len(f.group.batches.waiting)+int(ended.Load()) < len(parts)-1
			f.group.batches.mu.Unlock()
		}
	})
	disk.Fault = f.call
	for i, part := range parts {
		name := strings.TrimPrefix(filepath.ToSlash(part.Path), filepath.ToSlash(f.root.Name())+"/")
		all.Go(func() {
			err := part.Publish(Finish{Note: func(string) {}, Commit: func(time.Time) error {
				f.recorded = append(f.recorded, name)
				return nil
			}})
			f.mu.Lock()
			f.errs[name] = err
			f.mu.Unlock()
			if ended.Add(1); i == 0 {
				ended.Store(int32(len(parts))) // then f.begun need not wait
				start()
			}
		})
		if i == 0 {
			<-first
		}
	}
	all.Wait()
	for _, part := range parts {
		part.Leave(false)
	}
	disk.Fault = nil
}

// files returns the text of each file below root.
func (f *flock) files() map[string]string {
	all := map[string]string{}
	_ = fs.WalkDir(f.root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			text, _ := f.root.ReadFile(path)
			all[path] = string(text)
		}
		return err
	})
	return all
}

// check checks the errors of a run and the files that it left.
func (f *flock) check(what string) {
	there := f.files()
	for name, err := range f.errs {
		text, named := there[name]
		switch {
		case named && (text != name || !slices.Contains(f.flushed, name)):
			f.Errorf("%s: %s has its name with %q, recorded are %q", what, name, text, f.flushed)
		case err == nil && !named:
			f.Errorf("%s: %s is reported, and is not there", what, name)
		}
	}
	if n := f.synced[f.path]; f.failed == "fsync" && n != 1 && strings.HasSuffix(f.path, ".part") {
		f.Errorf("%s: %s was flushed %d times", what, f.path, n)
	}
}

// TestGroupFaults fails each of the calls that give several files their names, or kills the run there. It checks that
// every named file is on the disk and recorded, that a failed flush fails only its own file, and that the next run
// publishes the rest.
func TestGroupFaults(t *testing.T) {
	t.Cleanup(func() { disk.Fault = nil })
	want := map[string]string{}
	for _, name := range flockNames {
		want[name] = name
	}
	runs := 0
	for _, kind := range []struct {
		err  error
		dead bool
	}{{syscall.EIO, false}, {syscall.ENOSPC, false}, {errors.New("dead"), true}} {
		for at := 0; ; at++ {
			root := must.Get(os.OpenRoot(t.TempDir()))(t)
			f := &flock{T: t, root: root, err: kind.err, dead: kind.dead, at: at}
			runs++
			f.group = new(Group)
			f.group.Dirs.Keep = 2
			f.group.Begin(root)
			f.group.Flush = func() error { f.flushed = slices.Clone(f.recorded); return nil }
			f.run()
			f.check(kind.err.Error() + " at " + f.failed)
			failures := 0
			for _, err := range f.errs {
				if err != nil {
					failures++
				}
			}
			if alone := strings.HasSuffix(f.path, ".part") && !kind.dead; alone && failures > 1 || f.failed == "fsync" && failures == 0 || at == 0 && failures > 0 {
				t.Errorf("call %d (%s): %d files fail: %v", at, f.failed, failures, f.errs)
			}
			more := f.n >= at
			f.at = 0
			f.run()
			if got := f.files(); !maps.Equal(got, want) {
				t.Fatalf("%v at call %d (%s): then there is %q, errors %v", kind.err, at, f.failed, got, f.errs)
			}
			f.group.Dirs.Close()
			f.group.End()
			root.Close()
			if !more {
				break
			}
		}
	}
	t.Logf("%d runs", runs)
}

// waits is a test of how long batches wait.
type waits struct {
	*testing.T
	root    *os.Root
	all     sync.WaitGroup
	begun   time.Time
	files   int
	flushes map[*Group]int
}

func (w *waits) group() *Group {
	g := new(Group)
	g.Flush = func() error { w.flushes[g]++; return nil }
	g.Begin(w.root)
	return g
}

// after calls f after a pause. want is part of its error, or "" for none.
func (w *waits) after(pause time.Duration, want string, f func() error) {
	w.all.Go(func() {
		<-time.After(pause)
		if err := f(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			w.Errorf("got %v, want %q", err, want)
		}
	})
}

// record adds a record to a group after a pause.
func (w *waits) record(g *Group, pause time.Duration) {
	w.after(pause, "", func() error { return g.Record(func() error { return nil }) })
}

// file publishes a file of a group after a pause.
func (w *waits) file(g *Group, pause time.Duration, want string, commit func()) {
	w.files++
	p := must.Get(g.Find(w.root, fmt.Sprint("f", w.files)))(w.T)
	part := must.Get(p.Claim("ftp://h/f", nil))(w.T)
	part.Describe(0, time.Unix(1e9, 0))
	w.after(pause, want, func() error {
		defer p.Close(false)
		defer part.Leave(false)
		return part.Publish(Finish{Note: func(string) {}, Commit: func(time.Time) error { commit(); return nil }})
	})
}

// ended waits until all files have their names, and checks how long that took and how often each group has flushed.
func (w *waits) ended(what string, want time.Duration, flushes map[*Group]int) {
	w.Helper()
	w.all.Wait()
	if took := time.Since(w.begun); took != want || !maps.Equal(w.flushes, flushes) {
		w.Errorf("%s: %v and flushes %v, want %v and %v", what, took, w.flushes, want, flushes)
	}
	w.begun = time.Now()
	clear(w.flushes)
}

// waiting calls test in a bubble of synctest.
func waiting(t *testing.T, test func(w *waits)) {
	root := must.Get(os.OpenRoot(t.TempDir()))(t)
	defer root.Close()
	synctest.Test(t, func(t *testing.T) {
		test(&waits{T: t, root: root, begun: time.Now(), flushes: make(map[*Group]int)})
	})
}

func nothing() {}

// TestGroupWaits checks that a batch waits for the files that are under way, and no longer than pause, that it waits for
// none when no more are, and that one that begins with a record alone waits a little only.
func TestGroupWaits(t *testing.T) {
	waiting(t, func(w *waits) {
		g := w.group()
		defer g.End()
		once := map[*Group]int{g: 1}
		g.Expect(true)
		w.file(g, 0, "", nothing)
		w.file(g, pause/2, "", nothing)
		w.record(g, pause/2)
		w.ended("files are under way", pause, once)
		w.record(g, 0)
		w.ended("a record alone", shortPause, once)
		w.file(g, 0, "", nothing)
		w.file(g, pause/2, "", nothing)
		w.after(pause*3/4, "", func() error { g.Expect(false); return nil })
		w.ended("the last one has arrived", pause*3/4, once)
		w.file(g, 0, "", nothing)
		w.ended("none is under way", 0, once)
		g.Expect(true)
		w.file(g, 0, "", nothing)
		w.ended("files are under way again", pause, once)
	})
}

// TestGroupsTogether checks that the groups below one root have batches in common, that the last file of one waits for
// none of the others, and that a panic of one concerns no other.
func TestGroupsTogether(t *testing.T) {
	waiting(t, func(w *waits) {
		g, h := w.group(), w.group()
		both := map[*Group]int{g: 1, h: 1}
		g.Expect(true)
		h.Expect(true)
		w.file(g, 0, "", nothing)
		w.file(h, pause/2, "", nothing)
		w.ended("both expect more", pause, both)
		w.file(g, 0, "", nothing)
		w.file(h, pause/4, "", nothing)
		w.after(pause/2, "", func() error { h.Expect(false); return nil })
		w.ended("one has all its files", pause/2, both)
		w.file(g, 0, "", nothing)
		w.file(h, pause/4, "", nothing)
		w.ended("the last file of one arrives", pause/4, both)
		w.file(g, 0, "a bug", func() { panic("a bug") })
		w.file(h, pause/4, "", nothing)
		w.ended("a panic", pause/4, both)
		w.file(g, 0, "", nothing)
		w.ended("after a panic", pause, map[*Group]int{g: 1})
		h.End()
		if begun.all[w.root] != g.batches {
			t.Error("the batches of a group are gone")
		}
		g.End()
		if len(begun.all) > 0 {
			t.Error("the batches are kept")
		}
	})
}
