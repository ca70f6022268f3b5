package download

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/testserver"
)

// matrixEvery is 1 to make every call on the disk fail, or n to make every nth fail.
var matrixEvery = flag.Int("matrix.every", night.Or(100, 5), "every how manieth call on the disk TestMatrix has go wrong")

// scene is a command and the state of the disk before it.
type scene struct {
	what   string
	before func(*kit)
	server func(*testserver.Conn) testserver.Action // for every run
	path   string                                   // on the server; "" means /f
	name   string                                   // on the disk; "" means f
	o      Options
	err    error
	want   map[string]string // all files at the end; nil means only the file
	twice  error             // error of the same command the second time
	kept   string            // what a killed run may leave in f.ftpfetch.part, although the command fails
}

var threeMiB = noise(3<<20, 5)

func scenes(t *testing.T) []scene {
	bad := sum(t, "sha256:"+sha256Of("another"))
	half := body[:150_000]
	old := func(k *kit) {
		k.write("f", "old")
		past := kitTime.Add(-time.Hour)
		must.Do(k, os.Chtimes(k.path("f"), past, past))
	}
	left := func(k *kit) { k.leaves("/f", 100_000) }
	damaged := func(k *kit) {
		k.write(k.part, body)
		k.write(k.json, k.journal("/f", 300_000, kitTime, span{0, 300_000}))
		k.write(k.part, body[:100_000]+"damage"+body[100_006:])
	}
	long := strings.Repeat("n", 255)
	return []scene{
		{what: "new", twice: fs.ErrExist},
		{what: "new, often in the journal", o: Options{checkpoint: time.Microsecond}, twice: fs.ErrExist},
		{what: "empty", path: "/empty", want: map[string]string{"f": ""}, twice: fs.ErrExist},
		{what: "segments", path: "/large", o: Options{Segments: 3}, want: map[string]string{"f": threeMiB}, twice: fs.ErrExist},
		{what: "resumed", before: left, twice: fs.ErrExist},
		{what: "resumed, of another", before: func(k *kit) { k.leaves("/g", 1) }, twice: fs.ErrExist},
		{what: "not resumed", before: left, o: Options{NoResume: true}, twice: fs.ErrExist},
		{what: "no REST", before: left, server: replies("REST", "502 no"), twice: fs.ErrExist},
		{what: "damaged part", before: damaged, twice: fs.ErrExist},
		{what: "overwrite", before: old, o: Options{Existing: Overwrite}},
		{what: "overwrite a read-only file", before: func(k *kit) { old(k); k.chmod("f", 0o444) }, o: Options{Existing: Overwrite}},
		{what: "skip", o: Options{Existing: Skip}},
		{what: "newer", before: old, o: Options{Existing: Newer}},
		{what: "newer, none there", o: Options{Existing: Newer}},
		{what: "continue", before: func(k *kit) { k.write("f", half) }, o: Options{Existing: Continue}},
		{what: "continue over segments", before: func(k *kit) { k.write("f", threeMiB[:100]) }, path: "/large",
			o: Options{Existing: Continue, Segments: 2}, want: map[string]string{"f": threeMiB}},
		{what: "continue an empty file", before: func(k *kit) { k.write("f", "") }, o: Options{Existing: Continue}},
		{what: "continue, refused", before: func(k *kit) { k.write("f", half) }, server: replies("RETR", "550 no"),
			o: Options{Existing: Continue}, err: ftpexec.ErrRefused, want: map[string]string{"f": half}, twice: ftpexec.ErrRefused},
		{what: "continue, cut at once", before: func(k *kit) { k.write("f", half) },
			server: always("RETR", testserver.EndDataAfter(0, testserver.Closed)), o: Options{Existing: Continue, Retries: -1},
			err: ftpexec.ErrTruncated, want: map[string]string{"f": half}, twice: ftpexec.ErrTruncated, kept: half},
		{what: "refused", server: replies("RETR", "550 no"), err: ftpexec.ErrRefused, want: map[string]string{}, twice: ftpexec.ErrRefused},
		{what: "text", path: "/f.txt;type=a", want: map[string]string{"f": "one\ntwo\n"}, twice: fs.ErrExist},
		{what: "no size", server: replies("SIZE", "502 no"), twice: fs.ErrExist},
		{what: "digest", o: Options{Sum: sum(t, "sha256:"+sha256Of(body))}, twice: fs.ErrExist},
		{what: "wrong digest", o: Options{Sum: bad}, err: ErrDigest, want: nil, twice: ErrDigest},
		{what: "left without a journal", before: func(k *kit) { k.write(k.part, half) }, twice: fs.ErrExist},
		{what: "left without a journal, overwrite", before: func(k *kit) { k.write(k.part, half) }, o: Options{Existing: Overwrite}},
		{what: "left with the name already", before: func(k *kit) { k.write("f", body); k.link("f", k.part) }, o: Options{Existing: Overwrite}},
		{what: "long name", name: long, want: map[string]string{long: body}, twice: fs.ErrExist},
		{what: "long name, wrong digest", name: long, o: Options{Sum: bad}, err: ErrDigest, twice: ErrDigest},
	}
}

