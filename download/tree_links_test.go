package download_test

import (
	"context"
	"fmt"
	"maps"
	"path"
	"runtime"
	"strings"
	"testing"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/testserver"
)

// TestTreeLinks checks which links are followed.
func TestTreeLinks(t *testing.T) {
	link := func(name, target string) string {
		return "lrwxrwxrwx 1 0 0 3 Jan 02 2003 " + name + " -> " + target
	}
	dir := func(name string) string { return "drwxr-xr-x 1 0 0 3 Jan 02 2003 " + name }
	file := func(name string) string { return "-rw-r--r-- 1 0 0 1 Jan 02 2003 " + name }
	x := shelf{
		verb: "LIST",
		listings: map[string]string{
			"/pub":   lines(dir("a"), dir("b"), link("toB", "b"), link("toFile", "a/f"), link("out", "/etc/passwd"), link("up", "../secret")),
			"/pub/a": lines(file("f"), link("circle", ".."), link("self", "."), link("b", "../b"), link("abs", "/pub/b")),
			"/pub/b": lines(file("g"), link("a", "../a"), link("gone", "nothing")),
			"/":      lines(file("secret")),
			"/vain":  lines(link("gone", "nothing")),
		},
		files: map[string]string{"/pub/a/f": "f", "/pub/b/g": "g", "/secret": "s", "/etc/passwd": "p"},
	}
	tests := []struct {
		name, url string
		tree      download.Tree
		want      map[string]string
		links     int64 // links that are not followed or lead nowhere
		failed    string
	}{
		{"reported", "pub/", download.Tree{}, map[string]string{"a/f": "f", "b/g": "g"}, 10, ""},
		{"followed", "pub/", download.Tree{FollowLinks: true}, map[string]string{
			"a/f": "f", "b/g": "g", "toB/g": "g", "toFile": "f", "toB/a/f": "f", "a/b/g": "g", "b/a/f": "f",
		}, 17, ""},
		{"from the root", "%2Fpub/", download.Tree{FollowLinks: true}, map[string]string{
			"a/f": "f", "b/g": "g", "toB/g": "g", "toFile": "f", "toB/a/f": "f", "a/b/g": "g", "b/a/f": "f", "a/abs/g": "g",
		}, 18, ""},
		{"in vain", "vain/", download.Tree{FollowLinks: true}, nil, 1, ": only links, which lead to no file in it"},
		{"nothing else", "vain/", download.Tree{}, nil, 1, ": only links (Tree.FollowLinks fetches what they lead to inside it)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, srv := scripted(t, x)
			got := s.run(t.Context(), treeOf(t, srv.URL("/")+tt.url, tt.tree))
			s.settled(got)
			s.compare(tt.want)
			if s.links() != tt.links || strings.Join(s.failures(), "") != tt.failed {
				t.Errorf("%+v, %q, want %d links and %q", got, s.failures(), tt.links, tt.failed)
			}
			for _, o := range s.outcomes {
				if u := o.Task.URLs[0].String(); strings.Contains(u, "secret") || strings.Contains(u, "passwd") {
					t.Errorf("%s is outside the tree", u)
				}
			}
		})
	}
}

// TestTreeEndlessLinks checks that a run ends if links form a circle that their names do not show, because the server
// resolves them.
func TestTreeEndlessLinks(t *testing.T) {
	const most = 8 // as docs/many.md says
	x := shelf{verb: "LIST", files: map[string]string{}, listings: map[string]string{}}
	for i := range 2 * most {
		dir := "/" + strings.Repeat("x/", i)
		x.listings[path.Clean(dir)] = lines("lrwxrwxrwx 1 0 0 3 Jan 02 2003 l -> x", "-rw-r--r-- 1 0 0 1 Jan 02 2003 f")
		x.files[dir+"f"] = "f"
	}
	s, srv := scripted(t, x)
	got := s.run(t.Context(), treeOf(t, srv.URL("/"), download.Tree{FollowLinks: true}))
	s.settled(got)
	if got.Complete != most+1 || s.links() != 1 {
		t.Errorf("%+v, %q, want %d files", got, s.failures(), most+1)
	}
}

// TestTreeLeavesOut checks why entries that are no files were left out.
func TestTreeLeavesOut(t *testing.T) {
	x := shelf{verb: "LIST", listings: map[string]string{"/": lines("lrwxrwxrwx 1 0 0 3 Jan 02 2003 l -> x", "lrwxrwxrwx 1 0 0 3 Jan 02 2003 m",
		"prw-r--r-- 1 0 0 0 Jan 02 2003 pipe", "srw-r--r-- 1 0 0 0 Jan 02 2003 sock", "brw-r--r-- 1 0 0 8, 1 Jan 02 2003 disk",
		"crw-r--r-- 1 0 0 1, 3 Jan 02 2003 null")}}
	s, srv := scripted(t, x)
	got := s.run(t.Context(), treeOf(t, srv.URL("/"), download.Tree{}))
	s.settled(got)
	why := make(map[string]string)
	for _, o := range s.outcomes {
		if o.Err == nil {
			why[path.Base(o.Task.URLs[0].String())] = o.Text
		}
	}
	want := map[string]string{
		"l": "leads to x, not followed", "m": "leads to an unknown place, not followed", "pipe": "is a named pipe, left out",
		"sock": "is a socket, left out", "disk": "is a device, left out", "null": "is a device, left out",
	}
	if !maps.Equal(why, want) {
		t.Errorf("got %q, want %q", why, want)
	}
}

