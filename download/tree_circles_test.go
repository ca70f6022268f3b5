package download_test

import (
	"fmt"
	"path"
	"strings"
	"sync"
	"testing"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/testserver"
)

// listingOf returns the listing of a directory with these names; the names of subdirectories end in "/". If unique is
// not "", every MLSD line of a directory has it as its fact "unique".
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

// chain returns nested directories of the same name, with a file in the last.
func chain(levels int) map[string][]string {
	dirs, at := map[string][]string{}, "/"
	for range levels {
		dirs[at] = []string{"d/"}
		at = path.Join(at, "d")
	}
	dirs[at] = []string{"f"}
	return dirs
}

// TestTreeCircles lists directories that contain themselves, as servers show links and mounts, and trees that only look
// so. Every run must end, and must succeed if the server reports enough.
func TestTreeCircles(t *testing.T) {
	t.Parallel()
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
		{"a chain", chain(20), nil, 1, 0, 0},
		{"a chain as deep as may be", chain(128), nil, 1, 0, 0},
		{"too deep a chain", chain(129), nil, 0, 0, 1},
	}
	for i, tt := range tests {
		for j, kind := range []string{"MLSD", "MLSD unique", "LIST", "NLST"} {
			for _, end := range []string{"", "550 Too many levels of symbolic links.", "550 File name too long."} {
				unsure, long := strings.Contains(end, "too long"), len(tt.dirs) > 19
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
					t.Parallel()
					s, srv := scripted(t, x)
					got := s.run(t.Context(), treeOf(t, srv.URL("/"), download.Tree{}))
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

// TestTreeEarly lists a directory in which the file "early" is fetched before the listing continues. The rest of the
// listing must count as usual.
func TestTreeEarly(t *testing.T) {
	const early, late = "type=file;size=1; early\r\n", "type=file;size=1; late\r\n"
	var filler strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&filler, "type=file;size=1; n%d\r\n", i)
	}
	begin := filler.String() + early
	tests := []struct {
		name             string
		ends             []string // end of the listing at the first try, and at later ones
		reply            string   // final reply to the first try
		files            string   // files that are complete
		failed, unlisted int64
		text             string // text of the failure
	}{
		{"whole", []string{late}, "226 Done.", "early late", 0, 0, ""},
		{"nothing follows", []string{""}, "226 Done.", "early", 0, 0, ""},
		{"cut in a line", []string{"type=file;siz", late}, "226 Done.", "early late", 0, 0, ""},
		{"cut again and again", []string{"type=file;siz"}, "226 Done.", "early", 0, 1, "no end"},
		{"denied", []string{""}, "550 No.", "early", 0, 1, "550"},
		{"broken once", []string{"", late}, "426 Broken.", "early late", 0, 0, ""},
		{"another listing", []string{"", late + "type=file;size=1; again\r\n"}, "426 Broken.", "early late again", 0, 0, ""},
		{"a line without sense", []string{late + "what is this\r\n"}, "226 Done.", "early late", 0, 1, "what is this"},
		{"the name again", []string{early + late}, "226 Done.", "early late", 1, 0, "another entry"},
		{"the name again after a retry", []string{"", early + late}, "426 Broken.", "early late", 1, 0, "another entry"},
		{"the name of a directory", []string{late + "type=dir; early\r\n"}, "226 Done.", "early late", 0, 1, "another entry"},
		{"no local name", []string{late + "type=file;size=1; x.ftpfetch.json\r\n"}, "226 Done.", "early late", 1, 0, "x.ftpfetch.json"},
	}
	asLIST := strings.NewReplacer("type=file;size=1; ", "-rw-r--r-- 1 0 0 1 Jan 02 2003 ", "type=dir; ", "drwxr-xr-x 1 0 0 1 Jan 02 2003 ")
	for i := range 2 * len(tests) {
		tt, verb, begin := tests[i/2], "MLSD", begin
		if i%2 == 1 {
			if verb, begin = "LIST", asLIST.Replace(begin); strings.Contains(tt.name, "cut") {
				continue
			}
			for i, text := range tt.ends {
				tt.ends[i] = asLIST.Replace(text)
			}
		}
		t.Run(tt.name+", "+verb, func(t *testing.T) {
			fetched, try := make(chan struct{}), -1
			arrived := sync.OnceFunc(func() { close(fetched) })
			files := map[string]string{"/early": "1", "/late": "2", "/again": "3"}
			s, srv := scripted(t, shelf{verb: verb, listings: map[string]string{"/": ""}, files: files}, testserver.On(verb, func(c *testserver.Conn) error {
				try++
				reply := "226 Done."
				if try == 0 || len(tt.ends) == 1 {
					reply = tt.reply
				}
				wait := func(*testserver.Conn) error { <-fetched; return nil }
				return testserver.Sequence(testserver.Reply("150 Here it comes."), testserver.Data(begin), wait, testserver.Data(tt.ends[min(try, len(tt.ends)-1)], testserver.Closed), testserver.Reply(reply))(c)
			}))
			s.options.Events = func(e download.Event) {
				if e.Kind == download.Ended && e.Task.Path == "early" {
					arrived()
				}
			}
			got := s.run(t.Context(), treeOf(t, srv.URL("/"), download.Tree{Reject: []string{"n*"}}))
			s.settled(got)
			want := map[string]string{}
			for _, name := range strings.Fields(tt.files) {
				want[name] = files["/"+name]
			}
			s.compare(want)
			if got.Failed != tt.failed || got.Unlisted != tt.unlisted || !strings.Contains(strings.Join(s.failures(), "\n"), tt.text) {
				t.Errorf("%+v, %q", got, s.failures())
			}
		})
	}
}

// TestTreeEarlyNot lists directories whose files must wait for the end of the listing. The listing fails, so none may
// be fetched.
func TestTreeEarlyNot(t *testing.T) {
	text := strings.Repeat("type=file;size=1; n\r\n", 1000)
	for name, change := range map[string]func(*shelf, *download.RunOptions){
		"few entries":         func(s *shelf, _ *download.RunOptions) { s.listings["/"] = text[:500*21] },
		"their times matter":  func(_ *shelf, o *download.RunOptions) { o.Each.Existing = download.Newer },
		"it may be a circle":  func(s *shelf, _ *download.RunOptions) { s.listings["/"], s.listings["/d"] = "type=dir; d\r\n", text },
		"they are not wanted": func(s *shelf, _ *download.RunOptions) { s.listings["/"] = strings.ReplaceAll(text, "; n", "; x") },
	} {
		t.Run(name, func(t *testing.T) {
			x := shelf{verb: "MLSD", listings: map[string]string{"/": text}, files: map[string]string{"/f": "1", "/d/f": "1"}}
			s := newClientStand(t)
			change(&x, &s.options)
			for dir, text := range x.listings {
				if !strings.Contains(text, "type=dir") {
					x.listings[dir] += "type=file;size=1; f\r\ntype=fi"
				}
			}
			if name == "they are not wanted" {
				x.listings["/"] = strings.ReplaceAll(x.listings["/"], "; f", "; x")
			}
			s.options.Events = func(e download.Event) {
				if e.Kind == download.Started {
					t.Errorf("%s is fetched", e.Task.Path)
				}
			}
			s.options.Each.Retries = -1
			if got := s.run(t.Context(), treeOf(t, x.start(t).URL("/"), download.Tree{Reject: []string{"x"}})); got.Unlisted != 1 {
				t.Errorf("%+v, %q", got, s.failures())
			}
		})
	}
}
