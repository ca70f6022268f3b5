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
			f.group.mu.Lock()
			wait = len(f.group.waiting)+int(ended.Load()) < len(parts)-1
			f.group.mu.Unlock()
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
			root.Close()
			if !more {
				break
			}
		}
	}
	t.Logf("%d runs", runs)
}

// TestGroupWaits checks that a batch waits for the files that are under way, and no longer than Pause, that it waits for
// none when no more are, and that one that begins with a record alone waits a little only.
func TestGroupWaits(t *testing.T) {
	root := must.Get(os.OpenRoot(t.TempDir()))(t)
	defer root.Close()
	synctest.Test(t, func(t *testing.T) {
		flushes, files := 0, 0
		g := Group{Pause: time.Second, Flush: func() error { flushes++; return nil }}
		begun := time.Now()
		var all sync.WaitGroup
		after := func(wait time.Duration, f func() error) {
			all.Go(func() {
				<-time.After(wait)
				if err := f(); err != nil {
					t.Error(err)
				}
			})
		}
		record := func() error { return g.Record(func() error { return nil }) }
		file := func(wait time.Duration) {
			files++
			p := must.Get(g.Find(root, fmt.Sprint("f", files)))(t)
			part := must.Get(p.Claim("ftp://h/f", nil))(t)
			part.Describe(0, time.Unix(1e9, 0))
			after(wait, func() error {
				defer p.Close(false)
				defer part.Leave(false)
				return part.Publish(Finish{Note: func(string) {}, Commit: func(time.Time) error { return nil }})
			})
		}
		ended := func(what string, want time.Duration, n int) {
			t.Helper()
			all.Wait()
			if took := time.Since(begun); took != want || flushes != n {
				t.Errorf("%s: %v and %d flushes, want %v and %d", what, took, flushes, want, n)
			}
			begun = time.Now()
			flushes = 0
		}
		g.Expect(true)
		file(0)
		file(time.Second / 2)
		after(time.Second/2, record)
		ended("files are under way", time.Second, 1)
		after(0, record)
		ended("a record alone", shortPause, 1)
		file(0)
		file(time.Second / 2)
		synctest.Wait()
		<-time.After(time.Second * 3 / 4)
		g.Expect(false)
		ended("the last one has arrived", time.Second*3/4, 1)
		file(0)
		ended("none is under way", 0, 1)
		g.Expect(true)
		file(0)
		ended("files are under way again", time.Second, 1)
	})
}
