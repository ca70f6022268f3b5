//go:build unix

package download

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/testserver"
)

// TestNeverOutside replaces a name that a run uses by a link out of its root, at each call on the disk in turn. Nothing
// outside may change.
func TestNeverOutside(t *testing.T) {
	t.Cleanup(func() { disk.Fault = nil })
	runs := 0
	for i, s := range scenes(t) {
		k := newKit(t, matrixTree)
		k.below()
		calls := s.calls(k)
		for at := 1 + i%min(*matrixEvery, calls); at <= calls; at += *matrixEvery {
			for j, swap := range swaps {
				if (i+j)%night.Or(3, 1) != 0 {
					continue
				}
				runs++
				s.begin(k)
				outside := newOutside(t)
				once := sync.Once{}
				c := counter{at: at, died: func() { once.Do(func() { swap.do(k, outside.dir) }) }}
				disk.Fault = c.call
				err := s.run(t.Context(), k)
				disk.Fault = nil
				if now := outside.list(); !slices.Equal(now, outside.was) {
					t.Fatalf("%s, call %d (%s), %s: %v; outside there is %q, want %q", s.what, at, c.named, swap, err, now, outside.was)
				}
			}
		}
	}
	t.Logf("%d runs", runs)
}

// swap replaces a name below the root by a link to a name outside.
type swap struct {
	name, aim string
	relative  bool
}

var swaps = []swap{
	{"d", ".", false}, {"d", ".", true}, {"d/e", "e", false}, {"d/e", "e", true},
	{"d/e/f", "f", false}, {"d/e/f.ftpfetch.part", "f.ftpfetch.part", false}, {"d/e/f.ftpfetch.json", "f.ftpfetch.json", false},
	{"d/e/f.ftpfetch.next", "f.ftpfetch.next", false}, {"d/e/f.ftpfetch.bad", "f.ftpfetch.bad", false},
	{"d/e/f", "new", false}, {"d/e/f.ftpfetch.part", "new", false}, {"d/e/f.ftpfetch.json", "new", false}, {"d/e/f.ftpfetch.next", "new", false},
}

func (s swap) String() string {
	return fmt.Sprintf("%s -> %s (relative %v)", s.name, s.aim, s.relative)
}

// do makes the swap. It keeps the replaced file below the root, under another name.
func (s swap) do(k *kit, outside string) {
	name, aim := filepath.Join(k.top, s.name), filepath.Join(outside, s.aim)
	if s.relative {
		var err error
		if aim, err = filepath.Rel(filepath.Dir(name), aim); err != nil {
			k.Error(err)
		}
	}
	if err := os.Rename(name, filepath.Join(k.top, "moved")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		k.Error(err)
	}
	if err := os.Symlink(aim, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		k.Error(err)
	}
}

// outside is a directory that no run may change.
type outside struct {
	*testing.T
	dir string
	was []string
}

func newOutside(t *testing.T) *outside {
	o := &outside{T: t, dir: t.TempDir()}
	for _, dir := range []string{o.dir, filepath.Join(o.dir, "e")} {
		must.Do(t, os.MkdirAll(dir, 0o777))
		for _, name := range []string{"f", "f.ftpfetch.part", "f.ftpfetch.json", "f.ftpfetch.next", "f.ftpfetch.bad"} {
			mustWrite(t, filepath.Join(dir, name), "theirs")
		}
	}
	o.was = o.list()
	return o
}

// list describes everything in the directory.
func (o *outside) list() (all []string) {
	err := filepath.WalkDir(o.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		text := ""
		if info.Mode().IsRegular() {
			text = read(o.T, path)
		}
		all = append(all, fmt.Sprint(path, " ", info.Mode(), " ", info.ModTime(), " ", text))
		return nil
	})
	if err != nil {
		o.Error(err)
	}
	return all
}

