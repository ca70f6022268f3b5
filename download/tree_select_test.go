package download_test

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
)

// selects reports whether a pattern matches a path. It is independent of the code: it turns the rules of docs/many.md
// into a regular expression.
func selects(t *testing.T, pattern, file string, dir bool) bool {
	core := strings.Trim(pattern, "/")
	text := strings.NewReplacer("**/", "(.*/)?", "*", "[^/]*", "?", "[^/]").Replace(core)
	if !strings.Contains(strings.TrimSuffix(pattern, "/"), "/") {
		text = "(.*/)?" + text
	}
	if !strings.HasSuffix(pattern, "/") {
		return must.Get(regexp.Compile("^" + text + "$"))(t).MatchString(file)
	}
	if dir {
		file += "/"
	}
	return must.Get(regexp.Compile("^" + text + "/"))(t).MatchString(file)
}

// TestSelections tries each kind of pattern as Accept and as Reject, on servers that tell files from directories and on
// servers that do not. It compares the fetched files with those that selects matches. A run must warn of exactly the
// patterns that match nothing.
func TestSelections(t *testing.T) {
	dirs := map[string]string{"/": "22 met obs top", "/22": "a", "/obs": "22", "/obs/22": "b", "/met": "22 2022 obs", "/met/2022": "e", "/met/obs": "22 d", "/met/obs/22": "c"}
	files := map[string]string{}
	shelves := []shelf{{verb: "MLSD", listings: map[string]string{}, files: files}, {verb: "NLST", listings: map[string]string{}, files: files}}
	all := map[string]bool{} // by path; true: a directory
	for dir, names := range dirs {
		for name := range strings.FieldsSeq(names) {
			below := path.Join(dir, name)
			_, isDir := dirs[below]
			all[below[1:]] = isDir
			if !isDir {
				files[below] = below
			}
			kind := map[bool]string{true: "dir", false: "file"}[isDir]
			shelves[0].listings[dir] += "type=" + kind + ";size=" + map[bool]string{true: "0"}[isDir] + string(rune('0'+len(below)/10)) + string(rune('0'+len(below)%10)) + "; " + name + "\r\n"
			shelves[1].listings[dir] += name + "\r\n"
		}
	}
	nth := 0
	for _, core := range []string{"22", "2?", "*22", "obs", "obs/22", "met/obs", "met/obs/22", "*/22", "*/*", "**/22", "**/obs/22", "none", "met/22", "2026", "obs/2026", "*"} {
		for _, pattern := range []string{core, "/" + core, core + "/", "/" + core + "/"} {
			for _, reject := range []bool{false, true} {
				want, used, without := map[string]string{}, false, []string(nil)
				for file, dir := range all {
					chosen := selects(t, pattern, file, dir)
					used = used || chosen && (reject || !dir)
					for up := path.Dir(file); up != "." && reject; up = path.Dir(up) {
						chosen = chosen || selects(t, pattern, up, true)
					}
					if dir && chosen && reject {
						without = append(without, file)
					}
					if !dir && chosen != reject {
						want[file] = "/" + file
					}
				}
				tree := download.Tree{Accept: []string{pattern}}
				if reject {
					tree = download.Tree{Reject: tree.Accept}
				}
				for _, x := range shelves {
					if nth++; nth%night.Or(7, 1) != 0 {
						continue
					}
					s, srv := scripted(t, x)
					var said []string
					s.options.Events = func(e download.Event) {
						if e.Kind == download.Noted && e.Err != nil {
							said = append(said, e.Err.Error())
						}
					}
					got := s.run(t.Context(), treeOf(t, srv.URL("/"), tree))
					if s.compare(want); got.Whole() != (len(want) > 0) {
						t.Errorf("%s %s, reject %v: %+v, %q", x.verb, pattern, reject, got, s.failures())
					}
					if slices.ContainsFunc(s.dirs(), func(dir string) bool { return slices.Contains(without, dir) }) {
						t.Errorf("%s %s: left out are %q, there are %q", x.verb, pattern, without, s.dirs())
					}
					warned := slices.ContainsFunc(said, func(text string) bool { return strings.HasPrefix(text, "nothing matches "+pattern) })
					if warned != (!used && reject) || len(said) > 1 {
						t.Errorf("%s %s, reject %v: %q", x.verb, pattern, reject, said)
					}
				}
			}
		}
	}
	if nth != 256 {
		t.Errorf("%d cases", nth)
	}
}

