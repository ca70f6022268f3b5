package batch_test

import (
	"path"
	"strings"
	"testing"

	"example.com/ftpfetch/download/batch"
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
		},
		files: map[string]string{"/pub/a/f": "f", "/pub/b/g": "g", "/secret": "s", "/etc/passwd": "p"},
	}
	tests := []struct {
		name, url string
		tree      batch.Tree
		want      map[string]string
		links     int64 // that were not followed, or lead nowhere
		failed    int
	}{
		{"reported", "pub/", batch.Tree{}, map[string]string{"a/f": "f", "b/g": "g"}, 10, 0},
		{"followed", "pub/", batch.Tree{FollowLinks: true}, map[string]string{
			"a/f": "f", "b/g": "g", "toB/g": "g", "toFile": "f", "toB/a/f": "f", "a/b/g": "g", "b/a/f": "f",
		}, 17, 0},
		{"from the root", "%2Fpub/", batch.Tree{FollowLinks: true}, map[string]string{
			"a/f": "f", "b/g": "g", "toB/g": "g", "toFile": "f", "toB/a/f": "f", "a/b/g": "g", "b/a/f": "f", "a/abs/g": "g",
		}, 18, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, srv := scripted(t, x)
			got := s.run(t.Context(), treeOf(t, srv.URL("/")+tt.url, tt.tree))
			s.settled(got)
			s.compare(tt.want)
			if s.links() != tt.links || len(s.failures()) != tt.failed {
				t.Errorf("%+v, %q, want %d links and %d failures", got, s.failures(), tt.links, tt.failed)
			}
			for _, o := range s.outcomes {
				if u := o.Task.URLs[0].String(); strings.Contains(u, "secret") || strings.Contains(u, "passwd") {
					t.Errorf("%s is outside the tree", u)
				}
			}
		})
	}
}

// TestTreeEndlessLinks checks that a circle that the names do not show ends: the server resolves the links on the way
// itself.
func TestTreeEndlessLinks(t *testing.T) {
	const most = 8 // as docs/many.md says
	x := shelf{verb: "LIST", files: map[string]string{}, listings: map[string]string{}}
	for i := range 2 * most {
		dir := "/" + strings.Repeat("x/", i)
		x.listings[path.Clean(dir)] = lines("lrwxrwxrwx 1 0 0 3 Jan 02 2003 l -> x", "-rw-r--r-- 1 0 0 1 Jan 02 2003 f")
		x.files[dir+"f"] = "f"
	}
	s, srv := scripted(t, x)
	got := s.run(t.Context(), treeOf(t, srv.URL("/"), batch.Tree{FollowLinks: true}))
	s.settled(got)
	if got.Complete != most+1 || s.links() != 1 {
		t.Errorf("%+v, %q, want %d files", got, s.failures(), most+1)
	}
}

// TestTreeNLST checks a server that lists only names: each is tried as a directory, then as a file.
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
		tree batch.Tree
		want map[string]string
	}{
		{"all", batch.Tree{}, map[string]string{"a": "a", "b": "b", "sub/c": "c", "sub/deep/d.gz": "d"}},
		{"depth 1", batch.Tree{Depth: 1}, map[string]string{"a": "a", "b": "b"}},
		{"depth 2", batch.Tree{Depth: 2}, map[string]string{"a": "a", "b": "b", "sub/c": "c"}},
		{"accept", batch.Tree{Accept: []string{"*.gz"}}, map[string]string{"sub/deep/d.gz": "d"}},
		{"reject", batch.Tree{Reject: []string{"deep", "a"}}, map[string]string{"b": "b", "sub/c": "c"}},
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
