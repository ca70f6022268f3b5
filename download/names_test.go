package download_test

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// ours are the names of files and directories that ftpfetch reserves, and names that mean the same on some file
// systems.
var ours = []string{
	".ftpfetch-ledger", ".ftpfetch-ledger-1-of-2", ".ftpfetch-ledger~1000", ".ftpfetch-trash", ".ftpfetch-slots-0", ".ftpfetch-list-1", ".ftpfetch-new",
	"g.ftpfetch.part", "g.ftpfetch.json", "g.ftpfetch.next", "g.ftpfetch.bad", "g~worker.ftpfetch.part", ".ftpfetch.part",
	".FTPFETCH-TRASH", ".Ftpfetch-Ledger", "g.FtpFetch.Part", "g.ftpfetch.part.", "g.ftpfetch.bad ", "FTPFET~1", ".ftp\u200cfetch-trash", "g.ftpfetch\ufeff.part",
}

// TestOwnNames serves files and directories with reserved names, at the top and below, in trees and lists. Whatever the
// options, a run must refuse each of them, replace no file of ours, and fetch all other files.
func TestOwnNames(t *testing.T) {
	t.Parallel()
	cases := 0
	for _, name := range ours {
		tree := map[string]string{"/f": "theirs", "/sub/f": "theirs"}
		var refused []string
		for _, dir := range []string{"", "sub/"} {
			at := dir + name
			if cases++; cases%4 < 2 {
				tree["/"+at] = "theirs"
			} else {
				tree["/"+at+"/f"] = "theirs"
			}
			refused = append(refused, at)
		}
		s := newStand(t, tree, testserver.Options{})
		for _, change := range []func(o *download.RunOptions){
			func(*download.RunOptions) {}, func(o *download.RunOptions) { o.Each.Existing = download.Newer }, func(o *download.RunOptions) { o.Each.Existing = download.Overwrite }, func(o *download.RunOptions) { o.Each.Existing = download.Continue },
		} {
			for _, list := range []bool{false, true} {
				s.dir, s.options.Each.Existing = t.TempDir(), ""
				change(&s.options)
				kept := map[string]string{}
				for _, at := range refused {
					local := path.Join(at, "f")
					if _, file := tree["/"+at]; file {
						local = at
					}
					kept[local] = "ours"
					must.Do(t, os.MkdirAll(filepath.Join(s.dir, path.Dir(local)), 0o755))
					must.Do(t, os.WriteFile(filepath.Join(s.dir, local), []byte("ours"), 0o644))
				}
				tasks := []download.Task{treeOf(t, s.srv.URL("/"), download.Tree{})}
				if list {
					tasks = nil
					for _, name := range slices.Sorted(maps.Keys(tree)) {
						tasks = append(tasks, fileOf(s.url(strings.ReplaceAll(url.PathEscape(name), "%2F", "/")), name[1:]))
					}
				}
				cases++
				if got := s.run(t.Context(), tasks...); got.Whole() || got.Failed+got.Unlisted != int64(len(refused)) {
					t.Errorf("%q, list %t: %+v", name, list, got)
				}
				for _, o := range s.outcomes {
					if own := localfile.Own(o.Task.Path) != ""; own != errors.Is(o.Err, localfile.ErrName) || !own && o.Err != nil {
						t.Errorf("%q: %v", o.Task.Path, o.Err)
					}
				}
				for local, text := range kept {
					if got := string(must.Get(os.ReadFile(filepath.Join(s.dir, local)))(t)); !strings.HasPrefix(got, text) { // the run adds to a ledger
						t.Errorf("%q is replaced, list %t", local, list)
					}
				}
				for _, other := range []string{"f", "sub/f"} {
					if got, err := os.ReadFile(filepath.Join(s.dir, other)); string(got) != "theirs" {
						t.Errorf("%q: %q, %v", other, got, err)
					}
				}
			}
		}
	}
	t.Logf("%d cases", cases)
}

