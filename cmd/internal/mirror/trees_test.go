package mirror_test

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/afero"

	"example.com/ftpfetch/cmd/internal/mirror"
	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/ledger"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// forest has trees of several servers, logins and directories for one run.
type forest struct {
	*testing.T
	servers []*testserver.Server
	files   []afero.Fs
	trees   []download.Task
	dir     string
}

// newForest starts two servers with the same tree. Its trees are /a/ and /b/, of two users, on the first server, and
// /a/ on the second. Each tree has its own local directory.
func newForest(t *testing.T) *forest {
	f := &forest{T: t, dir: t.TempDir()}
	for range 2 {
		tree := make(map[string]string)
		for _, dir := range []string{"/a", "/b", "/u/a", "/v/a"} {
			for i := range 3 {
				tree[fmt.Sprintf("%s/f%d", dir, i)] = fmt.Sprint(dir, i)
				tree[fmt.Sprintf("%s/s/g%d", dir, i)] = fmt.Sprint(dir, i)
			}
		}
		files := afero.NewMemMapFs()
		f.files = append(f.files, files)
		f.servers = append(f.servers, testserver.New(t, &testserver.Options{FS: afero.NewIOFS(files), Tree: tree, ModTime: time.Unix(1e9, 0),
			Users: map[string]string{"u": "", "v": ""}, Home: map[string]string{"u": "/u", "v": "/v"}}))
	}
	for i, at := range []string{f.servers[0].URL("/a/"), f.servers[0].URL("/b/"), f.servers[1].URL("/a/"), f.servers[0].URL("u@/a/"), f.servers[0].URL("v@/a/")} {
		u := must.Get(urlparse.Parse(at))(t)
		f.trees = append(f.trees, download.Task{URLs: []*urlparse.URL{u}, Path: fmt.Sprint("t", i), Tree: &download.Tree{}})
	}
	return f
}

// where has the server and the directory of each tree.
var where = []struct {
	server int
	dir    string
}{{0, "/a"}, {0, "/b"}, {1, "/a"}, {0, "/u/a"}, {0, "/v/a"}}

// mirror runs some of the trees.
func (f *forest) mirror(d mirror.Deletion, trees ...download.Task) (deleted []string, err error) {
	d.Root = must.Get(os.OpenRoot(f.dir))(f)
	defer d.Root.Close()
	d.Most, d.Tell = cmp.Or(d.Most, 1000), func(g mirror.Gone) { deleted = append(deleted, g.Path) }
	client := new(ftpexec.Client)
	defer client.CloseIdleConnections()
	source := &mirror.Source{FullSource: client, Trees: trees}
	o := download.RunOptions{Jobs: 4, Ledger: ledger.Name, Each: download.Options{Root: d.Root, Existing: download.Newer, Retries: -1}}
	if _, err = download.Run(f.Context(), source, slices.Values(trees), &o); err == nil {
		err = source.Delete(f.Context(), d)
	}
	return deleted, err
}

// TestWitness empties each tree in turn, while another tree loses a file or none. A file of another tree must not count
// as a witness: nothing may be deleted unless Most allows an empty tree.
func TestWitness(t *testing.T) {
	f := newForest(t)
	if deleted, err := f.mirror(mirror.Deletion{}, f.trees...); err != nil || deleted != nil {
		t.Fatal(deleted, err)
	}
	other := 0
	for i, at := range where {
		for _, bare := range []bool{false, true} { // an empty tree, or directories without files
			kept := must.Get(afero.ReadDir(f.files[at.server], at.dir))(t)
			must.Do(t, f.files[at.server].Rename(at.dir, "/kept"))
			must.Do(t, f.files[at.server].MkdirAll(at.dir, 0o755))
			if bare {
				must.Do(t, f.files[at.server].MkdirAll(at.dir+"/s", 0o755))
			}
			for n := range 2 {
				if n == 1 { // another tree lacks a file, which must stay too, because the run fails
					other = (i + 1) % len(where)
					must.Do(t, f.files[where[other].server].Rename(where[other].dir+"/f0", "/moved"))
				}
				deleted, err := f.mirror(mirror.Deletion{}, f.trees...)
				if len(deleted) > 0 || err == nil || !strings.Contains(err.Error(), "the server's tree is empty (--max-delete all") {
					t.Errorf("tree %d is empty: deleted %q, %v", i, deleted, err)
				}
			}
			must.Do(t, f.files[where[other].server].Rename("/moved", where[other].dir+"/f0"))
			must.Do(t, f.files[at.server].RemoveAll(at.dir))
			must.Do(t, f.files[at.server].Rename("/kept", at.dir))
			if len(kept) != 4 {
				t.Fatal(kept)
			}
		}
	}
	must.Do(t, f.files[0].RemoveAll("/b"))
	must.Do(t, f.files[0].MkdirAll("/b", 0o755))
	if deleted, err := f.mirror(mirror.Deletion{Dry: true, Most: math.MaxInt}, f.trees...); len(deleted) != 6 || err != nil {
		t.Errorf("told %q, %v", deleted, err)
	}
	if deleted, err := f.mirror(mirror.Deletion{Most: math.MaxInt}, f.trees...); len(deleted) != 6 || !strings.HasPrefix(deleted[0], "t1/") || err != nil {
		t.Errorf("deleted %q, %v", deleted, err)
	}
}

