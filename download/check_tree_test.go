package download_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// put writes files into the stand's directory.
func (s *stand) put(files map[string]string) {
	for name, text := range files {
		must.Do(s.T, os.MkdirAll(filepath.Dir(filepath.Join(s.dir, name)), 0o755))
		must.Do(s.T, os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o644))
	}
}

// TestCheckTree checks that what leaves files out of a tree leaves them out on both sides, and that there are no extra
// files in a directory that was not listed whole.
func TestCheckTree(t *testing.T) {
	const missing, extra = "missing 1 not here", "extra 4 not on the server"
	denied := func(c *testserver.Conn) testserver.Action {
		if c.Verb == "CWD" && strings.HasSuffix(c.Arg, "sub") {
			return testserver.Reply("550 Permission denied.")
		}
		return nil
	}
	for name, tt := range map[string]struct {
		tree  download.Tree
		fault func(*testserver.Conn) testserver.Action
		hides func(*urlparse.URL, string, fs.FileInfo) bool
		want  map[string]string
	}{
		"all":               {want: map[string]string{"b.txt": missing, "sub/d.gz": missing, "x.txt": extra, "sub/y.gz": extra, "none/z.txt": extra, "none/deep/w.gz": extra}},
		"Depth":             {tree: download.Tree{Depth: 1}, want: map[string]string{"b.txt": missing, "x.txt": extra}},
		"Accept":            {tree: download.Tree{Accept: []string{"*.txt"}}, want: map[string]string{"b.txt": missing, "x.txt": extra, "none/z.txt": extra}},
		"Reject":            {tree: download.Tree{Reject: []string{"*.txt", "deep/"}}, want: map[string]string{"sub/d.gz": missing, "sub/y.gz": extra}},
		"Reject a path":     {tree: download.Tree{Reject: []string{"/none", "/sub/d.gz"}}, want: map[string]string{"b.txt": missing, "x.txt": extra, "sub/y.gz": extra}},
		"Names":             {tree: download.Tree{Names: "*.txt", Depth: 1}, want: map[string]string{"b.txt": missing, "x.txt": extra}},
		"Names of two":      {tree: download.Tree{Names: "[sn]*/*", Depth: 2}, want: map[string]string{"sub/d.gz": missing, "sub/y.gz": extra, "none/z.txt": extra}},
		"Names, then trees": {tree: download.Tree{Names: "n*"}, want: map[string]string{"none/z.txt": extra, "none/deep/w.gz": extra, "": "failed: nothing matches n*"}},
		"Hides": {hides: func(dir *urlparse.URL, name string, here fs.FileInfo) bool {
			return strings.HasSuffix(dir.String(), "/t/none/deep/") && name == "w.gz" || strings.HasSuffix(dir.String(), "/t/") && here.Size() == 4
		}, want: map[string]string{"b.txt": missing, "sub/d.gz": missing, "sub/y.gz": extra, "none/z.txt": extra}},
		"denied": {fault: denied, want: map[string]string{"b.txt": missing, "x.txt": extra, "none/z.txt": extra, "none/deep/w.gz": extra, "sub": "failed: URL/t/sub/: cannot enter sub (550 Permission denied.)"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mirrored atomic.Bool
			s := newStand(t, map[string]string{"/t/a.txt": "a", "/t/b.txt": "b", "/t/sub/c.gz": "c", "/t/sub/d.gz": "d"}, testserver.Options{
				Fault: func(c *testserver.Conn) testserver.Action {
					if tt.fault == nil || !mirrored.Load() {
						return nil
					}
					return tt.fault(c)
				},
			})
			task := download.Task{URLs: []*urlparse.URL{s.url("/t/")}, Tree: &download.Tree{}}
			s.run(t.Context(), task)
			must.Do(t, os.Remove(filepath.Join(s.dir, "b.txt")))
			must.Do(t, os.Remove(filepath.Join(s.dir, "sub/d.gz")))
			s.put(map[string]string{"x.txt": "xxxx", "sub/y.gz": "yyyy", "none/z.txt": "zzzz", "none/deep/w.gz": "wwww"})
			s.srv.ResetCommands()
			mirrored.Store(true)
			s.options.Hides = tt.hides
			task.Tree = &tt.tree
			s.check(tt.want, task)
		})
	}
}

