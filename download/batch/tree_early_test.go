package batch_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/testserver"
)

// TestTreeEarly lists a directory in which the file "early" is fetched before the listing goes on. What the rest of the
// listing shows counts all the same.
func TestTreeEarly(t *testing.T) {
	const early, late = "type=file;size=1; early\r\n", "type=file;size=1; late\r\n"
	var filler strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&filler, "type=file;size=1; n%d\r\n", i)
	}
	begin := filler.String() + early
	tests := []struct {
		name             string
		ends             []string // of the first try to list the directory, and of the next ones
		reply            string   // the last one to the first try
		files            string   // that are complete
		failed, unlisted int64
		text             string // of the failure
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
				return testserver.Do(testserver.Reply("150 Here it comes."), testserver.Data(begin), wait, testserver.Data(tt.ends[min(try, len(tt.ends)-1)], testserver.Closed), testserver.Reply(reply))(c)
			}))
			s.options.Events = func(e batch.Event) {
				if e.Kind == batch.Ended && e.Task.Path == "early" {
					arrived()
				}
			}
			got := s.run(t.Context(), treeOf(t, srv.URL("/"), batch.Tree{Reject: []string{"n*"}}))
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

// TestTreeEarlyNot lists directories whose files must wait until the listing is whole, which fails.
func TestTreeEarlyNot(t *testing.T) {
	text := strings.Repeat("type=file;size=1; n\r\n", 1000)
	for name, change := range map[string]func(*shelf, *batch.Options){
		"few entries":         func(s *shelf, _ *batch.Options) { s.listings["/"] = text[:500*21] },
		"their times matter":  func(_ *shelf, o *batch.Options) { o.Each.Newer = true },
		"it may be a circle":  func(s *shelf, _ *batch.Options) { s.listings["/"], s.listings["/d"] = "type=dir; d\r\n", text },
		"they are not wanted": func(s *shelf, _ *batch.Options) { s.listings["/"] = strings.ReplaceAll(text, "; n", "; x") },
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
			s.options.Events = func(e batch.Event) {
				if e.Kind == batch.Started {
					t.Errorf("%s is fetched", e.Task.Path)
				}
			}
			s.options.Each.Retries = -1
			if got := s.run(t.Context(), treeOf(t, x.start(t).URL("/"), batch.Tree{Reject: []string{"x"}})); got.Unlisted != 1 {
				t.Errorf("%+v, %q", got, s.failures())
			}
		})
	}
}
