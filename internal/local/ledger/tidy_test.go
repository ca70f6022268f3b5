package ledger

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/internal/timing"
)

// wears lets a ledger be rewritten once so many of its records are superseded.
func wears(t *testing.T, least int) {
	was, waits := leastWorn, timing.Wait
	t.Cleanup(func() { leastWorn, timing.Wait = was, waits })
	leastWorn = least
	timing.Wait = func(ctx context.Context, _ time.Duration) error { return context.Cause(ctx) }
}

// fill adds n records of each of the paths "0" to "4". The last of each has the size n.
func (r *room) fill(l *Ledger, n int) {
	r.Helper()
	for size := range n {
		for path := range 5 {
			must.Do(r, l.Add(r.record(fmt.Sprint(path), int64(size+1))))
		}
	}
	must.Do(r, l.Flush())
}

// TestWorn checks when a ledger is rewritten, and that the last record of each path stays, line for line.
func TestWorn(t *testing.T) {
	wears(t, 10)
	for _, tt := range []struct {
		times int    // records of each of five paths
		more  string // text at the end, or before the rest if it ends in "<"
		want  int    // lines after the next Open
	}{
		{1, "", 5}, {2, "", 10}, {3, "", 5}, {20, "", 5},
		{3, "{}\nnull\n\n[]\n", 5}, {3, `{"path":"torn`, 5}, {3, `{"path":"x","future":[1]}` + "\n", 6}, {2, "{}\n{}\n{}\n{}\n", 14},
	} {
		r := newRoom(t)
		l := r.open(Name)
		r.fill(l, tt.times)
		l.Close()
		path := filepath.Join(r.dir, Name)
		before := r.text(Name) + tt.more
		must.Do(t, errors.Join(os.WriteFile(path, []byte(before), 0o600), os.Chmod(path, 0o640)))
		next := r.open(Name)
		after := r.text(Name)
		if strings.Count(after, "\n") != tt.want || !strings.Contains(before, strings.TrimSuffix(after, "\n")) && tt.times > 2 && tt.more == "" {
			t.Errorf("%d times, %q: %q is left", tt.times, tt.more, after)
		}
		if info := must.Get(os.Stat(path))(t); info.Mode().Perm() != 0o640 {
			t.Errorf("it has the mode %v now", info.Mode())
		}
		for path := range 5 {
			r.has(next, fmt.Sprint(path), int64(tt.times), true)
		}
		r.add(next, "new", 1)
		r.has(r.open(Name), "new", 1, true)
		r.has(r.open(Name), "0", int64(tt.times), true)
	}
}

// TestWornKilled stops a run at each call on the disk while it rewrites the ledger, as a kill would, or makes the call
// fail. Every last record must be there for the next run.
func TestWornKilled(t *testing.T) {
	wears(t, 10)
	dead := errors.New("dead")
	for _, every := range []bool{false, true} {
		calls := 0
		for at, more := 1, true; more; at++ {
			r := newRoom(t)
			l := r.open(Name)
			r.fill(l, 4)
			l.Close()
			calls = 0
			disk.Fault = func(string, string) error {
				if calls++; calls == at || every && calls > at {
					return dead
				}
				return nil
			}
			l, err := Open(r.root, Name)
			disk.Fault = nil
			more = calls >= at
			if err == nil {
				l.Close()
			}
			next := r.open(Name)
			for path := range 5 {
				r.has(next, fmt.Sprint(path), 4, true)
			}
			if t.Failed() {
				t.Fatalf("call %d of %d: %v", at, calls, err)
			}
		}
		if calls < 4 {
			t.Errorf("there were only %d calls", calls)
		}
	}
}

// TestWornLeftOver checks that what a killed run has left beside the ledger counts for nothing, and that the next run
// replaces it. A link there must not be followed.
func TestWornLeftOver(t *testing.T) {
	wears(t, 10)
	for _, link := range []bool{false, true} {
		r := newRoom(t)
		r.fill(r.open(Name+"-1-of-2"), 1)
		fresh, other := filepath.Join(r.dir, ".ftpfetch-new-ledger-1-of-2"), filepath.Join(t.TempDir(), "other")
		must.Do(t, os.WriteFile(other, []byte("text"), 0o600))
		if link {
			must.Do(t, os.Symlink(other, fresh))
		} else {
			must.Do(t, os.WriteFile(fresh, []byte(strings.ReplaceAll(r.text(Name+"-1-of-2"), `"size":1`, `"size":9`)), 0o600))
		}
		r.has(r.open(Name), "0", 1, true)
		all := r.open(Name + "-1-of-2")
		r.fill(all, 3)
		all.Close()
		r.has(r.open(Name+"-1-of-2"), "0", 3, true)
		if _, err := os.Lstat(fresh); r.text(Name+"-1-of-2") == "" || err != nil && !os.IsNotExist(err) {
			t.Error(err)
		}
		if text := must.Get(os.ReadFile(other))(t); string(text) != "text" {
			t.Errorf("link %v: the other file has %q", link, text)
		}
	}
}

// TestWornInUse checks that nobody rewrites a ledger that another run has open, so that no record of that run is lost.
func TestWornInUse(t *testing.T) {
	wears(t, 10)
	r := newRoom(t)
	at := r.open(Name)
	r.fill(at, 4)
	second := r.open(Name)
	r.add(at, "late", 7)
	r.add(second, "later", 8)
	if n := strings.Count(r.text(Name), "\n"); n != 22 {
		t.Errorf("the ledger has %d lines", n)
	}
	at.Close()
	second.Close()
	next := r.open(Name)
	r.has(next, "late", 7, true)
	r.has(next, "later", 8, true)
	if n := strings.Count(r.text(Name), "\n"); n != 7 {
		t.Errorf("at the end the ledger has %d lines", n)
	}
}

