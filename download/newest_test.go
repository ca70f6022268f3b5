package download_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// newestTest is a tree on a server, and the newest files in it.
type newestTest struct {
	name, verb string
	// files has "path truth" for each file; truth is its time on the 20th, or "day-" and the time. The text of a file is
	// its path. A listing shows files without a truth as it shows directories: by their names alone.
	files string
	tree  download.Tree
	want  string // the names in order
	asked string // the names whose times are asked for
}

var newestTests = []newestTest{
	{"exact", "MLSD", "/a 10:00:00 /b 12:00:01 /c 12:00:00 /d 09:00:00", download.Tree{Newest: 2}, "b c", ""},
	{"the same second", "MLSD", "/c 12:00:00 /b 12:00:00 /a 11:00:00 /d 12:00:00", download.Tree{Newest: 2}, "d c", ""},
	{"fewer than wanted", "LIST", "/a 10:00:05 /b 10:00:06", download.Tree{Newest: 3}, "a b", ""},
	{"just as many", "LIST", "/a 10:00:05 /b 10:00:06", download.Tree{Newest: 2}, "b a", ""},
	{"other minutes", "LIST", "/a 12:04:59 /b 12:05:00 /c 12:03:00", download.Tree{Newest: 1}, "b", ""},
	{"the same minute", "LIST", "/a 12:05:10 /b 12:05:50 /c 12:04:59 /d 12:05:30", download.Tree{Newest: 1}, "b", "a b d"},
	{"the same minute, two", "LIST", "/a 12:05:10 /b 12:05:50 /c 12:04:59 /d 12:05:30", download.Tree{Newest: 2}, "b d", "a b d"},
	{"the same minute, all", "LIST", "/a 12:05:10 /b 12:05:50 /c 12:04:59 /d 12:05:30", download.Tree{Newest: 3}, "d b a", ""},
	{"at the border only", "LIST", "/a 12:09:00 /b 12:05:10 /c 12:05:50 /d 12:04:59 /e 12:08:00", download.Tree{Newest: 3}, "a e c", "b c"},
	{"the same second of a minute", "LIST", "/b 12:05:10 /a 12:05:10", download.Tree{Newest: 1}, "b", "a b"},
	{"the same day", "LIST", "/a day-10:00:00 /b day-12:00:00 /c day-11:00:00", download.Tree{Newest: 1}, "b", "a b c"},
	{"a day and minutes", "LIST", "/a day-12:00:00 /b 10:00:00 /c 09:00:00", download.Tree{Newest: 1}, "a", "a b"},
	{"only names", "NLST", "/a 10:00:00 /b 12:00:00 /c 11:00:00", download.Tree{Newest: 1}, "b", "a b c"},
	{"in directories", "MLSD", "/a 10:00:00 /d/b 12:00:00 /d/e/c 11:00:00 /f/g 09:00:00", download.Tree{Newest: 2}, "d/b d/e/c", ""},
	{"in directories, the same minute", "LIST", "/a 10:00:00 /d/b 12:00:01 /d/e/c 12:00:02 /f/g 09:00:00", download.Tree{Newest: 1}, "d/e/c", "b c"},
	{"by level", "MLSD", "/a 10:00:00 /d/b 12:00:00 /d/e/c 13:00:00", download.Tree{Newest: 1, Depth: 2}, "d/b", ""},
	{"accepted", "LIST", "/a.gz 10:00:00 /b.gz 11:00:00 /c 11:00:30 /d 12:00:00", download.Tree{Newest: 1, Accept: []string{"*.gz"}}, "b.gz", ""},
	{"not rejected", "LIST", "/a.gz 10:00:00 /b.gz 11:00:00 /c 11:00:30 /d 12:00:00", download.Tree{Newest: 1, Reject: []string{"[cd]"}}, "b.gz", ""},
	{"named", "MLSD", "/x/a 10:00:00 /y/a 11:00:00 /y/b 12:00:00", download.Tree{Newest: 1, Names: "*/a"}, "y/a", ""},
}

// listings returns the listings of the directories of a tree by path, in the words of the verb.
func (tt newestTest) shelf() shelf {
	s := shelf{verb: tt.verb, listings: map[string]string{"/": ""}, files: map[string]string{}, times: map[string]string{}}
	words := strings.Fields(tt.files)
	for i := 0; i < len(words); i += 2 {
		file := words[i]
		clock, daily := strings.CutPrefix(words[i+1], "day-")
		at, _ := time.Parse("2006-01-02 15:04:05", "2026-11-20 "+clock)
		s.files[file] = file
		s.times[file] = at.Format("20060102150405")
		parts := strings.Split(file[1:], "/")
		line := map[string]string{"MLSD": at.Format("type=file;size=SIZE;modify=20060102150405; NAME"), "LIST": at.Format("01-02-06  03:04PM  SIZE NAME"), "NLST": "NAME"}[tt.verb]
		if daily {
			line = at.Format("-rw-r--r-- 1 0 0 SIZE Jan _2  2006 NAME")
		}
		line = strings.NewReplacer("SIZE", fmt.Sprint(len(file)), "NAME", parts[len(parts)-1]).Replace(line)
		for ; len(parts) > 0; parts = parts[:len(parts)-1] {
			in := "/" + strings.Join(parts[:len(parts)-1], "/")
			if !strings.Contains(s.listings[in], line+"\r\n") {
				s.listings[in] += line + "\r\n"
			}
			if len(parts) > 1 {
				line = map[string]string{"MLSD": "type=dir; ", "LIST": "01-02-06  03:04PM  <DIR> "}[tt.verb] + parts[len(parts)-2]
			}
		}
	}
	return s
}