// TestNamesThatMeet fetches trees of files whose parts, journals or shortened names might clash. It cuts each transfer
// in turn, and checks that the next run has all files, byte for byte.
func TestNamesThatMeet(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 255)
	names := []string{
		"a", "a.part", "a.json", "a.json~", "a.bad", "a~", "a.ftpfetch", "a.ftpfetch.par", "a~1", "A~", "ftpfetch.part", "a.ftpfetch.parts",
		long, long[:254] + "y", long[:240], long[:241], localfile.Beside(long, ""), localfile.Beside(long[:254]+"y", ""), localfile.Beside(long, "")[:200],
	}
	files := map[string]string{}
	for i, name := range names {
		files["/"+name] = strings.Repeat(fmt.Sprint(i, " "), 500+i)
	}
	at := 0
	s := newStand(t, files, testserver.Options{Fault: func(c *testserver.Conn) testserver.Action {
		if c.Verb == "RETR" && c.Arg == names[at] {
			return testserver.EndDataAfter(700, testserver.Reset)
		}
		return nil
	}})
	s.options.Each.Retries = -1
	all := slices.Clone(names)
	for ; at < len(all); at += night.Or(3, 1) {
		s.dir = t.TempDir()
		if got := s.run(t.Context(), treeOf(t, s.srv.URL("/"), download.Tree{})); got.Failed != 1 {
			t.Errorf("%s is cut: %+v, %q", names[at], got, s.failures())
		}
		cut := names[at]
		names[at] = ""
		if got := s.run(t.Context(), treeOf(t, s.srv.URL("/"), download.Tree{})); !got.Whole() || got.Before != int64(len(files)-1) {
			t.Errorf("%s was cut: %+v, %q", cut, got, s.failures())
		}
		names[at] = cut
		s.compare(below(files))
	}
}

// TestOtherSpellings fetches names that differ only in their spelling, from a tree, from one of which many names are
// queued before the listing ends, and from a list, where the directory takes them for one or for two. The second of two
// that are one is refused, and nothing else. It is not parallel, because FakeFolds is for all tests.
func TestOtherSpellings(t *testing.T) {
	defer func() { disk.FakeFolds = nil }()
	files := map[string]string{"/README": "1", "/readme": "22", "/d/A": "333", "/d/a": "4444", "/d/b": "5", "/Sub/x": "1", "/sub/y": "1", "/caf\u00e9": "66", "/cafe\u0301": "7"}
	s := newStand(t, files, testserver.Options{})
	large := map[string]string{"/A": "1", "/zz": "1", "/a": "2", "/ZZ": "2"}
	for i := range 1001 {
		large[fmt.Sprintf("/f%04d", i)] = ""
	}
	l := newStand(t, large, testserver.Options{})
	for _, folding := range []string{"", ".", "d", ". d"} {
		disk.FakeFolds = func(dir, name, other string) bool {
			return slices.Contains(strings.Fields(folding), dir) && localfile.Fold(name) == localfile.Fold(other)
		}
		refused := map[string][2]int{"": {0, 0}, ".": {2, 1}, "d": {1, 0}, ". d": {3, 1}}[folding] // files; directories
		tree := treeOf(t, s.srv.URL("/"), download.Tree{})
		s.dir = t.TempDir()
		got := s.run(t.Context(), tree)
		if int(got.Failed) != refused[0] || int(got.Unlisted) != refused[1] || int(got.Complete) != len(files)-refused[0]-refused[1] {
			t.Errorf("%q: tree: %+v, %q", folding, got, s.failures())
		}
		if strings.Contains(folding, ".") {
			l.dir = t.TempDir()
			if got := l.run(t.Context(), treeOf(t, l.srv.URL("/"), download.Tree{})); got.Failed != 2 {
				t.Errorf("%q: a large directory: %+v, %q", folding, got, l.failures())
			}
		}
		var list []download.Task
		for name := range files {
			u := must.Get(urlparse.Parse(s.srv.URL("/")))(t)
			u.Dirs, u.Name = slices.DeleteFunc(strings.Split(path.Dir(name), "/"), func(d string) bool { return d == "" }), path.Base(name)
			list = append(list, download.Task{URLs: []*urlparse.URL{u}, Path: name[1:]})
		}
		s.dir = t.TempDir()
		must.Do(t, os.Mkdir(filepath.Join(s.dir, "d"), 0o777))
		if got := s.run(t.Context(), list...); int(got.Failed) != refused[0] {
			t.Errorf("%q: list: %+v, %q", folding, got, s.failures())
		}
		for _, e := range s.outcomes {
			if e.Err != nil && !strings.Contains(e.Err.Error(), "is another spelling of that of an earlier one of this run, and both are one file here") {
				t.Error(e.Err)
			}
		}
	}
}
