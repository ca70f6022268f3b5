package download

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/afero"
	"go.uber.org/goleak"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/testkit/memory"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/timing"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

var kitTime = time.Date(2021, 3, 4, 5, 6, 7, 0, time.UTC)

// kit has a server with files, a directory to save in, and the events of a run.
type kit struct {
	*testing.T
	*testserver.Server
	dir  string
	top  string // the root that dir is below; "" means no root
	c    *ftpexec.Client
	src  Source // c
	part string // the name of the part
	json string // the name of its journal

	fs      afero.Fs     // the server's files
	sent    atomic.Int64 // bytes read of the served files
	commits []Result     // arguments of Commit

	mu     sync.Mutex
	events []Event
	waits  []time.Duration
	fault  failure
}

func newKit(t *testing.T, tree map[string]string) *kit {
	t.Helper()
	k := &kit{T: t, dir: t.TempDir(), c: &ftpexec.Client{Timeout: 5 * time.Second}, part: "f.ftpfetch.part", json: "f.ftpfetch.json"}
	k.src = k.c
	k.fs = &countedFS{afero.NewMemMapFs(), &k.sent}
	k.Server = testserver.New(t, &testserver.Options{FS: afero.NewIOFS(k.fs), Tree: tree, ModTime: kitTime, Fault: func(p *testserver.Conn) testserver.Action {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.fault == nil {
			return nil
		}
		return k.fault(p)
	}})
	return k
}

// countedFS counts the bytes read from its files.
type countedFS struct {
	afero.Fs
	n *atomic.Int64
}

func (c *countedFS) OpenFile(name string, flag int, perm fs.FileMode) (afero.File, error) {
	f, err := c.Fs.OpenFile(name, flag, perm)
	return &countedFile{f, c.n}, err
}

type countedFile struct {
	afero.File
	n *atomic.Int64
}

func (c *countedFile) Read(p []byte) (int, error) {
	n, err := c.File.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// faulty makes f the server's Fault from now on.
func (k *kit) faulty(f failure) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.fault = f
}

// failure is a Fault: it returns what the server does instead of obeying a command.
type failure = func(*testserver.Conn) testserver.Action

// on makes every command with this verb fail by f, on connections number from to to.
func on(verb string, from, to int, f testserver.Action) failure {
	return func(p *testserver.Conn) testserver.Action {
		if p.Verb == verb && p.Num >= from && p.Num <= to {
			return f
		}
		return nil
	}
}

// always is on for all connections.
func always(verb string, f testserver.Action) failure { return on(verb, 1, 1<<30, f) }

// replies makes the server send this reply to every command with this verb.
func replies(verb, reply string) failure { return always(verb, testserver.Reply(reply)) }

// unsized refuses every command that gives the size.
func unsized(reply string) failure {
	return func(c *testserver.Conn) testserver.Action {
		if c.Verb == "SIZE" || c.Verb == "MLST" {
			return testserver.Reply(reply)
		}
		return nil
	}
}

// during makes the nth transfer fail.
func during(n int, f testserver.Action) failure {
	return func(p *testserver.Conn) testserver.Action {
		if p.Transfer == n {
			return f
		}
		return nil
	}
}

// cut makes the data of the nth transfer end after a number of bytes.
func cut(n int, octets int64) failure {
	return during(n, testserver.EndDataAfter(octets, testserver.Closed))
}

func (k *kit) url(path string) *urlparse.URL { return urlOf(k.T, k.URL(path)) }

func urlOf(t testing.TB, s string) *urlparse.URL {
	t.Helper()
	u := must.Get(urlparse.Parse(s))(t)
	return u
}

// below makes dir a directory below a new root, which is empty.
func (k *kit) below() {
	k.top = k.TempDir()
	k.dir = filepath.Join(k.top, "d", "e")
}

// target returns the path of f for a download, and the root if there is one. The caller closes the root.
func (k *kit) target(f string) (path string, root *os.Root) {
	k.Helper()
	if k.top == "" {
		return k.path(f), nil
	}
	return filepath.Join("d", "e", f), must.Get(os.OpenRoot(k.top))(k)
}

func (k *kit) path(name string) string { return filepath.Join(k.dir, name) }

// get retrieves path as f, without waits between retries.
func (k *kit) get(path string, o Options) (Result, error) {
	k.Helper()
	k.mu.Lock()
	k.events, k.waits = nil, nil
	k.mu.Unlock()
	waiting(k.T, func(ctx context.Context, d time.Duration) error {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.waits = append(k.waits, d)
		return ctx.Err()
	})
	if o.Events == nil {
		o.Events = func(e Event) {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.events = append(k.events, e)
		}
	}
	return File(k.Context(), k.src, k.url(path), k.path("f"), &o)
}

// waiting makes retries call f instead of waiting, until the test ends.
func waiting(t *testing.T, f func(context.Context, time.Duration) error) {
	timing.Wait = f
	t.Cleanup(func() { timing.Wait = atOnce })
}

// onProgress returns an Options.Events that gets only Progress.
func onProgress(f func(done, total int64)) func(Event) {
	return func(e Event) {
		if e.Kind == Progress {
			f(e.Done, e.Total)
		}
	}
}