// TestNewest asks about the newest files of each tree, and fetches them. It counts the files whose times are asked for,
// which are only those in question.
func TestNewest(t *testing.T) {
	t.Parallel()
	for _, tt := range newestTests {
		t.Run(tt.name, func(t *testing.T) {
			s, srv := scripted(t, tt.shelf())
			task := treeOf(t, srv.URL("/"), tt.tree)
			var names []string
			s.options.Info = func(u *urlparse.URL, _ ftpexec.Entry) {
				names = append(names, strings.TrimPrefix(strings.TrimPrefix(u.String(), srv.URL("")), "/"))
			}
			totals, err := download.Run(t.Context(), &s.client, slices.Values([]download.Task{task}), &s.options)
			s.client.CloseIdleConnections()
			files := int64(len(strings.Fields(tt.files)) / 2)
			want := strings.Fields(tt.want)
			if err != nil || totals.Complete != int64(len(want)) || !slices.Equal(names, want) && tt.name != "fewer than wanted" {
				t.Errorf("got %q, %+v, %v, want %q", names, totals, err, want)
			}
			if all := tt.tree; all.Accept == nil && all.Reject == nil && all.Names == "" && all.Depth == 0 && totals.LeftOut != files-totals.Complete {
				t.Errorf("%d of %d are left out", totals.LeftOut, files)
			}
			if got := asked(srv); got != tt.asked {
				t.Errorf("times are asked for: %q, want %q; %q", got, tt.asked, srv.Commands())
			}
			s.options.Info = nil
			got := s.run(t.Context(), task)
			s.settled(got)
			local := map[string]string{}
			for _, name := range want {
				local[name] = "/" + name
			}
			s.compare(local)
		})
	}
}

