package mirror_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/afero"

	"example.com/ftpfetch/cmd/internal/mirror"
	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/ledger"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// flaky is a server whose listings lack names at random, and which sometimes sends the reply to another command. Its
// faults are independent, so with some luck they can defeat any rule; the rule must make that very rare. The most
// dangerous fault is a CWD that gets a 2yz reply and is not executed. If a tenth of the commands fail, that is one
// command in 190. Without rounds on new connections, one in a few hundred complete runs lost a file. Now all three
// rounds must have that fault, or one as rare, in the same directory, which happens in one run in millions. A night has
// 12,000 runs.
type flaky struct {
	afero.Fs
	mu      sync.Mutex
	rand    *rand.Rand
	drops   float64             // fraction of names that a listing lacks
	fails   float64             // fraction of commands that fail
	unknown map[string]struct{} // commands that the server does not know
	tree    map[string]string
}

type shortened struct {
	afero.File
	of *flaky
}

func (f *flaky) Open(name string) (afero.File, error) {
	file, err := f.Fs.Open(name)
	return shortened{file, f}, err
}

func (s shortened) Readdir(n int) ([]fs.FileInfo, error) {
	all, err := s.File.Readdir(n)
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	return slices.DeleteFunc(all, func(fs.FileInfo) bool { return s.of.rand.Float64() < s.of.drops }), err
}

func (f *flaky) fault(c *testserver.Conn) testserver.Action {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, unknown := f.unknown[c.Verb]; unknown {
		return testserver.Reply("500 What?")
	}
	if c.Verb == "" || f.rand.Float64() >= f.fails {
		return nil
	}
	refusal := testserver.Reply(refusals[f.rand.IntN(len(refusals))])
	switch f.rand.IntN(5) {
	case 0:
		return refusal
	case 1:
		return testserver.ReplaceReply(refusal)
	case 2:
		return testserver.EndControl(testserver.Closed)
	case 3:
		return testserver.Sequence(testserver.Reply("421 Too many users"), testserver.EndControl(testserver.Closed))
	}
	return testserver.EndDataAfter(f.rand.Int64N(60), testserver.Closed)
}

// newFlaky returns a server with a random tree. It has no faults until the test sets them.
func newFlaky(seed uint64) *flaky {
	r := rand.New(rand.NewPCG(seed, 1))
	f := &flaky{Fs: afero.NewMemMapFs(), rand: r, unknown: make(map[string]struct{}), tree: make(map[string]string)}
	dirs := []string{"/t"}
	for i := range 2 + r.IntN(6) {
		dirs = append(dirs, path.Join(dirs[r.IntN(len(dirs))], fmt.Sprint("d", i)))
	}
	for i := range 3 + r.IntN(25) {
		f.tree[path.Join(dirs[r.IntN(len(dirs))], fmt.Sprint("f", i))] = fmt.Sprint("contents ", i)
	}
	if r.IntN(2) == 0 {
		f.Fs = terse{f.Fs}
	}
	for _, verb := range []string{"MLSD", "MLST", "SIZE", "MDTM", "PWD"} {
		if r.IntN(6) == 0 {
			f.unknown[verb] = struct{}{}
		}
	}
	return f
}

// TestDeleteFlaky mirrors trees again and again from a server whose listings lack names at random, and which makes
// other mistakes. The server has all files, so none may be deleted.
func TestDeleteFlaky(t *testing.T) {
	const shards = 4 // run in parallel, because they wait for the disk
	trees := uint64(night.Or(40, 400))
	for shard := range uint64(shards) {
		t.Run(fmt.Sprint(shard), func(t *testing.T) {
			t.Parallel()
			runs, whole := 0, 0
			for seed := shard; seed < trees; seed += shards {
				synctest.Test(t, func(t *testing.T) { whole += mirrorFlaky(t, seed) })
				runs += flakyRuns
			}
			t.Logf("%d runs, %d of them to their end", runs, whole)
		})
	}
}

const flakyRuns = 3

// memoryDir returns a temporary directory, in memory if the system has one there: thousands of trees would wait for the
// disk for long, and the test is not about that.
func memoryDir(t *testing.T) string {
	const shm = "/dev/shm"
	if _, err := os.Stat(shm); err != nil {
		return t.TempDir()
	}
	dir := must.Get(os.MkdirTemp(shm, "ftpfetch"))(t)
	t.Cleanup(func() { must.Do(t, os.RemoveAll(dir)) })
	return dir
}

// mirrorFlaky fetches a tree, and mirrors it while the server has faults. It returns how many runs completed.
func mirrorFlaky(t *testing.T, seed uint64) (whole int) {
	f, network, dir := newFlaky(seed), ftptest.NewNetwork(), memoryDir(t)
	s := testserver.New(t, &testserver.Options{FS: afero.NewIOFS(f), Tree: f.tree, ModTime: time.Unix(1e9, 0), Listen: network.Listen, Fault: f.fault})
	once := func() (deleted []string, err error) {
		root := must.Get(os.OpenRoot(dir))(t)
		defer root.Close()
		client := &ftpexec.Client{Timeout: 5 * time.Second, Dial: network.Dial}
		defer client.CloseIdleConnections()
		u := must.Get(urlparse.Parse(s.URL("/%2Ft/")))(t)
		task := download.Task{URLs: []*urlparse.URL{u}, Tree: &download.Tree{}}
		source := &mirror.Source{FullSource: client, Trees: []download.Task{task}}
		o := download.RunOptions{Jobs: 1 + int(seed%4), Ledger: ledger.Name, Each: download.Options{Root: root, Existing: download.Newer, Retries: -1}}
		if _, err = download.Run(t.Context(), source, slices.Values(source.Trees), &o); err == nil {
			err = source.Delete(t.Context(), mirror.Deletion{Root: root, Most: 100, Tell: func(g mirror.Gone) { deleted = append(deleted, g.Path) }})
		}
		return deleted, err
	}
	if _, err := once(); err != nil {
		t.Errorf("seed %d: %v", seed, err)
	}
	f.mu.Lock()
	f.drops = []float64{0.01, 0.1, 0.5, 0.9}[seed/3%4]
	f.fails = []float64{0, 0.02, 0.1}[seed%3]
	f.mu.Unlock()
	for range flakyRuns {
		deleted, err := once()
		if err == nil {
			whole++
		}
		for name := range f.tree {
			if _, gone := os.Stat(filepath.Join(dir, strings.TrimPrefix(name, "/t/"))); gone != nil {
				t.Errorf("seed %d: %s is lost: deleted %q, %v", seed, name, deleted, err)
			}
		}
	}
	return whole
}
