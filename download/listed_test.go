package download_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// TestListedSizeCounts fetches a file of a tree from a server that reports neither its size nor its time, and confirms
// every transfer. The size in the listing decides whether the file is complete.
func TestListedSizeCounts(t *testing.T) {
	const text = "the whole file"
	for _, verb := range []string{"MLSD", "LIST"} {
		for _, tree := range []download.Tree{{}, {Names: "f*"}} {
			for _, tt := range []struct {
				name    string
				listed  []int // size in each listing; the last one repeats; -1: the file is not listed
				fetched []int // bytes that each transfer sends; the last one repeats
				retr    int   // how often the file is retrieved
				err     string
			}{
				{"right", []int{14}, []int{14}, 1, ""},
				{"cut once", []int{14}, []int{5, 14}, 2, ""},
				{"cut always", []int{14}, []int{5}, 4, "5 bytes came, but the listing of its directory says 14"},
				{"longer", []int{5}, []int{14}, 4, "14 bytes came, but the listing of its directory says 5"},
				{"empty", []int{14}, []int{0}, 4, "0 bytes came, but the listing of its directory says 14"},
				{"has grown since", []int{5, 14}, []int{14}, 1, ""},
				{"removed since", []int{14, -1}, []int{5}, 1, "its directory no longer lists it"},
			} {
				name := fmt.Sprint(verb, " ", tree.Names, " ", tt.name)
				next := func(from *[]int) int {
					n := (*from)[0]
					if len(*from) > 1 {
						*from = (*from)[1:]
					}
					return n
				}
				no := testserver.Reply("502 Not implemented.")
				s, srv := scripted(t, shelf{verb: verb, listings: map[string]string{"/": "", "/d": ""}},
					testserver.On("SIZE", no), testserver.On("MDTM", no), testserver.On("MLST", no), testserver.On("FEAT", testserver.Reply("211 End")),
					testserver.On(verb, func(c *testserver.Conn) error {
						n := next(&tt.listed)
						line := fmt.Sprintf("type=file;size=%d; f", n)
						if verb == "LIST" {
							line = fmt.Sprintf("-rw-r--r-- 1 ftp ftp %d Jan  2  2026 f", n)
						}
						if n < 0 {
							return testserver.Transfer("")(c)
						}
						return testserver.Transfer(lines(line))(c)
					}),
					testserver.On("RETR", func(c *testserver.Conn) error { return testserver.Transfer(text[:next(&tt.fetched)])(c) }))
				got := s.run(t.Context(), treeOf(t, srv.URL("/d/"), tree))
				failed := strings.Join(s.failures(), " ")
				if got.Whole() != (tt.err == "") || !strings.Contains(failed, tt.err) {
					t.Errorf("%s: %+v %s", name, got, failed)
				}
				if n := strings.Count(strings.Join(srv.Commands(), "\n"), "RETR f"); n != tt.retr {
					t.Errorf("%s: RETR was sent %d times, want %d", name, n, tt.retr)
				}
				want := map[string]string{}
				if tt.err == "" {
					want["f"] = text
				}
				s.compare(want)
			}
		}
	}
}

// TestBlankEnds fetches a file of a tree from a relay that may cut the blanks at the ends of names, so that SIZE and
// RETR are about another file than the listing. A name with such a blank is refused, at once, if the sizes differ.
func TestBlankEnds(t *testing.T) {
	const refused = "may cut the blanks at the ends of the name"
	for _, tt := range []struct {
		name   string
		listed []int // size in each listing; the last one repeats; -1: the file is not listed
		size   int   // of the file that comes
		err    string
		retr   int // how often the file is retrieved
	}{
		{"x ", []int{5}, 14, "the server's file has 14 bytes, but the listing of its directory says 5", 1},
		{" x", []int{5}, 14, refused, 1},
		{"  x y ", []int{5}, 14, refused, 1},
		{"x ", []int{14}, 5, refused, 1},
		{"x ", []int{14}, 0, refused, 1},
		{"x ", []int{0}, 14, refused, 1},
		{"x ", []int{5, 6}, 14, "the server's file has 14 bytes, but the listing of its directory says 6", 1},
		{"x ", []int{5, -1}, 14, "its directory no longer lists it", 1},
		{"x ", []int{5, 14}, 14, "", 2}, // it has grown since
		{"x ", []int{14}, 14, "", 1},
		{" x", []int{14}, 14, "", 1},
		{"x ", []int{0}, 0, "", 1},
		{"x", []int{5}, 14, "", 1}, // any other file may grow
		{"x y", []int{5}, 14, "", 1},
	} {
		for _, verb := range []string{"MLSD", "LIST"} {
			blankEnds(t, verb, true, tt.name, tt.listed, tt.size, tt.err, tt.retr)
			if strings.TrimSpace(tt.name) != tt.name { // or else TestListedSizeCounts has it
				blankEnds(t, verb, false, tt.name, tt.listed, tt.size, tt.err, 1)
			}
		}
	}
}

