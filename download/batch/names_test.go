package batch_test

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
	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/rules/must"
	"example.com/ftpfetch/internal/rules/night"
	"example.com/ftpfetch/testserver"
)

// ours are the names of files and directories that ftpfetch reserves, and names that mean the same on some file
// systems.
var ours = []string{
	".ftpfetch-ledger", ".ftpfetch-ledger-1-of-2", ".ftpfetch-ledger~1000", ".ftpfetch-trash", ".ftpfetch-slots-0", ".ftpfetch-list-1", ".ftpfetch-new",
	"g.ftpfetch.part", "g.ftpfetch.json", "g.ftpfetch.json~", "g.ftpfetch.bad", "g~worker.ftpfetch.part", ".ftpfetch.part",
	".FTPFETCH-TRASH", ".Ftpfetch-Ledger", "g.FtpFetch.Part", "g.ftpfetch.part.", "g.ftpfetch.bad ", "FTPFET~1", ".ftp\u200cfetch-trash", "g.ftpfetch\ufeff.part",
}

// TestOwnNames serves files and directories with reserved names, at the top and below, in trees and lists. Whatever the
// options, a run must refuse each of them, replace no file of ours, and fetch all other files.
func TestOwnNames(t *testing.T) {
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
		for _, change := range []func(o *batch.Options){
			func(*batch.Options) {}, func(o *batch.Options) { o.Each.Existing = download.Newer }, func(o *batch.Options) { o.Each.Existing = download.Overwrite }, func(o *batch.Options) { o.Each.Existing = download.Continue },
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
				tasks := []batch.Task{treeOf(t, s.srv.URL("/"), batch.Tree{})}
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
			return testserver.Cut(700, testserver.Reset)
		}
		return nil
	}})
	s.options.Each.Retries = -1
	all := slices.Clone(names)
	for ; at < len(all); at += night.Or(3, 1) {
		s.dir = t.TempDir()
		if got := s.run(t.Context(), treeOf(t, s.srv.URL("/"), batch.Tree{})); got.Failed != 1 {
			t.Errorf("%s is cut: %+v, %q", names[at], got, s.failures())
		}
		cut := names[at]
		names[at] = ""
		if got := s.run(t.Context(), treeOf(t, s.srv.URL("/"), batch.Tree{})); !got.Whole() || got.Before != int64(len(files)-1) {
			t.Errorf("%s was cut: %+v, %q", cut, got, s.failures())
		}
		names[at] = cut
		s.compare(below(files))
	}
}
