package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
)

// TestShared opens a ledger several times in one process. Each Ledger must know the records of the others and of other
// processes, and close without disturbing them.
func TestShared(t *testing.T) {
	r := newRoom(t)
	a := must.Get(Open(r.root, Name))(t)
	b := r.share(Name)
	if a.store != b.store {
		t.Error("the second Open has read the ledger again")
	}
	r.add(a, "a", 1)
	must.Do(t, b.Refresh())
	r.has(b, "a", 1, true)
	a.Close()
	r.add(b, "b", 2)
	r.add(r.open(Name), "c", 3)
	c := r.share(Name)
	for i, path := range []string{"a", "b", "c"} {
		r.has(c, path, int64(i+1), true)
	}
	if c.store != b.store {
		t.Error("the third Open has read the ledger again")
	}
	b.Close()
	c.Close()
	if d := r.share(Name); d.store == c.store {
		t.Error("the ledger is still open after all have closed it")
	}
}

// TestSharedFindsOthers adds a ledger of another machine while one is open. The next Open after looking must read it.
func TestSharedFindsOthers(t *testing.T) {
	r := newRoom(t)
	r.add(r.share(Name), "a", 1)
	r.add(r.open(Name+"-other"), "b", 2)
	r.has(r.share(Name), "b", 2, false)
	a := r.share(Name)
	a.mu.Lock()
	a.looked = time.Now().Add(-lookEvery)
	a.mu.Unlock()
	r.has(r.share(Name), "b", 2, true)
	r.add(r.open(Name+"-other"), "c", 3)
	r.has(r.share(Name), "c", 3, true)
}

// TestSharedReplaced replaces, removes and cuts a ledger, and lets others write to it, while it is open: the own one, and
// one of another machine. The next Open must read what is there then, and the one after that must share it.
func TestSharedReplaced(t *testing.T) {
	for what, change := range map[string]func(path string) error{
		"removed": os.Remove,
		"cut":     func(path string) error { return os.Truncate(path, 0) },
		"open":    func(path string) error { return os.Chmod(path, 0o666) },
		"another": func(path string) error {
			text, err := os.ReadFile(path)
			text = []byte(strings.ReplaceAll(string(text), `"path":"a"`, `"path":"z"`))
			return errors.Join(err, os.WriteFile(path+".new", text, 0o600), os.Rename(path+".new", path))
		},
	} {
		for _, name := range []string{Name, Name + "-other"} {
			r := newRoom(t)
			r.add(r.open(name), "a", 1)
			l := r.share(Name)
			r.has(l, "a", 1, true)
			must.Do(t, change(filepath.Join(r.dir, name)))
			next := r.share(Name)
			_, ok := next.Last("a")
			_, other := next.Last("z")
			if ok || other != (what == "another") {
				t.Errorf("%s %s: the record is known: %v, the other: %v", name, what, ok, other)
			}
			if r.share(Name).store != next.store {
				t.Errorf("%s %s: the ledger is read again for each run", name, what)
			}
		}
	}
}

// TestSharedIgnored opens ledgers that others may write to. The run records nothing if its own are among them, and
// another one is read as soon as it may be trusted.
func TestSharedIgnored(t *testing.T) {
	r := newRoom(t)
	r.add(r.open(Name+"-other"), "p", 1)
	names := []string{Name, fmt.Sprintf("%s~%d", Name, os.Geteuid()), Name + "-other"}
	for _, n := range names {
		if n != Name+"-other" {
			must.Do(t, os.WriteFile(filepath.Join(r.dir, n), nil, 0o600))
		}
		must.Do(t, os.Chmod(filepath.Join(r.dir, n), 0o666))
	}
	l := r.share(Name)
	if len(l.Ignored) != len(names) {
		t.Errorf("ignored are %q", l.Ignored)
	}
	must.Do(t, cmp.Or(l.Add(r.record("a", 1)), l.Flush(), l.Refresh()))
	r.has(l, "a", 1, false)
	must.Do(t, os.Chmod(filepath.Join(r.dir, names[2]), 0o600))
	next := r.share(Name)
	r.has(next, "p", 1, true)
	if len(next.Ignored) != 2 {
		t.Errorf("then ignored are %q", next.Ignored)
	}
}

// TestSharedAlone has another process take the ledger for itself. Open must fail as long as it has it.
func TestSharedAlone(t *testing.T) {
	wears(t, leastWorn) // which also makes waits short
	r := newRoom(t)
	keep := r.share(Name)
	root := must.Get(os.OpenRoot(r.dir))(t)
	defer root.Close()
	alone := must.Get(OpenAlone(root, Name))(t)
	r.add(alone, "a", 1)
	for _, looked := range []time.Time{time.Now(), {}, {}} {
		keep.mu.Lock()
		keep.looked = looked
		keep.mu.Unlock()
		if _, err := Open(r.root, Name); !errors.Is(err, ErrAtWork) {
			t.Errorf("beside one that is alone: %v", err)
		}
	}
	alone.Close()
	r.has(r.share(Name), "a", 1, true)
}

