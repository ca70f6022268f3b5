package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/testkit/memory"
	"example.com/ftpfetch/internal/testkit/must"
)

func TestMain(m *testing.M) {
	memory.Use()
	os.Exit(m.Run())
}

var modified = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// file is an fs.FileInfo with a size and a time.
type file struct {
	fs.FileInfo
	size int64
	time time.Time
}

func (f file) Size() int64        { return f.size }
func (f file) ModTime() time.Time { return f.time }
func (f file) Sys() any           { return nil }

// TestDescribes checks which files a record is about.
func TestDescribes(t *testing.T) {
	is := file{size: 5, time: modified}
	record := Of("f")
	record.Size = 5
	for _, tt := range []struct {
		name string
		at   time.Time
		path string
		info file
		want bool
	}{
		{"the same", modified, "f", is, true},
		{"another path", modified, "g", is, false},
		{"another size on the disk", modified, "f", file{size: 6, time: modified}, false},
		{"another time on the disk", modified, "f", file{size: 5, time: modified.Add(time.Second)}, false},
		{"an earlier time on the disk", modified, "f", file{size: 5, time: modified.Add(-time.Second)}, false},
		{"a time without fractions", modified.Add(999 * time.Millisecond), "f", is, true},
		{"no time in the ledger", time.Time{}, "f", is, false},
	} {
		record.Modified = tt.at
		if got := record.describes(tt.path, tt.info); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
	}
}

// room is a directory with ledgers.
type room struct {
	*testing.T
	dir  string
	root *os.Root
}

func newRoom(t *testing.T) *room {
	t.Helper()
	dir := t.TempDir()
	root := must.Get(os.OpenRoot(dir))(t)
	t.Cleanup(func() { root.Close() })
	return &room{t, dir, root}
}

// open opens a ledger as another process would.
func (r *room) open(name string) *Ledger {
	r.Helper()
	root := must.Get(os.OpenRoot(r.dir))(r)
	l := must.Get(Open(root, name))(r)
	r.Cleanup(func() {
		l.Close()
		root.Close()
	})
	return l
}

// share opens a ledger as another run of the process would.
func (r *room) share(name string) *Ledger {
	r.Helper()
	l := must.Get(Open(r.root, name))(r)
	r.Cleanup(func() { l.Close() })
	return l
}

// record returns the record of a file.
func (r *room) record(path string, size int64) Record {
	record := Of(path)
	record.URL = "ftp://me@h/f"
	record.Size = size
	record.Modified = modified
	return record
}

func (r *room) add(l *Ledger, path string, size int64) {
	r.Helper()
	if err := errors.Join(l.Add(r.record(path, size)), l.Flush()); err != nil {
		r.Error(err)
	}
}

// has checks whether the ledger has a record for a file of this size.
func (r *room) has(l *Ledger, path string, size int64, want bool) {
	r.Helper()
	if _, got := l.Find(path, file{size: size, time: modified}); got != want {
		r.Errorf("%q with %d bytes: %v, want %v", path, size, got, want)
	}
}

func (r *room) text(name string) string {
	r.Helper()
	text := must.Get(os.ReadFile(filepath.Join(r.dir, name)))(r)
	return string(text)
}