// TestIdlePatterns checks the warnings about patterns that match nothing in any tree of a run, while others match.
func TestIdlePatterns(t *testing.T) {
	x := shelf{
		verb:     "NLST",
		listings: map[string]string{"/": lines("obs", "a.gz", "22"), "/obs": lines("2026", "b.gz"), "/obs/2026": lines("c.gz", "d.gz"), "/e": ""},
		files:    map[string]string{"/a.gz": "a", "/22": "2", "/obs/b.gz": "b", "/obs/2026/c.gz": "c", "/obs/2026/d.gz": "d"},
	}
	for _, tt := range []struct {
		tops           string
		accept, reject string
		want           string
	}{
		{"/", "", "met/obs", "nothing matches met/obs: its path counts from the directory of the URL (write 'obs', which matches 1)"},
		{"/", "", "/met/obs/", "nothing matches /met/obs/: its path counts from the directory of the URL (write '/obs/', which matches 4)"}, // one match may be a file
		{"/", "", "22/", "nothing matches 22/ (write '22', which matches 1)"},
		{"/", "", "2026", ""},
		{"/", "", "/2026", "nothing matches /2026: its path counts from the directory of the URL (write '2026', which matches 1)"},
		{"/obs/", "", "obs/2026", "nothing matches obs/2026: its path counts from the directory of the URL (write '2026', which matches 1)"},
		{"/", "", "OBS", "nothing matches OBS (write 'obs', which matches 1)"},
		{"/", "", "none", "nothing matches none"},
		{"/", "*.gz *.zip", "", "nothing matches *.zip"},
		{"/ /obs/", "", "/2026/ x", "nothing matches x"},
		{"/ /obs/", "*.gz /b.gz", "/obs/", ""},
		{"/e/", "*.gz", "x", ""}, // the tree is empty, which is reported
		{"/", "*.GZ", "x", ""},   // nothing is fetched, which is reported as a failure
		{"/ /none/", "", "x", ""},
	} {
		s, srv := scripted(t, x)
		var said []string
		s.options.Events = func(e download.Event) {
			if e.Kind == download.Noted && e.Err != nil {
				said = append(said, e.Err.Error())
			}
		}
		var tasks []download.Task
		for i, top := range strings.Fields(tt.tops) {
			task := treeOf(t, srv.URL(top), download.Tree{Accept: strings.Fields(tt.accept), Reject: strings.Fields(tt.reject)})
			task.Path = string(rune('0' + i))
			tasks = append(tasks, task)
		}
		s.run(t.Context(), tasks...)
		if got := strings.Join(said, "|"); got != tt.want {
			t.Errorf("%s, accept %q, reject %q: %q, want %q", tt.tops, tt.accept, tt.reject, got, tt.want)
		}
	}
}

// TestIncludes checks which paths a tree's depth and patterns include.
func TestIncludes(t *testing.T) {
	for _, tt := range []struct {
		tree  download.Tree
		below string
		dir   bool
		want  bool
	}{
		{download.Tree{}, "a/b/c", false, true},
		{download.Tree{Depth: 1}, "a", false, true},
		{download.Tree{Depth: 1}, "a", true, false},
		{download.Tree{Depth: 1}, "a/b", false, false},
		{download.Tree{Depth: 2}, "a", true, true},
		{download.Tree{Depth: 2}, "a/b", false, true},
		{download.Tree{Depth: 2}, "a/b/c", false, false},
		{download.Tree{Accept: []string{"*.gz"}}, "a/b.gz", false, true},
		{download.Tree{Accept: []string{"*.gz"}}, "a/b", false, false},
		{download.Tree{Accept: []string{"*.gz"}}, "a", true, true},
		{download.Tree{Reject: []string{"a/"}}, "a/b/c.gz", false, false},
		{download.Tree{Reject: []string{"a/"}}, "a", true, false},
		{download.Tree{Reject: []string{"a/"}}, "a", false, true},
		{download.Tree{Reject: []string{"/a/b"}}, "a/b/c", false, false},
		{download.Tree{Reject: []string{"/a/b"}}, "c/a/b", false, true},
	} {
		if got := tt.tree.Includes(tt.below, tt.dir); got != tt.want {
			t.Errorf("%+v, %s (a directory: %v): %v", tt.tree, tt.below, tt.dir, got)
		}
	}
}