// asked returns the sorted names of the files for whose times the server was asked.
func asked(srv *testserver.Server) string {
	var names []string
	for _, c := range srv.Commands() {
		if name, ok := strings.CutPrefix(c, "MDTM "); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// TestNewestUntold changes what the server tells about files that it lists. Nothing is fetched by guess.
func TestNewestUntold(t *testing.T) {
	t.Parallel()
	minute := newestTest{verb: "LIST", files: "/a 12:05:10 /b 12:05:50 /c 12:04:59 /d 12:03:00"}
	names := newestTest{verb: "NLST", files: "/a 12:05:10 /b 12:05:50 /c 12:04:59"}
	refused := map[string]string{"a": "502 What?", "b": "502 What?", "c": "502 What?"}
	for _, tt := range []struct {
		name  string
		tree  newestTest
		n     int
		mdtm  map[string]string // replies, by name; "" ends the connection once
		want  string
		err   error
		noted string
	}{
		{"no MDTM", minute, 1, refused, "b", nil, "the server does not tell the exact times of 2 files: their names decide which are newer"},
		{"no MDTM, not needed", minute, 2, refused, "a b", nil, ""},
		{"one is not told", minute, 1, map[string]string{"b": "450 No."}, "a", nil, "the exact times of 1 file:"},
		{"one is gone", minute, 1, map[string]string{"b": "550 No such file."}, "a", nil, ""},
		{"both are gone", minute, 1, map[string]string{"a": "550 No such file.", "b": "550 No such file."}, "c", nil, ""},
		{"no times at all", names, 1, refused, "", ftpexec.ErrRefused, ""},
		{"no times, all wanted", names, 3, refused, "a b c", nil, ""},
		{"the connection ends", minute, 1, map[string]string{"a": ""}, "b", nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var ended atomic.Bool
			shelf := tt.tree.shelf()
			s, srv := scripted(t, shelf, func(d *testserver.Dialogue) {
				testserver.On("MDTM", func(c *testserver.Conn) error {
					reply, ok := tt.mdtm[c.Arg]
					switch {
					case ok && reply != "":
						return testserver.Reply(reply)(c)
					case ok && !ended.Swap(true):
						return testserver.EndControl(testserver.Closed)(c)
					}
					return testserver.Reply("213 " + shelf.times["/"+c.Arg])(c)
				})(d)
				testserver.On("SIZE", func(c *testserver.Conn) error {
					if reply := tt.mdtm[c.Arg]; strings.HasPrefix(reply, "550") {
						return testserver.Reply(reply)(c)
					}
					return testserver.Reply("213 2")(c)
				})(d)
			})
			noted := ""
			s.options.Jobs = 1
			s.options.Events = func(e download.Event) {
				if e.Kind == download.Noted && e.Err != nil && e.Wait == 0 {
					noted += e.Err.Error()
				}
			}
			got := s.run(t.Context(), treeOf(t, srv.URL("/"), download.Tree{Newest: tt.n}))
			files := map[string]string{}
			for _, name := range strings.Fields(tt.want) {
				files[name] = "/" + name
			}
			s.compare(files)
			var failed error
			for _, o := range s.outcomes {
				failed = errors.Join(failed, o.Err)
			}
			if !errors.Is(failed, tt.err) || (got.err == nil) != (tt.err == nil) || !strings.Contains(noted, tt.noted) || tt.noted == "" && noted != "" {
				t.Errorf("%v, %v, noted %q", got.err, failed, noted)
			}
		})
	}
}

// TestNewestOfMany lists more files than a run keeps in memory to choose from.
func TestNewestOfMany(t *testing.T) {
	t.Parallel()
	const files = 12_000
	var listing strings.Builder
	names := shelf{verb: "MLSD", files: map[string]string{}}
	base := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range files {
		at := base.Add(time.Duration(i*7919%files) * time.Second) // each second once, in another order
		fmt.Fprintf(&listing, "type=file;size=1;modify=%s; f%05d\r\n", at.Format("20060102150405"), i*7919%files)
	}
	names.listings = map[string]string{"/": listing.String()}
	s, srv := scripted(t, names)
	var got []string
	s.options.Info = func(u *urlparse.URL, _ ftpexec.Entry) { got = append(got, u.Name) }
	totals, err := download.Run(t.Context(), &s.client, slices.Values([]download.Task{treeOf(t, srv.URL("/"), download.Tree{Newest: 3})}), &s.options)
	s.client.CloseIdleConnections()
	if want := []string{"f11999", "f11998", "f11997"}; err != nil || !slices.Equal(got, want) || totals.LeftOut != files-3 || totals.Files != 3 {
		t.Errorf("%v, %+v, %v", got, totals, err)
	}
}

// TestNewestOfRest refuses the listing of one directory. The newest of the other files are fetched, and the run fails.
func TestNewestOfRest(t *testing.T) {
	t.Parallel()
	shelf := newestTest{verb: "MLSD", files: "/a 10:00:00 /d/b 12:00:00 /e/c 11:00:00"}.shelf()
	shelf.refuse = map[string]string{"/d": "550 Permission denied."}
	s, srv := scripted(t, shelf)
	got := s.run(t.Context(), treeOf(t, srv.URL("/"), download.Tree{Newest: 1}))
	s.compare(map[string]string{"e/c": "/e/c"})
	if got.Whole() || got.Unlisted != 1 || got.Complete != 1 || got.LeftOut != 1 {
		t.Errorf("%+v", got)
	}
}

// TestNewestAgain fetches the newest files of a server with rough times again, with Newer: nothing is fetched, and the times
// of the local files are asked for only once, together.
func TestNewestAgain(t *testing.T) {
	t.Parallel()
	tt := newestTest{verb: "LIST", files: "/a 12:05:10 /b 12:05:50 /c 12:04:59 /d 12:03:00 /e 12:02:00"}
	s, srv := scripted(t, tt.shelf())
	s.options.Each.Existing = download.Newer
	task := treeOf(t, srv.URL("/"), download.Tree{Newest: 3})
	first := s.run(t.Context(), task)
	before := len(srv.Commands())
	again := s.run(t.Context(), task)
	s.compare(map[string]string{"a": "/a", "b": "/b", "c": "/c"})
	if first.Complete != 3 || again.Complete != 3 || again.Before != 3 || again.LeftOut != 2 {
		t.Errorf("%+v, then %+v", first, again)
	}
	mdtm := slices.DeleteFunc(slices.Clone(srv.Commands()[before:]), func(c string) bool { return !strings.HasPrefix(c, "MDTM") && !strings.HasPrefix(c, "RETR") })
	if want := []string{"MDTM a", "MDTM b", "MDTM c"}; !slices.Equal(slices.Sorted(slices.Values(mdtm)), want) {
		t.Errorf("sent again: %q", mdtm)
	}
}

// TestNewestOptions checks that a negative number is refused, and that two trees choose for themselves.
func TestNewestOptions(t *testing.T) {
	t.Parallel()
	s, srv := scripted(t, newestTest{verb: "MLSD", files: "/x/a 10:00:00 /x/b 11:00:00 /y/c 08:00:00 /y/d 09:00:00"}.shelf())
	one, two := treeOf(t, srv.URL("/x/"), download.Tree{Newest: 1}), treeOf(t, srv.URL("/y/"), download.Tree{Newest: 1})
	one.Path, two.Path = "x", "y"
	got := s.run(t.Context(), one, two)
	s.settled(got)
	s.compare(map[string]string{"x/b": "/x/b", "y/d": "/y/d"})
	if got := s.run(t.Context(), treeOf(t, srv.URL("/x/"), download.Tree{Newest: -1})); got.Whole() || got.Files+got.Unlisted != 1 {
		t.Errorf("a negative number: %+v", got)
	}
}