// TestTreeNLST checks a server that lists only names. The run tries each name as a directory and then as a file.
func TestTreeNLST(t *testing.T) {
	x := shelf{
		verb: "NLST",
		listings: map[string]string{
			"/": lines("a", "sub", "./b", "..", "empty"), "/sub": lines("/sub/c", "sub/deep"), "/sub/deep": lines("d.gz"), "/empty": "",
		},
		files: map[string]string{"/a": "a", "/b": "b", "/sub/c": "c", "/sub/deep/d.gz": "d"},
	}
	tests := []struct {
		name string
		tree download.Tree
		want map[string]string
	}{
		{"all", download.Tree{}, map[string]string{"a": "a", "b": "b", "sub/c": "c", "sub/deep/d.gz": "d"}},
		{"depth 1", download.Tree{Depth: 1}, map[string]string{"a": "a", "b": "b"}},
		{"depth 2", download.Tree{Depth: 2}, map[string]string{"a": "a", "b": "b", "sub/c": "c"}},
		{"accept", download.Tree{Accept: []string{"*.gz"}}, map[string]string{"sub/deep/d.gz": "d"}},
		{"reject", download.Tree{Reject: []string{"deep", "a"}}, map[string]string{"b": "b", "sub/c": "c"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, srv := scripted(t, x)
			got := s.run(t.Context(), treeOf(t, srv.URL("/"), tt.tree))
			s.settled(got)
			if !got.Whole() {
				t.Errorf("%+v, %q", got, s.failures())
			}
			s.compare(tt.want)
		})
	}
}

// TestTreeBeside checks that a file can be retrieved together with one whose name looks like that of its part, in any
// order.
func TestTreeBeside(t *testing.T) {
	files := map[string]string{"/f": "text", "/f.part": "another", "/f.bad": "third", "/f.part.part": "fourth"}
	s := newStand(t, files, testserver.Options{})
	for _, reject := range [][]string{{"f"}, {"f", "f.part"}, nil} {
		got := s.run(t.Context(), treeOf(t, s.srv.URL("/"), download.Tree{Reject: reject}))
		if want := int64(4 - len(reject)); !got.Whole() || got.Complete != want {
			t.Errorf("without %q: %+v, %q", reject, got, s.failures())
		}
	}
	s.compare(below(files))
}

// TestTreeTilde checks that the server never takes a name from a listing for a home directory.
func TestTreeTilde(t *testing.T) {
	files := map[string]string{"/~": "a", "/~root": "b", "/d/~/f": "c", "/d/~x/~y": "d"}
	s := newStand(t, files, testserver.Options{})
	if got := s.run(t.Context(), treeOf(t, s.srv.URL("/"), download.Tree{})); !got.Whole() || got.Complete != 4 {
		t.Errorf("%+v, %q", got, s.failures())
	}
	for _, line := range s.srv.Commands() {
		if _, arg, _ := strings.Cut(line, " "); strings.HasPrefix(arg, "~") {
			t.Errorf("the server received %q", line)
		}
	}
	s.compare(below(files))
}

// TestTreeRoundListing checks that a run warns of a listing with just as many names as known servers list at most.
func TestTreeRoundListing(t *testing.T) {
	for n, want := range map[int]int{1997: 0, 1998: 1, 2000: 1, 2001: 0, 7499: 1, 9998: 1, 10001: 0} {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, "type=file;size=1; f%d\r\n", i)
		}
		s, srv := scripted(t, shelf{verb: "MLSD", listings: map[string]string{"/d": text.String()}})
		notes := 0
		s.options.Events = func(e download.Event) {
			if e.Kind == download.Noted && strings.Contains(e.Text, "entries, and some servers list no more: if files are missing, name them in a list") {
				notes++
			}
		}
		s.run(t.Context(), treeOf(t, srv.URL("/d/"), download.Tree{Reject: []string{"f*"}}))
		if notes != want {
			t.Errorf("%d names: %d notes, want %d", n, notes, want)
		}
	}
}

// heap returns how many bytes of the heap are in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestTreeMemory checks how much memory each name of a directory takes while it is queued. A directory may have a
// million names.
func TestTreeMemory(t *testing.T) {
	const most = 200 // bytes per name
	names := night.Or(20_000, 1_000_000)
	var text strings.Builder
	for i := range names {
		fmt.Fprintf(&text, "type=file;size=1;modify=20200101000000;UNIX.mode=0644; ERR%07d_1.fastq.gz\r\n", i)
	}
	s, srv := scripted(t, shelf{verb: "MLSD", listings: map[string]string{"/d": text.String()}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	before, used := heap(), int64(0)
	s.options.Jobs, s.options.Events = 1, func(e download.Event) {
		if e.Kind == download.Ended && used == 0 {
			used = heap() - before
			cancel()
		}
	}
	s.run(ctx, treeOf(t, srv.URL("/d/"), download.Tree{}))
	if a := used / int64(names); a == 0 || a > most {
		t.Errorf("%d bytes a name, want at most %d", a, most)
	} else {
		t.Logf("%d bytes a name", a)
	}
}