func (k *kit) chmod(name string, mode os.FileMode) {
	must.Do(k, os.Chmod(k.path(name), mode))
}

func (k *kit) link(from, to string) {
	must.Do(k, os.Link(k.path(from), k.path(to)))
}

// run runs the command of s.
func (s *scene) run(ctx context.Context, k *kit) error {
	path, root := k.target(cmp.Or(s.name, "f"))
	if root != nil {
		defer root.Close()
	}
	k.faulty(s.server)
	defer k.faulty(nil)
	o := s.o
	o.Root, o.Commit = root, k.commit
	if o.checkpoint == 0 {
		o.checkpoint = time.Hour
	}
	_, err := File(ctx, k.src, k.url(cmp.Or(s.path, "/f")), path, &o)
	return err
}

// commit is the Commit of every run.
func (k *kit) commit(r Result) error {
	k.commits = append(k.commits, r)
	return nil
}

// new reports whether s gives the target new bytes, so that Commit must be called.
func (s *scene) new() bool { return s.err == nil }

func atOnce(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// begin sets up the directory for s. Below a root the directory is missing if s needs no files before it.
func (s *scene) begin(k *kit) {
	k.commits = nil
	if k.top == "" {
		k.dir = k.TempDir()
	} else {
		k.below()
	}
	if s.before != nil {
		must.Do(k, os.MkdirAll(k.dir, 0o777))
		s.before(k)
	}
}

// check compares the files with what s wants.
func (s *scene) check(k *kit) {
	k.Helper()
	switch {
	case s.err == ErrDigest: // each complete run keeps its bad file
		k.onlyBad()
	case s.kept != "" && k.exists(k.json):
		want := maps.Clone(s.want)
		want[k.part], want[k.json] = s.kept, read(k.T, k.path(k.json))
		k.want(want)
	case s.want != nil:
		k.want(s.want)
	default:
		k.want(map[string]string{"f": body})
	}
}

// onlyBad checks that there are only files with a wrong digest.
func (k *kit) onlyBad() {
	k.Helper()
	all := namesIn(k.T, k.dir)
	if len(all) == 0 || slices.ContainsFunc(all, func(name string) bool {
		return !strings.Contains(name, ".bad") || read(k.T, k.path(name)) != body
	}) {
		k.Errorf("the directory holds %q", all)
	}
}

// calls returns the number of calls on the disk in one run of s.
func (s *scene) calls(k *kit) int {
	s.begin(k)
	c := counter{at: -1}
	disk.Fault = c.call
	err := s.run(k.Context(), k)
	disk.Fault = nil
	if !errors.Is(err, s.err) {
		k.Fatalf("%s: got %v, want %v", s.what, err, s.err)
	}
	if got := len(k.commits); s.new() && got != 1 || !s.new() && got > 0 {
		k.Errorf("%s: Commit was called %d times", s.what, got)
	}
	s.check(k)
	return c.n
}

// counter fails calls on the disk.
type counter struct {
	mu    sync.Mutex
	n     int
	at    int // the first call that fails; -1 means none
	more  bool
	same  bool // every later call of the same name fails too
	err   error
	named string
	died  func()
}

func (c *counter) call(call, path string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if call == "flock" && !c.more { // locks either exist or not: see TestWithoutLocks
		return nil
	}
	c.n++
	switch {
	case c.n == c.at:
		c.named = call
		if c.died != nil {
			c.died()
		}
		return c.err
	case c.at > 0 && c.n > c.at && (c.more || c.same && call == c.named):
		return c.err
	}
	return nil
}

var matrixTree = map[string]string{"/f": body, "/g": body, "/empty": "", "/large": threeMiB, "/f.txt": "one\ntwo\n"}

var errDead = errors.New("the process is dead")

// TestMatrix kills a run at each call on the disk, or makes the call fail. Then the same command must succeed and leave
// no other files. Each scene runs twice: without a root and below one.
func TestMatrix(t *testing.T) {
	kinds := []*counter{
		{err: errDead, more: true},
		{err: syscall.EIO}, {err: syscall.ENOSPC}, {err: syscall.EACCES},
		{err: syscall.EIO, same: true}, {err: syscall.ENOSPC, same: true}, {err: syscall.EACCES, same: true},
	}
	counts := map[string]int{}
	t.Cleanup(func() { disk.Fault = nil })
	all := scenes(t)
	for i, s := range slices.Concat(all, all) {
		t.Run(s.what, func(t *testing.T) {
			k := newKit(t, matrixTree)
			if i >= len(all) {
				k.below()
			}
			calls := s.calls(k)
			for at := 1 + i%min(*matrixEvery, calls+1); at <= calls+1; at += *matrixEvery {
				for j, kind := range kinds {
					if (i+j)%night.Or(3, 1) != 0 {
						continue
					}
					s.fails(k, &counter{at: at, err: kind.err, more: kind.more, same: kind.same})
					counts[kind.err.Error()]++
				}
			}
		})
	}
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%s: %d runs", what, counts[what])
	}
}