// TestCheckOddListing checks that a directory with a line that cannot be read has no extra files, because the line may be
// that of any file, but what is below it has.
func TestCheckOddListing(t *testing.T) {
	s, srv := scripted(t, shelf{verb: "MLSD", listings: map[string]string{
		"/t":   lines("type=file;size=1;modify=20260102030405; a", "nonsense", "type=dir; d"),
		"/t/d": lines("type=file;size=1;modify=20260102030405; b"),
	}})
	s.put(map[string]string{"x": "x", "d/y": "y", "none/z": "z"})
	s.check(map[string]string{
		"": "failed: " + srv.URL("/t/") + ": a line of the listing is not understood: nonsense", "a": "missing 1 not here", "d/b": "missing 1 not here", "d/y": "extra 1 not on the server",
	}, treeOf(t, srv.URL("/t/"), download.Tree{}))
}

// TestCheckLinks checks that files below a link that is followed are compared with those of the directory that it leads
// to, and that a link which is not followed is neither missing nor extra.
func TestCheckLinks(t *testing.T) {
	x := shelf{
		verb: "LIST",
		listings: map[string]string{
			"/t":   lines("drwxr-xr-x 1 0 0 3 Jan 02 2026 b", "lrwxrwxrwx 1 0 0 3 Jan 02 2026 to -> b", "lrwxrwxrwx 1 0 0 3 Jan 02 2026 out -> /etc"),
			"/t/b": lines("-rw-r--r-- 1 0 0 1 Jan 02 2026 g"),
		},
		files: map[string]string{"/t/b/g": "g"},
	}
	for follow, want := range map[bool]map[string]string{
		false: {"b/x": "extra 1 not on the server"}, true: {"b/x": "extra 1 not on the server", "to/y": "extra 1 not on the server"},
	} {
		s, srv := scripted(t, x)
		task := treeOf(t, srv.URL("/t/"), download.Tree{FollowLinks: follow})
		s.run(t.Context(), task)
		s.put(map[string]string{"b/x": "x", "to/y": "y", "out": "o"})
		s.check(want, task)
	}
}

// TestCheckTogether compares trees and files that are saved in one directory: what one of them has is not extra.
func TestCheckTogether(t *testing.T) {
	s := newStand(t, map[string]string{"/1/a": "a", "/1/d/b": "b", "/2/c": "c", "/2/d/e": "e", "/f": "f"}, testserver.Options{})
	tree := func(path string) download.Task {
		return download.Task{URLs: []*urlparse.URL{s.url(path)}, Tree: &download.Tree{}}
	}
	tasks := []download.Task{tree("/1/"), tree("/2/"), fileOf(s.url("/f"), "d/f")}
	s.run(t.Context(), tasks...)
	s.srv.ResetCommands()
	s.put(map[string]string{"x": "x", "d/y": "y"})
	s.check(map[string]string{"x": "extra 1 not on the server", "d/y": "extra 1 not on the server"}, tasks...)
}

// TestCheckDigests compares the digests of lists on the server, of the server, and of a list of files, with local files
// of the right size and time.
func TestCheckDigests(t *testing.T) {
	const text = "0123456789"
	sum := sha256.Sum256([]byte(text))
	s := newStand(t, map[string]string{
		"/t/right": text, "/t/rotten": text, "/t/newer": text, "/t/SHA256SUMS": fmt.Sprintf("%x  right\n%x  rotten\n%x  newer\n", sum, sum, sum), "/u/alone": text,
	}, testserver.Options{})
	tree := download.Task{URLs: []*urlparse.URL{s.url("/t/")}, Tree: &download.Tree{}}
	other := download.Task{URLs: []*urlparse.URL{s.url("/u/")}, Path: "u", Tree: &download.Tree{}}
	s.run(t.Context(), tree, other)
	s.srv.ResetCommands()
	rot := filepath.Join(s.dir, "rotten")
	must.Do(t, os.WriteFile(rot, []byte("012345678X"), 0o644))
	must.Do(t, os.Chtimes(rot, standTime, standTime))
	must.Do(t, os.Chtimes(filepath.Join(s.dir, "newer"), standTime, standTime.Add(time.Hour)))
	wrong := fmt.Sprintf("differs 10 digest: sha256 is %x, not %x (sha256 ", sha256.Sum256([]byte("012345678X")), sum)
	newer := "differs 10 time: 2026-01-02T03:04:05Z there, 2026-01-02T04:04:05Z here"

	s.check(map[string]string{"newer": newer}, tree, other)
	s.options.Each.Verify = true
	s.check(map[string]string{
		"rotten": wrong + "in SHA256SUMS)", "u/alone": "failed: there is no list of digests beside the file or above, and the server computes none",
	}, tree, other)
	s.options.Each.Verify = false
	var tasks []download.Task
	for _, name := range []string{"right", "rotten", "newer"} {
		task := fileOf(s.url("/t/"+name), name)
		task.Sum = digest.Sum{Algorithm: "sha256", Digest: sum[:]}
		tasks = append(tasks, task)
	}
	s.check(map[string]string{"rotten": wrong + "given)"}, tasks...)
}

