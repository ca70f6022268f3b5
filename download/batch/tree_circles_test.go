package batch_test

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/internal/rules/night"
)

// listingOf writes what a server lists: of a directory its names, and those of its subdirectories with a "/". unique is
// what every MLSD says of a directory, if not "".
func listingOf(verb, unique string, names []string) string {
	var text []string
	for _, name := range names {
		base, dir := strings.CutSuffix(name, "/")
		switch {
		case verb == "NLST":
			name = base
		case verb == "LIST" && dir:
			name = "drwxr-xr-x 3 0 0 4096 Jan 02 2003 " + base
		case verb == "LIST":
			name = "-rw-r--r-- 1 0 0 1 Jan 02 2003 " + base
		case dir && unique != "":
			name = "type=dir;modify=20030102000000;unique=" + unique + "; " + base
		case dir:
			name = "type=dir;modify=20030102000000; " + base
		default:
			name = "type=file;size=1;modify=20030102000000; " + base
		}
		text = append(text, name)
	}
	if len(text) == 0 {
		return ""
	}
	return lines(text...)
}

// chain returns directories of the same name in one another, and a file in the last.
func chain(levels int) map[string][]string {
	dirs, at := map[string][]string{}, "/"
	for range levels {
		dirs[at] = []string{"d/"}
		at = path.Join(at, "d")
	}
	dirs[at] = []string{"f"}
	return dirs
}

// TestTreeCircles has directories that contain themselves, as servers show links and mounts, and trees that look as if
// they did. Every run ends, and is whole if the server tells enough.
func TestTreeCircles(t *testing.T) {
	self := map[string]string{"/a": "/"}
	type dirs = map[string][]string
	tests := []struct {
		name   string
		dirs   dirs
		mounts map[string]string
		files  int64
		links  int64
		failed int64
	}{
		{"itself", dirs{"/": {"a/", "f"}}, self, 1, 1, 0},
		{"itself twice", dirs{"/": {"a/", "b/", "f"}}, map[string]string{"/a": "/", "/b": "/"}, 1, 2, 0},
		{"nothing but itself", dirs{"/": {"a/"}}, self, 0, 1, 0},
		{"below", dirs{"/": {"p/"}, "/p": {"q/", "f"}, "/p/q": {"up/", "g"}}, map[string]string{"/p/q/up": "/p"}, 2, 1, 0},
		{"each other", dirs{"/": {"a/", "b/"}, "/a": {"b/", "f"}, "/b": {"a/", "g"}}, map[string]string{"/a/b": "/b", "/b/a": "/a"}, 4, 2, 0},
		{"a copy", dirs{"/": {"d/", "f"}, "/d": {"d/", "f"}, "/d/d": {"f"}}, nil, 3, 0, 0},
		{"a chain", chain(100), nil, 1, 0, 0},
		{"a chain as deep as may be", chain(128), nil, 1, 0, 0},
		{"too deep a chain", chain(129), nil, 0, 0, 1},
	}
	for i, tt := range tests {
		for j, kind := range []string{"MLSD", "MLSD unique", "LIST", "NLST"} {
			for _, end := range []string{"", "550 Too many levels of symbolic links.", "550 File name too long."} {
				unsure, long := strings.Contains(end, "too long"), len(tt.dirs) > 99
				if long && (i+j)%night.Or(4, 1) != 0 {
					continue
				}
				if end != "" && tt.mounts == nil || unsure && tt.name != "itself twice" {
					continue
				}
				verb, unique, _ := strings.Cut(kind, " ")
				x := shelf{verb: verb, listings: map[string]string{}, files: map[string]string{}, mounts: tt.mounts, hops: 20, refusal: end}
				if end == "" {
					x.hops = 0
				}
				for dir, names := range tt.dirs {
					x.listings[dir] = listingOf(verb, unique, names)
					for _, name := range names {
						if !strings.HasSuffix(name, "/") {
							x.files[path.Join(dir, name)] = "x"
						}
					}
				}
				t.Run(fmt.Sprintf("%s, %s%.12s", tt.name, kind, end), func(t *testing.T) {
					s, srv := scripted(t, x)
					got := s.run(t.Context(), treeOf(t, srv.URL("/"), batch.Tree{}))
					s.settled(got)
					commands := len(srv.Commands())
					switch {
					case unsure && (got.Whole() || got.Complete < tt.files), !unsure && (got.Complete != tt.files || s.links() != tt.links || got.Unlisted != tt.failed):
						t.Errorf("%+v, %q, want %d files", got, s.failures(), tt.files)
					case commands > 600 && tt.mounts != nil, commands > 60_000:
						t.Errorf("%d commands", commands)
					}
				})
			}
		}
	}
}