// TestWornTogether has many runs open one ledger at the same time, add to it and close it, while it is rewritten again
// and again. The last record of each run and path must be there.
func TestWornTogether(t *testing.T) {
	wears(t, 4)
	timing.Wait = timing.Sleep
	r := newRoom(t)
	var runs sync.WaitGroup
	const rounds = 40
	for run := range 6 {
		runs.Go(func() {
			for round := range night.Or(rounds, 10*rounds) {
				l, err := Open(r.root, Name)
				if err != nil {
					t.Error(err)
					return
				}
				for range 1 + rand.IntN(3) {
					r.add(l, fmt.Sprint("run", run), int64(round))
				}
				l.Close()
			}
		})
	}
	runs.Wait()
	l := r.open(Name)
	for run := range 6 {
		r.has(l, fmt.Sprint("run", run), int64(night.Or(rounds, 10*rounds)-1), true)
	}
	if n := strings.Count(r.text(Name), "\n"); n < 6 || n > 12 { // half of the lines may be superseded
		t.Errorf("at the end the ledger has %d lines", n)
	}
}

// TestAlone checks which runs exclude each other.
func TestAlone(t *testing.T) {
	wears(t, 10)
	opens := map[string]func(*os.Root, string) (*Ledger, error){"shared": Open, "alone": OpenAlone}
	for one, open := range opens {
		for second, then := range opens {
			for _, name := range []string{Name, Name + "-1-of-2"} {
				r := newRoom(t)
				first := r.open(Name)
				r.add(first, "f", 1)
				first.Close()
				l := must.Get(open(r.root, Name))(t)
				next, err := then(r.root, name)
				if want := name == Name && (one == "alone" || second == "alone"); errors.Is(err, ErrAtWork) != want || err != nil && !want {
					t.Errorf("%s, then %s as %s: %v", one, second, name, err)
				}
				if err == nil {
					next.Close()
				}
				l.Close()
				must.Get(then(r.root, name))(t).Close()
			}
		}
	}
}

// TestAloneFirst checks that of two runs alone that find no ledger, only the first to add a record goes on.
func TestAloneFirst(t *testing.T) {
	wears(t, 10)
	r := newRoom(t)
	a, b := must.Get(OpenAlone(r.root, Name))(t), must.Get(OpenAlone(r.root, Name))(t)
	defer a.Close()
	defer b.Close()
	r.add(a, "f", 1)
	if err := b.Add(r.record("g", 1)); !errors.Is(err, ErrAtWork) {
		t.Errorf("got %v, want ErrAtWork", err)
	}
}

// TestWaitsForRewriting opens a ledger that another run has locked. It waits as long as that run rewrites it, and a moment
// more, but not for ever.
func TestWaitsForRewriting(t *testing.T) {
	wears(t, leastWorn)
	const second = int(patience / pause)
	for _, tt := range []struct {
		what            string
		age             time.Duration // of the new ledger; negative: there is none
		renamed, locked int           // after how many waits the new ledger has the name, and the lock ends
		want            bool
	}{
		{"another run keeps it", -1, 0, 2 * second, false},
		{"another run rewrites it", 0, 2 * second, 2*second + 5, true},
		{"another run rewrites it for ever", 0, 1e6, 1e6, false},
		{"a run was killed", 2 * longestRewriting, 1e6, 2 * second, false},
		{"a run was killed by another clock", -2 * longestRewriting, 1e6, 2 * second, false},
	} {
		r := newRoom(t)
		l := r.open(Name)
		r.add(l, "f", 1)
		l.Close()
		other := must.Get(r.root.OpenFile(Name, os.O_RDWR, 0))(t)
		if _, locked := disk.Lock(other); !locked {
			t.Fatal("the ledger is not locked")
		}
		if tt.age != -1 {
			must.Do(t, r.root.WriteFile(freshName(Name), nil, 0o600))
			at := time.Now().Add(-tt.age)
			must.Do(t, r.root.Chtimes(freshName(Name), at, at))
		}
		waits := 0
		timing.Wait = func(context.Context, time.Duration) error {
			waits++
			if waits == tt.renamed {
				must.Do(t, r.root.Rename(freshName(Name), Name))
			}
			if waits == tt.locked {
				other.Close()
			}
			return nil
		}
		again, err := Open(r.root, Name)
		if err == nil {
			again.Close()
		}
		other.Close()
		if (err == nil) != tt.want || err != nil && !errors.Is(err, ErrAtWork) {
			t.Errorf("%s: %v after %d waits", tt.what, err, waits)
		}
	}
}

// TestLast checks the last record of a path, whatever is there.
func TestLast(t *testing.T) {
	r := newRoom(t)
	l := r.open(Name)
	todo := r.record("f", -1)
	todo.Todo = true
	for i, record := range []Record{r.record("f", 1), r.record("f", 2), todo, r.record("\xe9", 3)} {
		must.Do(t, errors.Join(l.Add(record), l.Flush(), l.Refresh()))
		if got, ok := l.Last(record.Local()); !ok || got.Size != record.Size || got.Todo != record.Todo {
			t.Errorf("%d: %+v, %v", i, got, ok)
		}
		if got, ok := r.open(Name).Last(record.Local()); !ok || got.Size != record.Size || got.Todo != record.Todo {
			t.Errorf("%d, the next run: %+v, %v", i, got, ok)
		}
	}
	r.has(r.open(Name), "f", 2, false)
	if _, ok := l.Last("g"); ok {
		t.Error("there is a record of another path")
	}
}