// blankEnds is TestBlankEnds for a server that lists by verb, and reports the sizes of files or not.
func blankEnds(t *testing.T, verb string, sized bool, name string, listed []int, size int, failure string, retr int) {
	text, listings := "the whole file"[:size], 0
	list := func(c *testserver.Conn) error {
		n := listed[min(listings, len(listed)-1)]
		listings++
		line := fmt.Sprintf("type=file;size=%d;modify=20260102030405; %s", n, name)
		if verb == "LIST" {
			const dot = "drwxr-xr-x 1 ftp ftp  0 Jan  2  2026 .\r\n" // shows where names begin
			line = dot + fmt.Sprintf("-rw-r--r-- 1 ftp ftp %2d Jan  2  2026 %s", n, name)
		}
		if n < 0 {
			line = strings.ReplaceAll(line, name, "other")
		}
		return testserver.Transfer(lines(line))(c)
	}
	steps := []testserver.Step{testserver.On(verb, list), testserver.On("MLST", testserver.Reply("502 No.")),
		testserver.On("SIZE", testserver.Reply(fmt.Sprint("213 ", size))), testserver.On("MDTM", testserver.Reply("213 20260102030405")),
		testserver.On("RETR", testserver.Transfer(text))}
	if !sized {
		steps = append(steps, testserver.On("SIZE", testserver.Reply("502 No.")))
	}
	s, srv := scripted(t, shelf{verb: verb, listings: map[string]string{"/": "", "/d": ""}}, steps...)
	s.options.PerHost, s.client.MaxConns = 1, 1 // the listing gets the connection of the transfer
	got := s.run(t.Context(), treeOf(t, srv.URL("/d/"), download.Tree{}))
	said := strings.Join(s.failures(), " ")
	if got.Whole() != (failure == "") || !strings.Contains(said, failure) {
		t.Errorf("%s, size reported: %v, %q, %v, %d bytes: %+v %s", verb, sized, name, listed, size, got, said)
	}
	if n := strings.Count(strings.Join(srv.Commands(), "\n"), "RETR "+name); n != retr {
		t.Errorf("%s, size reported: %v, %q, %v: RETR was sent %d times, want %d", verb, sized, name, listed, n, retr)
	}
	want := map[string]string{}
	if failure == "" {
		want[name] = text
	}
	s.compare(want)
}

// TestListedSizeOfExisting runs with Newer. The local file is as new as the server's, and the server reports the time
// but not the size. The size in the listing decides.
func TestListedSizeOfExisting(t *testing.T) {
	const text = "the whole file"
	for _, there := range []string{text, text[:5], text + " and more"} {
		for _, how := range []download.Existing{download.Newer, download.NewerOrContinue} {
			s, srv := scripted(t, shelf{verb: "MLSD", listings: map[string]string{"/": "", "/d": lines("type=file;size=14;modify=20260102030405; f")}, files: map[string]string{"/d/f": text}},
				testserver.On("SIZE", testserver.Reply("502 Not implemented.")))
			local := filepath.Join(s.dir, "f")
			must.Do(t, os.WriteFile(local, []byte(there), 0o600))
			must.Do(t, os.Chtimes(local, time.Time{}, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)))
			s.options.Each.Existing = how
			if got := s.run(t.Context(), treeOf(t, srv.URL("/d/"), download.Tree{})); !got.Whole() {
				t.Errorf("%q, %s: %+v %q", there, how, got, s.failures())
			}
			s.compare(map[string]string{"f": text})
		}
	}
}

// TestListedTimeCounts mirrors a tree from a server that reports no time for a single file, or nonsense. If the time in
// the listing is exact to the second, the file gets it. The time of arrival would be wrong: it could be newer than the
// next version, or older than the file if the server's clock is ahead.
func TestListedTimeCounts(t *testing.T) {
	for _, verb := range []string{"MLSD", "LIST"} {
		for _, mdtm := range []string{"502 Not implemented.", "550 Not now.", "213 9223372036854775807", "213 0", "200 Done."} {
			for _, year := range []int{2020, 2037} {
				at := time.Date(year, 1, 2, 3, 4, 5, 0, time.UTC)
				text := "first"
				line := func(c *testserver.Conn) error {
					line := fmt.Sprintf("type=file;size=%d;modify=%s; f", len(text), at.Format("20060102150405"))
					if verb == "LIST" {
						line = fmt.Sprintf("-rw-r--r-- 1 ftp ftp %d %s f", len(text), at.Format("Jan _2  2006"))
					}
					return testserver.Transfer(lines(line))(c)
				}
				s, srv := scripted(t, shelf{verb: verb, listings: map[string]string{"/": "", "/d": ""}},
					testserver.On(verb, line), testserver.On("MDTM", testserver.Reply(mdtm)), testserver.On("MLST", testserver.Reply("502 No.")),
					testserver.On("SIZE", func(c *testserver.Conn) error { return testserver.Reply(fmt.Sprint("213 ", len(text)))(c) }),
					testserver.On("RETR", func(c *testserver.Conn) error { return testserver.Transfer(text)(c) }))
				s.options.Each.Existing = download.Newer
				for run, want := range []int{1, 1, 2, 2} { // how often it has been retrieved after each run
					if run == 2 {
						text, at = "again", at.Add(time.Second)
					}
					got := s.run(t.Context(), treeOf(t, srv.URL("/d/"), download.Tree{}))
					s.compare(map[string]string{"f": text})
					n := strings.Count(strings.Join(srv.Commands(), "\n"), "RETR f")
					info := must.Get(os.Stat(filepath.Join(s.dir, "f")))(t)
					exact := verb == "MLSD"
					if !got.Whole() || exact && (n != want || !info.ModTime().Equal(at)) {
						t.Errorf("%s, %s, %d, run %d: %+v, RETR was sent %d times, want %d; %v, want %v", verb, mdtm, year, run, got, n, want, info.ModTime(), at)
					}
				}
			}
		}
	}
}
