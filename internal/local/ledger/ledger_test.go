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

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/urlparse"
)

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

func urlsOf(t *testing.T, texts ...string) (all []*urlparse.URL) {
	t.Helper()
	for _, text := range texts {
		u := must.Get(urlparse.Parse(text))(t)
		all = append(all, u)
	}
	return all
}

func sum(t *testing.T, text string) digest.Sum {
	t.Helper()
	s := must.Get(digest.Parse(text))(t)
	return s
}

// TestAbout checks which files a record matches.
func TestAbout(t *testing.T) {
	const md5, other = "md5:d41d8cd98f00b204e9800998ecf8427e", "md5:00000000000000000000000000000000"
	const crc = "crc32:00000000"
	is := file{size: 5, time: modified}
	plain := manifest.Item{URLs: urlsOf(t, "ftp://h/f"), Path: "f"}
	rec := Of(plain, plain.URLs[0], download.Result{Size: 5, ModTime: modified})
	with := func(change func(*manifest.Item)) manifest.Item { i := plain; change(&i); return i }
	summed := Of(plain, plain.URLs[0], download.Result{Size: 5, ModTime: modified, Sum: sum(t, md5)})
	tests := []struct {
		name string
		r    Record
		item manifest.Item
		info file
		want bool
	}{
		{"the same", rec, plain, is, true},
		{"another path", rec, with(func(i *manifest.Item) { i.Path = "g" }), is, false},
		{"another size on the disk", rec, plain, file{size: 6, time: modified}, false},
		{"another time on the disk", rec, plain, file{size: 5, time: modified.Add(time.Second)}, false},
		{"an earlier time on the disk", rec, plain, file{size: 5, time: modified.Add(-time.Second)}, false},
		{"a time without fractions", Of(plain, plain.URLs[0], download.Result{Size: 5, ModTime: modified.Add(999 * time.Millisecond)}), plain, is, true},
		{"no time in the ledger", Of(plain, plain.URLs[0], download.Result{Size: 5}), plain, is, false},
		{"the size of the list", rec, with(func(i *manifest.Item) { i.Size = new(int64(5)) }), is, true},
		{"another size in the list", rec, with(func(i *manifest.Item) { i.Size = new(int64(6)) }), is, false},
		{"another URL", rec, with(func(i *manifest.Item) { i.URLs = urlsOf(t, "ftp://h/g") }), is, false},
		{"one of the URLs", rec, with(func(i *manifest.Item) { i.URLs = urlsOf(t, "ftp://i/f", "ftp://h/f") }), is, true},
		{"a password", rec, with(func(i *manifest.Item) { i.URLs = urlsOf(t, "ftp://u:p@h/f") }), is, false},
		{"the digest", summed, with(func(i *manifest.Item) { i.Sum = sum(t, md5) }), is, true},
		{"the digest and another URL", summed, with(func(i *manifest.Item) { i.Sum, i.URLs = sum(t, md5), urlsOf(t, "ftp://x/y") }), is, true},
		{"another digest", summed, with(func(i *manifest.Item) { i.Sum = sum(t, other) }), is, false},
		{"another algorithm", summed, with(func(i *manifest.Item) { i.Sum = sum(t, crc) }), is, false},
		{"no digest in the ledger", rec, with(func(i *manifest.Item) { i.Sum = sum(t, md5) }), is, false},
		{"the digest, another size on the disk", summed, with(func(i *manifest.Item) { i.Sum = sum(t, md5) }), file{size: 6, time: modified}, false},
	}
	for _, tt := range tests {
		if got := tt.r.about(tt.item, time.Time{}, tt.info); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
	}
	for newer, want := range map[time.Duration]bool{0: true, time.Second: false, -time.Hour: true} {
		if got := rec.about(plain, modified.Add(newer), is); got != want {
			t.Errorf("%v newer in the listing: got %v", newer, got)
		}
	}
	login := Of(plain, urlsOf(t, "ftp://me:secret@h/f")[0], download.Result{Size: 5, ModTime: modified})
	for pass, want := range map[string]bool{"me:secret": true, "me:changed": true, "me": true, "you:secret": false} {
		if got := login.about(with(func(i *manifest.Item) { i.URLs = urlsOf(t, "ftp://"+pass+"@h/f") }), time.Time{}, is); got != want {
			t.Errorf("login %s: got %v", pass, got)
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

func (r *room) open(name string) *Ledger {
	r.Helper()
	l := must.Get(Open(r.root, name))(r)
	r.Cleanup(func() { l.Close() })
	return l
}

func (r *room) item(path string) manifest.Item {
	return manifest.Item{URLs: urlsOf(r.T, "ftp://me:secret@h/f"), Path: path}
}

// record returns the record of a file.
func (r *room) record(path string, size int64) Record {
	item := r.item(path)
	return Of(item, item.URLs[0], download.Result{Size: size, ModTime: modified})
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
	if _, got := l.Find(r.item(path), time.Time{}, file{size: size, time: modified}); got != want {
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
	if !errors.Is(err, download.ErrLocal) || !strings.Contains(err.Error(), Name+": the ledger cannot be written: ") || strings.Count(err.Error(), Name) != 1 {
		t.Errorf("got %v", err)
	}
	if os.Geteuid() == 0 {
		return // root may write to any file
	}
	must.Do(t, os.Chmod(filepath.Join(r.dir, Name), 0o444))
	if _, err := Open(r.root, Name); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v, want ErrPermission", err)
	}
}