// TestRootPaths checks which paths below a root are refused before the run sends anything, and how messages show them.
func TestRootPaths(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	k.top = k.dir
	outside := t.TempDir()
	mustWrite(t, filepath.Join(outside, "aim"), "theirs")
	for _, name := range []string{"dir", "out"} {
		k.write(name+".txt", "text")
	}
	if err := errors.Join(
		os.Mkdir(k.path("dir"), 0o777), os.Symlink(outside, k.path("out")), os.Symlink("nowhere", k.path("dangling")),
		os.Symlink(filepath.Join(outside, "aim"), k.path("link")), os.Symlink("/dev/null", k.path("null")),
	); err != nil {
		t.Fatal(err)
	}
	root := must.Get(os.OpenRoot(k.dir))(t)
	defer root.Close()
	before := namesIn(t, k.dir)
	for path, want := range map[string]string{
		"":                 "no file name given",
		k.path("f"):        k.path("f") + ": leads out of " + k.dir + `: write a path relative to it, without ".."`,
		"../f":             "../f: leads out of " + k.dir + `: write a path relative to it, without ".."`,
		"dir/../../f":      "dir/../../f: leads out of " + k.dir + `: write a path relative to it, without ".."`,
		"dir/":             "dir/: names a directory, not a file",
		"none/":            "none/: names a directory, not a file",
		".":                k.dir + ": is a directory",
		"dir":              k.path("dir") + ": is a directory",
		"dir.txt/f":        k.path("dir.txt") + ": not a directory",
		"dir.txt/d/f":      k.path("dir.txt/d") + ": not a directory",
		"out/f":            k.path("out") + ": cannot be examined: path escapes from parent",
		"out/d/f":          k.path("out/d") + ": cannot be examined: path escapes from parent",
		"dangling/f":       k.path("dangling") + ": no such directory (create it first)",
		"link":             k.path("link") + ": already exists",
		"null":             k.path("null") + ": already exists", // leads out of the root: not known to be a device
		"none/../dangling": k.path("dangling") + ": already exists",
	} {
		_, err := File(t.Context(), k.c, k.url("/f"), path, &Options{Root: root})
		if err == nil || err.Error() != want || !errors.Is(err, ErrLocal) {
			t.Errorf("%s: got %v, want %s", path, err, want)
		}
		if strings.Contains(want, "leads out") && !errors.Is(err, localfile.ErrName) {
			t.Errorf("%s: got %v, want localfile.ErrName", path, err)
		}
	}
	if sent := k.Commands(); len(sent) > 0 {
		t.Errorf("sent %q", sent)
	}
	for _, path := range []string{"dir.txt", "dir/../dir.txt"} { // this may be the file that the server has
		_, err := File(t.Context(), k.c, k.url("/f"), path, &Options{Root: root})
		want := k.path("dir.txt") + ": differs from the server's: 300000 bytes there, 4 here"
		if err == nil || err.Error() != want || !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: got %v, want %s", path, err, want)
		}
	}
	wantNames(t, k.dir, before...)
	wantFiles(t, outside, map[string]string{"aim": "theirs"})
}

// TestRootDevices checks that no run below a root writes to a device or FIFO.
func TestRootDevices(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	must.Do(t, syscall.Mkfifo(k.path("fifo"), 0o600))
	for _, path := range []string{k.path("fifo"), os.DevNull} {
		root := must.Get(os.OpenRoot(filepath.Dir(path)))(t)
		defer root.Close()
		for _, o := range []Options{{Root: root}, {Root: root, Existing: Overwrite}, {Root: root, Existing: Skip}} {
			_, err := File(t.Context(), k.c, k.url("/f"), filepath.Base(path), &o)
			if !errors.Is(err, localfile.ErrName) || err.Error() != path+": is not a regular file" || len(k.Commands()) > 0 {
				t.Errorf("%s: got %v, want localfile.ErrName", path, err)
			}
		}
	}
}

