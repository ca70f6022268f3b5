package cli_test

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spf13/afero"

	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// TestWrittenNames checks which files exist at each command of runs that write all kinds of files. ftpfetch's own files
// have names under which no file of a server is saved.
func TestWrittenNames(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", state)
	names := make(chan string, 1e5)
	look := func() {
		for _, top := range []string{dir, state} {
			_ = filepath.WalkDir(top, func(path string, _ fs.DirEntry, err error) error {
				below, _ := filepath.Rel(top, path)
				names <- filepath.ToSlash(below)
				return nil
			})
		}
	}
	files, cut := afero.NewMemMapFs(), new(atomic.Bool)
	s := testserver.New(t, &testserver.Options{
		FS: afero.NewIOFS(files), Tree: map[string]string{"/t/a": strings.Repeat("a", 9000), "/t/b/c": "c", "/t/b/d": "d"},
		Fault: func(c *testserver.Conn) testserver.Action {
			if look(); cut.Load() && c.Verb == "RETR" {
				return testserver.EndDataAfter(5000, testserver.Closed)
			}
			return nil
		},
	})
	list := written(t, s.URL("/t/a")+"\n"+s.URL("/t/b/d")+"\n"+s.URL("/t/b/c")+"\n")
	for _, args := range [][]string{
		{"-r", "-N", "-d", dir + "/t", s.URL("/t/")},
		{"-i", list, "--shard", "1/2", "-d", dir + "/b"},
		{"-i", list, "--shard", "2/2", "-d", dir + "/b"}, // the port decides how files are divided among the shards
		{"-r", "-N", "--delete", "--backup", "-d", dir + "/t", s.URL("/t/")},
		{"--shared", "--per-host", "1", "-s", "3", "-d", dir, s.URL("/t/a")},
		{"--checksum", "md5:00112233445566778899aabbccddeeff", "-d", dir + "/x", s.URL("/t/b/c")},
		{"--retries", "0", "--overwrite", "-d", dir, s.URL("/t/a")},
	} {
		cut.Store(args[0] == "--retries")
		if slices.Contains(args, "--delete") {
			must.Do(t, files.Remove("/t/b/d"))
		}
		_, _, _ = run(t, args...)
		look()
	}
	close(names)
	kinds := map[string]bool{}
	for name := range names {
		own, kind := localfile.Own(name) != "", strings.Replace(filepath.Ext(name), "-2-of-2", "-1-of-2", 1)
		if kinds[kind] = kinds[kind] || own; own {
			continue
		}
		if below := strings.TrimPrefix(name, "t/"); !slices.Contains([]string{".", "t", "x", "a", "b", "b/a", "b/c", "b/d"}, below) {
			t.Errorf("%q could be the name of a file of a server", name)
		}
	}
	for _, kind := range []string{".part", ".json", ".bad", ".ftpfetch-ledger", ".ftpfetch-ledger-1-of-2", ".ftpfetch-trash", ".slot1", ".place64"} {
		if !kinds[kind] {
			t.Errorf("no run has left a file of the kind %s", kind)
		}
	}
}