// told reports whether there was an event of this kind whose text contains text.
func (k *kit) told(kind EventKind, text string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.ContainsFunc(k.events, func(e Event) bool { return e.Kind == kind && strings.Contains(e.Text, text) })
}

// rests returns the offsets that the client requested since the last call, without the overlaps.
func (k *kit) rests() []string {
	var out []string
	for _, c := range k.Commands() {
		if offset, ok := strings.CutPrefix(c, "REST "); ok {
			n, _ := strconv.Atoi(offset)
			out = append(out, strconv.Itoa(n+overlapSize))
		}
	}
	k.ResetCommands()
	return out
}

// want checks that the directory has exactly these files.
func (k *kit) want(files map[string]string) {
	k.Helper()
	wantFiles(k.T, k.dir, files)
}

// leaves stops a run after a number of bytes of path, so that a part stays as after a kill.
func (k *kit) leaves(path string, octets int64) {
	k.Helper()
	k.faulty(always("RETR", testserver.EndDataAfter(octets, testserver.Closed)))
	if _, err := k.get(path, Options{Retries: -1}); err == nil {
		k.Fatal("the transfer was not cut")
	}
	k.faulty(nil)
	k.ResetCommands()
	wantNames(k.T, k.dir, k.json, k.part)
	if info, err := os.Stat(k.path(k.json)); err != nil || info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" { // a URL may be private
		k.Errorf("the journal has mode %v, %v", info.Mode(), err)
	}
}

// change replaces a file on the server.
func (k *kit) change(path, text string, modTime time.Time) {
	k.Helper()
	f := must.Get(k.fs.Create(path))(k)
	must.Get(f.WriteString(text))(k)
	f.Close()
	must.Do(k, k.fs.Chtimes(path, modTime, modTime))
}

// noise returns n random bytes.
func noise(n int, seed uint64) string {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16)}).Read(b)
	return string(b)
}

func (k *kit) write(name, text string) {
	k.Helper()
	mustWrite(k.T, k.path(name), text)
}

// span is a range of bytes that a journal claims.
type span struct{ start, end int64 }

// journal returns a journal for path on the server. Its checksums, in blocks of 64 KiB, are those of the current part.
func (k *kit) journal(path string, size int64, modTime time.Time, done ...span) string {
	k.Helper()
	part := read(k.T, k.path(k.part))
	var blocks []string
	for _, x := range done {
		for at := x.start; at < x.end; at += 64 << 10 {
			end := min(x.end, at+64<<10)
			sum := crc32.Checksum([]byte(part[at:end]), crc32.MakeTable(crc32.Castagnoli))
			blocks = append(blocks, fmt.Sprintf("[%d,%d,%d]", at, end, sum))
		}
	}
	return fmt.Sprintf(`{"ftpfetch":4,"url":%q,"size":%d,"modified":%q,"done":[%s]}`,
		k.URL(path), size, modTime.Format(time.RFC3339), strings.Join(blocks, ","))
}

// claims returns the spans that the journal of f.ftpfetch.part claims, and their bytes.
func (k *kit) claims() (done []span, octets int64) {
	k.Helper()
	var journal struct{ Done [][3]int64 }
	must.Do(k, json.Unmarshal([]byte(read(k.T, k.path(k.json))), &journal))
	for _, x := range journal.Done {
		done = append(done, span{x[0], x[1]})
		octets += x[1] - x[0]
	}
	return done, octets
}

// onCall makes f the disk.Fault until the test ends. The calls of f do not overlap.
func onCall(t *testing.T, f func(call, path string) error) {
	t.Helper()
	var mu sync.Mutex
	disk.Fault = func(call, path string) error {
		mu.Lock()
		defer mu.Unlock()
		return f(call, path)
	}
	t.Cleanup(func() { disk.Fault = nil })
}

func (k *kit) exists(name string) bool {
	_, err := os.Lstat(k.path(name))
	return err == nil
}

func read(t testing.TB, path string) string {
	t.Helper()
	b := must.Get(os.ReadFile(path))(t)
	return string(b)
}

// mustWrite makes a file for a test.
func mustWrite(t *testing.T, path, text string) {
	t.Helper()
	must.Do(t, os.WriteFile(path, []byte(text), 0o644))
}

// wantFiles compares the names and contents of a directory.
func wantFiles(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	for _, name := range names {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if text, known := want[name]; err != nil || !known || string(got) != text {
			t.Errorf("%s holds %.40q (%d bytes, %v), want %.40q (%d bytes, known %v)", name, got, len(got), err, text, len(text), known)
		}
	}
	for name := range want {
		if !slices.Contains(names, name) {
			t.Errorf("%s is missing, there are %v", name, names)
		}
	}
}

func TestMain(m *testing.M) {
	if os.Getenv(killChild) != "" {
		os.Exit(beKilled())
	}
	memory.Use()
	timing.Wait = atOnce
	flag.Set("test.parallel", "8") // parallel tests mostly wait; the flag -parallel overrides this
	goleak.VerifyTestMain(m)
}