// TestRootLinks checks that a run replaces links below a root, and follows only those that stay inside.
func TestRootLinks(t *testing.T) {
	for _, o := range []Options{{Existing: Overwrite}, {Existing: Skip}, {Existing: Newer}, {Existing: Continue}} {
		k := newKit(t, map[string]string{"/f": body})
		k.below()
		outside := newOutside(t)
		must.Do(t, errors.Join(os.MkdirAll(k.dir, 0o777), os.Symlink(filepath.Join(outside.dir, "f"), k.path("f"))))
		path, root := k.target("f")
		defer root.Close()
		o.Root = root
		r, err := File(t.Context(), k.c, k.url("/f"), path, &o)
		if o.Existing == Overwrite && (err != nil || read(t, k.path("f")) != body) {
			t.Errorf("%+v: got %+v, %v", o, r, err)
		}
		if o.Existing == Skip && (err != nil || r.Left == "" || r.Size != 0) {
			t.Errorf("%+v: got %+v, %v", o, r, err)
		}
		if (o.Existing == Newer || o.Existing == Continue) && err == nil {
			t.Errorf("%+v: got %+v, want an error", o, r)
		}
		if now := outside.list(); !slices.Equal(now, outside.was) {
			t.Errorf("%+v: outside there is %q", o, now)
		}
	}
}

// TestRootMakesDirectories checks that a run makes missing directories, and that a failed run removes those that it
// made.
func TestRootMakesDirectories(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	k.top = k.dir
	root := must.Get(os.OpenRoot(k.dir))(t)
	defer root.Close()
	get := func(path string, o Options) error {
		o.Root = root
		r, err := File(t.Context(), k.c, k.url("/f"), path, &o)
		if err == nil && (read(t, k.path(path)) != body) {
			t.Errorf("%s: got %+v", path, r)
		}
		return err
	}
	k.faulty(replies("RETR", "550 no"))
	if err := get("a/b/c/f", Options{}); err == nil {
		t.Error("no error")
	}
	wantNames(t, k.dir)
	k.faulty(always("RETR", testserver.EndDataAfter(1000, testserver.Closed)))
	if err := get("kept/f", Options{Retries: -1}); err == nil {
		t.Error("no error")
	}
	wantNames(t, k.path("kept"), k.json, k.part)
	k.faulty(nil)
	for _, path := range []string{"a/b/c/f", "a/b/d/f", "f", "kept/f"} {
		must.Do(t, get(path, Options{}))
	}
	k.faulty(replies("RETR", "550 no"))
	if err := get("a/b/e/f", Options{}); err == nil {
		t.Error("no error")
	}
	wantNames(t, k.path("a/b"), "c", "d")
}

// TestRootSyncsDirectories checks that a run flushes the names of new directories too.
func TestRootSyncsDirectories(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	k.below()
	var synced []string
	onCall(t, func(call, path string) error {
		if call == "fsync" {
			synced = append(synced, filepath.Clean(path))
		}
		return nil
	})
	path, root := k.target("f")
	defer root.Close()
	must.Get(File(t.Context(), k.c, k.url("/f"), path, &Options{Root: root}))(t)
	if want := []string{k.top, k.path(".."), k.dir, k.path("f.ftpfetch.part")}; !slices.Equal(slices.Sorted(slices.Values(synced)), want) {
		t.Errorf("synced %q, want %q", synced, want)
	}
}

// TestRootTogether starts several runs at the same time that all need the same new directories.
func TestRootTogether(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	for range *togetherRounds {
		k.below()
		var group sync.WaitGroup
		for i := range 8 {
			path, root := k.target(fmt.Sprint(i))
			group.Go(func() {
				defer root.Close()
				name := "/f"
				if i%2 == 1 {
					name = "/none"
				}
				if _, err := File(t.Context(), k.c, k.url(name), path, &Options{Root: root}); (err != nil) != (i%2 == 1) {
					t.Errorf("%s: got %v", path, err)
				}
			})
		}
		group.Wait()
		k.want(map[string]string{"0": body, "2": body, "4": body, "6": body})
	}
}

// TestRootRemoved removes the root itself before the run.
func TestRootRemoved(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	k.below()
	path, root := k.target("f")
	defer root.Close()
	must.Do(t, os.Remove(k.top))
	_, err := File(t.Context(), k.c, k.url("/f"), path, &Options{Root: root})
	if !errors.Is(err, fs.ErrNotExist) || !errors.Is(err, ErrLocal) || len(k.Commands()) > 0 {
		t.Errorf("got %v", err)
	}
}