// TestCheckList compares files of a list with the server's and with the sizes of the list.
func TestCheckList(t *testing.T) {
	s := newStand(t, map[string]string{"/a": "0123456789", "/b": "0123456789"}, testserver.Options{})
	s.run(t.Context(), fileOf(s.url("/a"), "a"), fileOf(s.url("/b"), "b"))
	s.srv.ResetCommands()
	s.put(map[string]string{"gone": "gone", "mine": "mine"})
	sized := fileOf(s.url("/b"), "b")
	sized.Size = new(int64(7))
	s.check(map[string]string{
		"b":    "differs 10 size: 7 in the list, 10 here",
		"gone": "failed: URL/gone: not found (550 open /gone: file does not exist)",
	}, fileOf(s.url("/a"), "a"), sized, fileOf(s.url("/gone"), "gone"))
}

// TestCheckTold checks that the ledger knows the times that the disk could not keep.
func TestCheckTold(t *testing.T) {
	t.Cleanup(func() { disk.Fault, disk.FakeTime = nil, nil })
	for name, makes := range map[string]time.Time{"earlier": time.Unix(1, 0), "now": time.Now(), "later": time.Unix(1<<31-60, 0)} {
		s := newStand(t, map[string]string{"/d/a": "1"}, testserver.Options{})
		disk.FakeTime = func(time.Time) time.Time { return makes }
		disk.Fault = func(call, path string) error {
			if call == "open" && strings.Contains(path, ".ftpfetch-time-") {
				return syscall.EACCES
			}
			return nil
		}
		task := download.Task{URLs: []*urlparse.URL{s.url("/d/")}, Tree: &download.Tree{}}
		s.run(t.Context(), task)
		s.srv.ResetCommands()
		s.check(map[string]string{}, task)
		must.Do(t, os.Remove(filepath.Join(s.dir, ledgerName)))
		s.check(map[string]string{"a": "differs 1 time: 2026-01-02T03:04:05Z there, " + makes.UTC().Format(time.RFC3339) + " here"}, task)
		if t.Failed() {
			t.Log(name)
		}
	}
}

// TestCheckNothingThere compares with a server that tells neither sizes nor times, and with a directory that does not
// exist.
func TestCheckNothingThere(t *testing.T) {
	s := newStand(t, map[string]string{"/t/a": "1", "/t/b": "2"}, testserver.Options{Fault: refusing("MLSD", "MLST", "LIST", "SIZE", "MDTM")})
	s.put(map[string]string{"a": "other"})
	s.check(map[string]string{"a": "same -1  untold [size time]", "b": "missing -1 not here"},
		download.Task{URLs: []*urlparse.URL{s.url("/t/")}, Tree: &download.Tree{}})

	var plans []string
	o := download.RunOptions{Check: true, Each: download.Options{Retries: -1}, Events: func(e download.Event) {
		if e.Kind == download.Ended {
			plans = append(plans, e.Task.Path+" "+e.Plan)
		}
	}}
	s = newStand(t, map[string]string{"/t/a": "1"}, testserver.Options{})
	tasks := func(yield func(download.Task) bool) {
		_ = yield(fileOf(s.url("/t/a"), "lone")) && yield(download.Task{URLs: []*urlparse.URL{s.url("/t/")}, Path: "t", Tree: &download.Tree{}})
	}
	if _, err := download.Run(t.Context(), &s.client, tasks, &o); err != nil || len(plans) != 2 || !strings.HasSuffix(plans[0], " missing") || !strings.HasSuffix(plans[1], " missing") {
		t.Errorf("%v, %q", err, plans)
	}
}
