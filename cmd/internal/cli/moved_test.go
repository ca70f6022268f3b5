package cli_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/spf13/afero"

	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/testserver"
)

// TestOutputMoved renames the output directory before each call to the disk, and may create another of that name. With
// exit code 0, the files are where the command says. The names of new directories reach the disk before those of files.
func TestOutputMoved(t *testing.T) {
	files := map[string]string{"/d/f": "f", "/d/e/g": "g", "/d/h": "h"}
	s := testserver.New(t, &testserver.Options{Tree: files})
	t.Cleanup(func() { disk.Fault = nil })
	runs := 0
	for _, tt := range []struct {
		args []string
		want []string // paths below the directory
	}{
		{[]string{"-d", "OUT", s.URL("/d/f")}, []string{"f"}},
		{[]string{"-d", "OUT", "-o", "name", s.URL("/d/f")}, []string{"name"}},
		{[]string{"-o", "OUT/name", s.URL("/d/f")}, []string{"name"}},
		{[]string{"-r", "-d", "OUT", s.URL("/d/")}, []string{"f", "e/g", "h"}},
		{[]string{"-r", "-N", "--no-ledger", "-d", "OUT", s.URL("/d/")}, []string{"f", "e/g", "h"}},
		{[]string{"-j", "4", "-d", "OUT", s.URL("/d/f"), s.URL("/d/h")}, []string{"f", "h"}},
	} {
		for at, more := 1, true; more; at += night.Or(7, 1) {
			for _, anew := range []bool{false, true} {
				top := t.TempDir()
				out := filepath.Join(top, "a", "b")
				must.Do(t, os.MkdirAll(out, 0o777))
				args := slices.Clone(tt.args)
				for i := range args {
					args[i] = strings.Replace(args[i], "OUT", out, 1)
				}
				var mu sync.Mutex
				n, last := 0, ""
				disk.Fault = func(call, path string) error {
					mu.Lock()
					defer mu.Unlock()
					if n++; n == at {
						last = call + " " + path
						from := []string{out, filepath.Dir(out)}[at/2%2]
						must.Do(t, os.Rename(from, from+"-old"))
						if anew {
							must.Do(t, os.MkdirAll(out, 0o777))
						}
					}
					return nil
				}
				code, _, said := run(t, append([]string{"-q", "--retries", "0"}, args...)...)
				disk.Fault = nil
				more = n >= at
				runs++
				for _, name := range tt.want {
					if _, err := os.Stat(filepath.Join(out, name)); code == 0 && err != nil {
						t.Errorf("%q, moved before call %d (%s), anew %v: exit 0, but %v", tt.args, at, last, anew, err)
					}
				}
				if code != 0 && code != 23 && code != 1 || code != 0 && said == "" {
					t.Errorf("%q, moved before call %d (%s), anew %v: exit %d, %q", tt.args, at, last, anew, code, said)
				}
			}
		}
	}
	t.Logf("%d runs", runs)
}

// TestMovedWhileDeleting renames a directory with saved files while --delete asks the server about a file that is gone. The
// run must not end with 0.
func TestMovedWhileDeleting(t *testing.T) {
	for _, command := range []string{"SIZE", "LIST", "MLSD", "MDTM"} {
		files := afero.NewMemMapFs()
		out := filepath.Join(t.TempDir(), "out")
		var armed atomic.Bool
		s := testserver.New(t, &testserver.Options{
			FS: afero.NewIOFS(files), Tree: map[string]string{"/d/sub/f": "f", "/d/gone": "g", "/d/h": "h"},
			Fault: func(c *testserver.Conn) testserver.Action {
				if c.Verb == command && strings.Contains(c.Arg, "gone") && armed.Swap(false) {
					must.Do(t, os.Rename(filepath.Join(out, "sub"), filepath.Join(out, "elsewhere")))
				}
				return nil
			},
		})
		args := []string{"-q", "-r", "-N", "--delete", "-d", out, s.URL("/d/")}
		if code, _, said := run(t, args...); code != 0 {
			t.Fatal(said)
		}
		must.Do(t, files.Remove("/d/gone"))
		armed.Store(true)
		code, _, said := run(t, args...)
		if _, err := os.Stat(filepath.Join(out, "sub", "f")); code == 0 && err != nil {
			t.Errorf("moved at %s: exit 0, and %v: %s", command, err, said)
		}
		if command == "SIZE" && armed.Load() {
			t.Error("the server was not asked about the file that is gone")
		}
	}
}

// TestMadeDirectoriesAreFlushed checks which directories are flushed before the file gets its name.
func TestMadeDirectoriesAreFlushed(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/d/f": "f"}})
	t.Cleanup(func() { disk.Fault = nil })
	for _, args := range [][]string{{s.URL("/d/f")}, {"-r", s.URL("/d/")}, {"-o", "g", s.URL("/d/f")}} {
		top := t.TempDir()
		flushed := map[string]bool{}
		disk.Fault = func(call, path string) error {
			if call == "fsync" {
				flushed[filepath.Clean(path)] = true
			}
			return nil
		}
		code, _, said := run(t, append([]string{"-q", "-d", filepath.Join(top, "a", "b", "c")}, args...)...)
		disk.Fault = nil
		for _, dir := range []string{top, top + "/a", top + "/a/b"} {
			if !flushed[dir] {
				t.Errorf("%q: exit %d, %s; the names in %s are not on the disk", args, code, said, dir)
			}
		}
	}
}

// TestBackupsAreFlushed checks that the directories of --backup, and the names in them, are flushed to the disk.
func TestBackupsAreFlushed(t *testing.T) {
	t.Cleanup(func() { disk.Fault = nil })
	files := afero.NewMemMapFs()
	s := testserver.New(t, &testserver.Options{FS: afero.NewIOFS(files), Tree: map[string]string{"/d/a/f": "f", "/d/g": "g"}})
	out := filepath.Join(t.TempDir(), "out")
	args := []string{"-q", "-r", "-N", "-d", out, s.URL("/d/")}
	if code, _, said := run(t, args...); code != 0 {
		t.Fatal(said)
	}
	must.Do(t, files.Remove("/d/a/f"))
	flushed := map[string]bool{}
	disk.Fault = func(call, path string) error {
		if call == "fsync" {
			flushed[filepath.Clean(path)] = true
		}
		return nil
	}
	code, _, said := run(t, append([]string{"--delete", "--backup"}, args...)...)
	disk.Fault = nil
	kept := must.Get(filepath.Glob(out + "/.ftpfetch-trash/*/a"))(t)
	if code != 0 || len(kept) != 1 {
		t.Fatalf("exit %d, %s: %q", code, said, kept)
	}
	for dir := kept[0]; len(dir) >= len(out); dir = filepath.Dir(dir) {
		if !flushed[dir] {
			t.Errorf("the names in %s are not on the disk", dir)
		}
	}
}