// TestSharedFlushWaits flushes twice at once. Neither may return before the records are on the disk.
func TestSharedFlushWaits(t *testing.T) {
	r := newRoom(t)
	l := r.share(Name)
	r.add(l, "first", 1)
	in, goOn := make(chan bool), make(chan bool)
	var synced atomic.Bool
	disk.Fault = func(call, _ string) error {
		if call == "fsync" && !synced.Load() {
			in <- true
			<-goOn
			synced.Store(true)
		}
		return nil
	}
	defer func() { disk.Fault = nil }()
	must.Do(t, l.Add(Of("a")))
	var both sync.WaitGroup
	flush := func() {
		if err := l.Flush(); err != nil || !synced.Load() {
			t.Errorf("Flush returned %v; the records are on the disk: %v", err, synced.Load())
		}
	}
	both.Go(flush)
	<-in
	both.Go(flush)
	close(goOn)
	both.Wait()
}

// TestSharedModel lets runs of this process and others add records at random. The last record of each path must count.
func TestSharedModel(t *testing.T) {
	defer func(n int) { leastMerged = n }(leastMerged)
	leastMerged = 5
	for seed := range uint64(night.Or(10, 150)) {
		random := rand.New(rand.NewPCG(seed, 1))
		r := newRoom(t)
		keep := must.Get(Open(r.root, Name))(t)
		want := make(map[string]int64)
		for n := range int64(120) {
			switch random.IntN(6) {
			case 0, 1, 2:
				l := must.Get(Open(r.root, Name))(t)
				path := fmt.Sprint("own", random.IntN(20))
				r.add(l, path, n)
				want[path] = n
				l.Close()
			case 3:
				root := must.Get(os.OpenRoot(r.dir))(t)
				w := random.IntN(3)
				l := must.Get(Open(root, Name+[]string{"", "-x", "-y"}[w]))(t)
				path := fmt.Sprint("other", w, "-", random.IntN(20))
				r.add(l, path, n)
				want[path] = n
				l.Close()
				root.Close()
			case 4:
				must.Do(t, keep.Refresh())
			case 5:
				keep.mu.Lock()
				keep.looked = time.Time{}
				keep.mu.Unlock()
				l := must.Get(Open(r.root, Name))(t)
				for path, size := range want {
					if got, ok := l.Last(path); !ok || got.Size != size {
						t.Fatalf("seed %d: %s has %d, %v, want %d", seed, path, got.Size, ok, size)
					}
				}
				l.Close()
				l.Close()
			}
		}
		keep.Close()
	}
}

// TestSharedFlush has two runs add records, which are written together. Both learn that this failed, and the next records
// are on lines of their own.
func TestSharedFlush(t *testing.T) {
	r := newRoom(t)
	a, b := r.share(Name), r.share(Name)
	r.add(a, "first", 1)
	writes := 0
	disk.Fault = func(call, _ string) error {
		if call == "append" {
			writes++
		}
		if call == "append" && writes == 1 {
			return errors.New("no room")
		}
		return nil
	}
	defer func() { disk.Fault = nil }()
	must.Do(t, cmp.Or(a.Add(Of("a")), b.Add(Of("b"))))
	if aerr, berr := a.Flush(), b.Flush(); aerr == nil || berr == nil || writes != 1 {
		t.Errorf("got %v, %v after %d writes, want two errors after one", aerr, berr, writes)
	}
	must.Do(t, cmp.Or(b.Add(Of("c")), a.Add(Of("d")), b.Flush(), a.Flush()))
	if text := r.text(Name); writes != 2 || strings.Contains(text, `"b"`) || !strings.Contains(text, "\n"+`{"path":"c"`) {
		t.Errorf("%d writes: %q", writes, text)
	}
}

// TestSharedAtOnce opens, uses and closes a ledger in several goroutines.
func TestSharedAtOnce(t *testing.T) {
	r := newRoom(t)
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 25 {
				l, err := Open(r.root, Name)
				if err != nil {
					t.Error(err)
					return
				}
				if err := cmp.Or(l.Add(Of(fmt.Sprint(g, "-", i))), l.Flush(), l.Refresh()); err != nil {
					t.Error(err)
				}
				l.Close()
			}
		})
	}
	all.Wait()
	l := r.open(Name)
	for g := range 4 {
		for i := range 25 {
			if _, ok := l.Last(fmt.Sprint(g, "-", i)); !ok {
				t.Errorf("the record %d of %d is lost", i, g)
			}
		}
	}
	opened.Lock()
	defer opened.Unlock()
	if _, ok := opened.all[ownLedger{r.root, Name}]; ok {
		t.Error("the ledger is still open")
	}
}

// TestMerged adds records until they are merged again and again. The last record of each path must count.
func TestMerged(t *testing.T) {
	defer func(n int) { leastMerged = n }(leastMerged)
	leastMerged = 3
	r := newRoom(t)
	l := r.share(Name)
	last := make(map[string]int64)
	for i := range int64(100) {
		path := fmt.Sprint(i * i % 17)
		last[path] = i
		r.add(l, path, i)
		must.Do(t, l.Refresh())
		for path, size := range last {
			if got, ok := l.Last(path); !ok || got.Size != size {
				t.Fatalf("after %d: %q has %d, %v, want %d", i, path, got.Size, ok, size)
			}
		}
	}
	if len(l.later) >= len(l.read) {
		t.Errorf("%d records were not merged, %d were", len(l.later), len(l.read))
	}
}