// fails runs s with c failing calls, and then again without.
func (s *scene) fails(k *kit, c *counter) {
	k.Helper()
	s.begin(k)
	ctx, cancel := context.WithCancel(k.Context())
	defer cancel()
	if c.more {
		c.died = cancel
	}
	disk.Fault = c.call
	err := s.run(ctx, k)
	disk.Fault = nil
	what := fmt.Sprintf("%v at call %d (%s, more %v)", c.err, c.at, c.named, c.same)
	s.checkTarget(k, what)
	switch {
	case c.more, err == nil, errors.Is(err, ErrLocal), c.named == "commit", s.err != nil && errors.Is(err, s.err):
	default:
		k.Errorf("%s: got %v, which is not a local error", what, err)
	}
	if err != nil && !c.more && !errors.Is(err, c.err) && !(s.err != nil && errors.Is(err, s.err)) {
		k.Errorf("%s: got %v, which hides the cause", what, err)
	}
	done := s.finished(k)
	again := s.run(k.Context(), k)
	done = done || c.same && s.finished(k) // the run may fail although the file is whole, because several calls failed
	if !errors.Is(again, s.err) && !(done && errors.Is(again, s.twice)) {
		k.Errorf("%s: %v; the same command then: %v; there is %q", what, err, again, namesIn(k.T, k.dir))
		return
	}
	s.check(k)
	if s.new() && len(k.commits) == 0 {
		k.Errorf("%s: Commit was not called, in neither run", what)
	}
	if k.Failed() {
		k.Fatalf("%s: %v, then %v", what, err, again)
	}
}

// finished reports whether the directory has the right file and no others.
func (s *scene) finished(k *kit) bool {
	want := s.want
	if want == nil {
		want = map[string]string{"f": body}
	}
	all := namesIn(k.T, k.dir)
	return s.err == nil && slices.Equal(all, slices.Sorted(maps.Keys(want))) && read(k.T, k.path(all[0])) == want[all[0]]
}

// checkTarget checks that the target, if it exists, is either a whole file for which Commit was called, or the file
// from before the run.
func (s *scene) checkTarget(k *kit, what string) {
	k.Helper()
	name := cmp.Or(s.name, "f")
	got, err := os.ReadFile(k.path(name))
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	want := []byte(body)
	if s.want != nil {
		want = []byte(s.want[name])
	}
	first := k.dir
	k.dir = k.TempDir()
	if s.before != nil {
		s.before(k)
	}
	before, _ := os.ReadFile(k.path(name))
	k.dir = first
	if bytes.Equal(got, want) && !bytes.Equal(got, before) && len(k.commits) == 0 {
		k.Errorf("%s: %s is there, but Commit was not called", what, name)
	}
	if err != nil || !bytes.Equal(got, want) && !bytes.Equal(got, before) {
		k.Errorf("%s: %s holds %d bytes that are wrong (%v)", what, name, len(got), err)
	}
}