// TestTwoTreesHere mirrors two trees into one local directory. A file that one tree loses must stay if the other tree
// has it.
func TestTwoTreesHere(t *testing.T) {
	f := newForest(t)
	one, two := f.trees[0], f.trees[2]
	one.Path, two.Path = "", ""
	must.Do(t, f.files[1].RemoveAll("/a"))
	must.Do(t, f.files[1].MkdirAll("/a/other", 0o755))
	must.Do(t, afero.WriteFile(f.files[1], "/a/other/x", []byte("x"), 0o644))
	if deleted, err := f.mirror(mirror.Deletion{}, one, two); err != nil || deleted != nil {
		t.Fatal(deleted, err)
	}
	for _, name := range []string{"/a/f0", "/a/s/g0"} { // the second server gets the first of these
		must.Do(t, f.files[0].Remove(name))
	}
	must.Do(t, afero.WriteFile(f.files[1], "/a/f0", []byte("/a0"), 0o644))
	must.Do(t, f.files[1].Chtimes("/a/f0", time.Unix(1e9, 0), time.Unix(1e9, 0)))
	if deleted, err := f.mirror(mirror.Deletion{}, one, two); err != nil || !slices.Equal(deleted, []string{"s/g0"}) {
		t.Errorf("deleted %q, %v", deleted, err)
	}
}

// TestLoginDirectory changes the login directory to one that has another tree of the same name. Files from the first
// login directory must not be deleted, but files from the second may be. A URL from the root does not depend on the
// login directory.
func TestLoginDirectory(t *testing.T) {
	for _, path := range []string{"/a/", "/%2Fa/"} {
		home := "/"
		tree := map[string]string{}
		for i := range 21 {
			tree[fmt.Sprint("/a/old", i)] = "old"
		}
		tree["/new/a/new0"], tree["/new/a/new1"] = "new", "new"
		files := afero.NewMemMapFs()
		f := &forest{T: t, dir: t.TempDir()}
		s := testserver.New(t, &testserver.Options{FS: afero.NewIOFS(files), Tree: tree, Fault: func(c *testserver.Conn) testserver.Action {
			switch {
			case c.Verb == "PWD":
				return testserver.Reply(`257 "` + home + `"`)
			case c.Verb == "CWD" && c.Arg == "a" && home != "/":
				c.Arg = home + "/a"
			}
			return nil
		}})
		u := must.Get(urlparse.Parse(s.URL(path)))(t)
		task := download.Task{URLs: []*urlparse.URL{u}, Tree: &download.Tree{}}
		if deleted, err := f.mirror(mirror.Deletion{}, task); deleted != nil || err != nil {
			t.Fatal(deleted, err)
		}
		rooted := path != "/a/"
		home = "/new"
		if rooted {
			must.Do(t, files.Remove("/a/old3"))
		}
		deleted, err := f.mirror(mirror.Deletion{Most: math.MaxInt}, task)
		if rooted {
			if len(deleted) != 1 || err != nil {
				t.Errorf("from the root: deleted %q, %v", deleted, err)
			}
			continue
		}
		if len(deleted) > 0 || err == nil || !strings.Contains(err.Error(), `is kept, as all files that were not fetched from the login directory "/new"`) {
			t.Errorf("deleted %q, %v", deleted, err)
		}
		must.Do(t, files.Remove("/new/a/new1"))
		if deleted, err = f.mirror(mirror.Deletion{}, task); !slices.Equal(deleted, []string{"new1"}) || err == nil {
			t.Errorf("deleted %q, %v", deleted, err)
		}
		if there := must.Get(filepath.Glob(f.dir + "/old*"))(t); len(there) != 21 {
			t.Errorf("%d files are left", len(there))
		}
	}
}