// TestLedger checks that a run finds the last record of each path that earlier runs added, in the ledgers of all
// shards, and that no password is on the disk.
func TestLedger(t *testing.T) {
	r := newRoom(t)
	odd := []string{"a", "d/b c", "é", "\xe9\xff", "\xe9\xfe", "new\nline", `q"\`}
	l := r.open(Name)
	for _, path := range odd {
		r.add(l, path, 1)
		r.has(l, path, 1, false) // this run has fetched it already
	}
	r.add(l, "a", 2)
	r.add(r.open(Name+"-1-of-2"), "shard", 3)
	next := r.open(Name + "-2-of-2")
	for _, path := range odd[1:] {
		r.has(next, path, 1, true)
	}
	r.has(next, "a", 1, false)
	r.has(next, "a", 2, true)
	r.has(next, "shard", 3, true)
	r.has(next, "other", 3, false)
	if text := r.text(Name); strings.Contains(text, "secret") || strings.Count(text, "\n") != len(odd)+1 {
		t.Errorf("the ledger holds %q", text)
	}
}

// TestLedgerForeignLines checks that lines that are not records are ignored and do not affect the others.
func TestLedgerForeignLines(t *testing.T) {
	r := newRoom(t)
	r.add(r.open(Name), "a", 1)
	line := r.text(Name)
	for _, foreign := range []string{
		"\n", "\n\n", "text\n", "{}\n", "[]\n", "null\n", "{\"path\":1}\n", "{\"path\":\"a\",\"size\":\"x\"}\n",
		"\x00\xff\n", strings.Repeat("x", 1<<20) + "\n", "{\"path\":\"" + strings.Repeat("x", 1<<20) + "\"}\n", "{\"future\":[1],\"path\":\"z\"}\n",
	} {
		for _, text := range []string{foreign + line, line + foreign} {
			must.Do(t, os.WriteFile(filepath.Join(r.dir, Name), []byte(text), 0o666))
			l := r.open(Name)
			r.has(l, "a", 1, true)
			r.has(l, "", 0, false)
			r.add(l, "b", 2)
			r.has(r.open(Name), "b", 2, true)
		}
	}
}

// TestLedgerTorn cuts the ledger at every byte, as a crash may, and checks that complete records count and that the
// next record is intact.
func TestLedgerTorn(t *testing.T) {
	r := newRoom(t)
	l := r.open(Name)
	r.add(l, "a", 1)
	first := len(r.text(Name))
	r.add(l, "b", 2)
	whole := r.text(Name)
	for n := range len(whole) + 1 {
		must.Do(t, os.WriteFile(filepath.Join(r.dir, Name), []byte(whole[:n]), 0o666))
		l := r.open(Name)
		r.has(l, "a", 1, n >= first-1) // the line end has been added
		r.has(l, "b", 2, n >= len(whole)-1)
		r.add(l, "c", 3)
		l = r.open(Name)
		r.has(l, "a", 1, n >= first-1)
		r.has(l, "c", 3, true)
		if t.Failed() {
			t.Fatalf("cut after %d of %d bytes", n, len(whole))
		}
	}
}

// TestLedgerTogether lets two runs add to one ledger at the same time.
func TestLedgerTogether(t *testing.T) {
	r := newRoom(t)
	name := func(run, worker, i int) string { return fmt.Sprint(run, worker, i, strings.Repeat("x", 100*i)) }
	var adding sync.WaitGroup
	const n = 20
	for run := range 2 {
		l := r.open(Name)
		for worker := range 2 {
			adding.Go(func() {
				for i := range n {
					r.add(l, name(run, worker, i), 1)
				}
			})
		}
	}
	adding.Wait()
	l := r.open(Name)
	for run := range 2 {
		for worker := range 2 {
			for i := range n {
				r.has(l, name(run, worker, i), 1, true)
			}
		}
	}
}

// TestLedgerFull cuts a record off, as on a full disk, and checks that the next record is on a line of its own.
func TestLedgerFull(t *testing.T) {
	r := newRoom(t)
	l := r.open(Name)
	r.add(l, "first", 1)
	own := l.own
	must.Get(own.WriteString(`{"path":"a","url`))(t)
	blocked, err := os.Open(filepath.Join(r.dir, Name)) // for reading only
	must.Do(t, err)
	defer blocked.Close()
	l.own = blocked
	if err := errors.Join(l.Add(r.record("a", 1)), l.Flush()); err == nil {
		t.Error("a record was written to a file that cannot be written")
	}
	l.own = own
	r.add(l, "b", 1)
	r.add(l, "c", 1)
	next := r.open(Name)
	r.has(next, "a", 1, false)
	r.has(next, "b", 1, true)
	r.has(next, "c", 1, true)
}

// TestLedgerUnwritable checks a ledger that cannot be opened, and one that can no longer be written.
func TestLedgerUnwritable(t *testing.T) {
	r := newRoom(t)
	l := r.open(Name)
	r.add(l, "first", 1)
	must.Do(t, l.own.Close())
	err := errors.Join(l.Add(r.record("a", 0)), l.Flush())
	if !errors.Is(err, localfile.ErrLocal) || !strings.Contains(err.Error(), Name+": the ledger cannot be written: ") || strings.Count(err.Error(), Name) != 1 {
		t.Errorf("got %v", err)
	}
	disk.Fault = func() func(call, _ string) error { // whoever may read and write only writes
		done := false
		return func(call, _ string) error {
			if call != "read" || done {
				return nil
			}
			done = true
			return fs.ErrPermission
		}
	}()
	l, err = Open(r.root, Name)
	disk.Fault = nil
	must.Do(t, err)
	r.has(l, "first", 1, true)
	if err := l.Add(r.record("a", 0)); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v, want ErrPermission", err)
	}
	l.Close()
	if os.Geteuid() == 0 {
		return // root may write to any file
	}
	must.Do(t, os.Chmod(filepath.Join(r.dir, Name), 0o444))
	l = r.open(Name) // an unwritable ledger is still read
	r.has(l, "first", 1, true)
	if err := l.Add(r.record("a", 0)); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v, want ErrPermission", err)
	}
}
