package download_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// treeOf returns a task that saves a tree at the top of the output directory.
func treeOf(t *testing.T, url string, tree download.Tree) download.Task {
	return download.Task{URLs: []*urlparse.URL{parse(t, url)}, Tree: &tree}
}

// scripted returns a stand whose server is a shelf.
func scripted(t *testing.T, s shelf, steps ...testserver.Step) (*stand, *testserver.Server) {
	return newClientStand(t), s.start(t, steps...)
}

// settled checks that the totals of an uninterrupted run add up.
func (s *stand) settled(got totals) {
	s.Helper()
	if got.Files != got.Complete+got.Failed || got.Listing != 0 || got.Complete < got.Before {
		s.Errorf("the totals do not add up: %+v", got)
	}
	if got.Failed == 0 && got.Done != got.Size {
		s.Errorf("the bytes do not add up: %+v", got)
	}
	if bad := len(s.failures()); int64(bad) != got.Failed+got.Unlisted {
		s.Errorf("%d failures are reported, the totals are %+v", bad, got)
	}
}

func TestTree(t *testing.T) {
	files := map[string]string{
		"/top": "not wanted", "/pub/a.gz": "1", "/pub/a.txt": "22", "/pub/sub/b.gz": "333", "/pub/sub/old/c.gz": "4444", "/pub/é ;type=d": "x",
	}
	tests := []struct {
		name, url string
		tree      download.Tree
		want      string // paths without pub/
		dirs      string
	}{
		{"all", "/pub/", download.Tree{}, "a.gz a.txt sub/b.gz sub/old/c.gz é_;type=d", "empty sub sub/old"},
		{"without the slash", "/pub", download.Tree{}, "a.gz a.txt sub/b.gz sub/old/c.gz é_;type=d", "empty sub sub/old"},
		{"depth 1", "/pub/", download.Tree{Depth: 1}, "a.gz a.txt é_;type=d", ""},
		{"depth 2", "/pub/", download.Tree{Depth: 2}, "a.gz a.txt sub/b.gz é_;type=d", "empty sub"},
		{"accept", "/pub/", download.Tree{Accept: []string{"*.gz"}}, "a.gz sub/b.gz sub/old/c.gz", "sub sub/old"},
		{"reject a directory", "/pub/", download.Tree{Reject: []string{"old", "é*"}}, "a.gz a.txt sub/b.gz", "empty sub"},
		{"both", "/pub/", download.Tree{Accept: []string{"**/*.gz"}, Reject: []string{"sub/*.gz"}}, "a.gz sub/old/c.gz", "sub sub/old"},
		{"names", "/pub/", download.Tree{Names: "*.gz", Depth: 1}, "a.gz", ""},
		{"names of directories", "/pub/", download.Tree{Names: "s*"}, "sub/b.gz sub/old/c.gz", "sub sub/old"},
		{"names in each level", "/pub/", download.Tree{Names: "s*/old/*.gz", Depth: 3}, "sub/old/c.gz", "sub sub/old"},
		{"names of directories in each level", "/pub/", download.Tree{Names: "*/o*"}, "sub/old/c.gz", "sub sub/old"},
		{"names and accept", "/pub/", download.Tree{Names: "{s,a}*", Accept: []string{"*.txt", "c*"}}, "a.txt sub/old/c.gz", "sub sub/old"},
		{"empty", "/pub/empty/", download.Tree{}, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tree := maps.Clone(files)
			tree["/pub/empty/"] = ""
			s := newStand(t, tree, testserver.Options{})
			for run := range 2 {
				got := s.run(t.Context(), treeOf(t, s.srv.URL(tt.url), tt.tree))
				if !got.Whole() || run == 1 && (got.Before != got.Files || got.Received != 0) {
					t.Errorf("run %d: %+v, %q", run, got, s.failures())
				}
				s.settled(got)
			}
			want := map[string]string{}
			for _, name := range strings.Fields(tt.want) {
				name = strings.ReplaceAll(name, "_", " ")
				want[name] = files["/pub/"+name]
			}
			s.compare(want)
			if got := strings.Join(s.dirs(), " "); got != tt.dirs {
				t.Errorf("directories %q, want %q", got, tt.dirs)
			}
		})
	}
}

// dirs returns the names of the directories below the output directory.
func (s *stand) dirs() (names []string) {
	s.Helper()
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if name, _ := filepath.Rel(s.dir, path); err == nil && d.IsDir() && name != "." {
			names = append(names, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		s.Fatal(err)
	}
	return names
}

// TestTreeErrors checks that a run reports a directory that it cannot list whole, and fetches everything else.
func TestTreeErrors(t *testing.T) {
	whole := shelf{
		verb: "MLSD",
		listings: map[string]string{
			"/":    lines("type=dir; sub", "type=dir; good", "type=file;size=1; f"),
			"/sub": lines("type=file;size=1; lost"), "/good": lines("type=file;size=1; g"),
		},
		files: map[string]string{"/f": "f", "/sub/lost": "l", "/good/g": "g"},
	}
	tests := []struct {
		name   string
		change func(*shelf)
		path   string // the path of the outcome
		is     error
		text   string
		lost   bool // sub/lost is fetched nevertheless
	}{
		{"550 on the listing", func(s *shelf) { s.refuse = map[string]string{"/sub": "550 Permission denied."} }, "sub", ftpexec.ErrRefused, "550", false},
		{"550 on CWD", func(s *shelf) { delete(s.listings, "/sub") }, "sub", ftpexec.ErrRefused, "550", false},
		{"426 again and again", func(s *shelf) { s.refuse = map[string]string{"/sub": "426 Broken."} }, "sub", ftpexec.ErrRefused, "426", false},
		{"a line without sense", func(s *shelf) { s.listings["/sub"] += "what is this\r\n" }, "sub", ftpexec.ErrLine, "what is this", true},
		{"a name with a slash", func(s *shelf) { s.listings["/sub"] += "type=file; ../../evil\r\n" }, "sub", ftpexec.ErrLine, "evil", true},
		{"a journal's name", func(s *shelf) { s.listings["/sub"] += "type=file; x.ftpfetch.json\r\n" }, "sub/x.ftpfetch.json", localfile.ErrName, "", true},
		{"two entries with a name", func(s *shelf) { s.listings["/sub"] += "type=dir; lost\r\n" }, "sub/lost", localfile.ErrName, "another entry", true},
		{"a ledger's name", func(s *shelf) { s.listings["/"] += "type=file; .ftpfetch-ledger\r\n" }, ".ftpfetch-ledger", localfile.ErrName, "its own files", true},
		{"a shard's ledger", func(s *shelf) { s.listings["/"] += "type=dir; .ftpfetch-LEDGER-1-of-2\r\n" }, ".ftpfetch-LEDGER-1-of-2", localfile.ErrName, "its own files", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x := whole
			x.listings = maps.Clone(whole.listings)
			tt.change(&x)
			s, srv := scripted(t, x)
			got := s.run(t.Context(), treeOf(t, srv.URL("/"), download.Tree{}))
			s.settled(got)
			if got.Whole() || len(s.failures()) != 1 {
				t.Fatalf("%+v, %q", got, s.failures())
			}
			o := s.outcomes[slices.IndexFunc(s.outcomes, func(o download.Event) bool { return o.Err != nil })]
			if !errors.Is(o.Err, tt.is) || !strings.Contains(o.Err.Error(), tt.text) || o.Task.Path != tt.path {
				t.Errorf("%q: %v; want %q: %v with %q", o.Task.Path, o.Err, tt.path, tt.is, tt.text)
			}
			want := map[string]string{"f": "f", "good/g": "g"}
			if tt.lost {
				want["sub/lost"] = "l"
			}
			s.compare(want)
		})
	}
}

// TestTreeMissing checks that a missing directory and a malformed pattern are failures.
func TestTreeMissing(t *testing.T) {
	s := newStand(t, map[string]string{"/d/f": "f"}, testserver.Options{})
	got := s.run(t.Context(), treeOf(t, s.srv.URL("/missing/"), download.Tree{}))
	if s.settled(got); got.Whole() || got.Unlisted != 1 || !errors.Is(s.outcomes[0].Err, ftpexec.ErrRefused) {
		t.Errorf("%+v, %q", got, s.failures())
	}
	got = s.run(t.Context(), treeOf(t, s.srv.URL("/d/"), download.Tree{Accept: []string{"["}}))
	if got.Whole() || !strings.Contains(fmt.Sprint(s.failures()), "malformed pattern [") {
		t.Errorf("a malformed pattern: %+v, %q", got, s.failures())
	}
}

// TestTreeNewer checks that Newer compares exact times without asking the server, asks for rough ones, and ignores the
// ledger's record of a changed file.
func TestTreeNewer(t *testing.T) {
	const exact, rough = "type=file;size=3;modify=20260102030405; f", "-rw-r--r-- 1 0 0 3 Jan 02 2026 f"
	const grown = "-rw-r--r-- 1 0 0 5 Jan 02 2026 f"
	old, same := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tests := []struct {
		name, verb, line, text string
		local                  time.Time // time of the local file, which has three bytes
		want                   string
		mdtm                   bool // the run asks for the time
	}{
		{"exact and older", "MLSD", exact, "new", old, "new", true},
		{"exact and as new", "MLSD", exact, "new", same, "old", false},
		{"rough and older", "LIST", rough, "new", old, "new", true},
		{"rough and as new", "LIST", rough, "new", same, "old", true},
		{"of another size", "LIST", grown, "newer", same, "newer", true},
		{"only names", "NLST", "f", "new", old, "new", true},
		{"only names, as new", "NLST", "f", "new", same, "old", true},
	}
	for _, tt := range tests {
		for _, ledger := range []bool{false, true} {
			t.Run(fmt.Sprint(tt.name, ", ledger: ", ledger), func(t *testing.T) {
				s, srv := scripted(t, shelf{verb: tt.verb, listings: map[string]string{"/": lines(tt.line)}, files: map[string]string{"/f": tt.text}})
				s.write("f", "old", tt.local)
				if ledger {
					s.write(ledgerName, fmt.Sprintf(`{"path":"f","url":%q,"size":3,"modified":%q}`+"\n", srv.URL("/f"), tt.local.Format(time.RFC3339)), same)
				}
				s.options.Each.Existing = download.Newer
				got := s.run(t.Context(), treeOf(t, srv.URL("/"), download.Tree{}))
				s.settled(got)
				s.compare(map[string]string{"f": tt.want})
				if asked := slices.Contains(srv.Commands(), "MDTM f"); asked != tt.mdtm {
					t.Errorf("MDTM is asked for: %v, want %v; %q", asked, tt.mdtm, srv.Commands())
				}
			})
		}
	}
}

// write writes a file into the output directory.
func (s *stand) write(name, text string, modified time.Time) {
	s.Helper()
	file := filepath.Join(s.dir, name)
	must.Do(s, os.MkdirAll(filepath.Dir(file), 0o755))
	must.Do(s, os.WriteFile(file, []byte(text), 0o644))
	must.Do(s, os.Chtimes(file, modified, modified))
}

// TestTreeCancelledWithin ends a run while it goes through the entries of a large directory. The run must skip the
// rest, and count the directory as not listed.
func TestTreeCancelledWithin(t *testing.T) {
	files := map[string]string{}
	for i := range 100 {
		files[fmt.Sprintf("/f%02d", i)] = ""
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := newStand(t, files, testserver.Options{})
	seen := 0
	got := s.run(ctx, treeOf(t, s.srv.URL("/"), download.Tree{Type: func(string) urlparse.Typecode {
		seen++
		cancel()
		return urlparse.TypeImage
	}}))
	if seen != 1 || got.Whole() || got.Listing != 1 || got.Files != 0 {
		t.Errorf("%d entries were looked at: %+v", seen, got)
	}
}

// told is a Source that collects the entries that Tell gets.
type told struct {
	*ftpexec.Client
	all []ftpexec.Entry
}

func (s *told) Tell(u *urlparse.URL, e ftpexec.Entry) {
	e.URL = u
	s.all = append(s.all, e)
}

// TestTreeTold checks that a Source with Tell gets the entry of each file from the listing, or else from the server,
// and that no file is fetched.
func TestTreeTold(t *testing.T) {
	exact, day := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	for verb, want := range map[string]struct {
		line  string
		told  ftpexec.Entry
		sends []string
	}{
		"MLSD": {"type=file;size=3;modify=20260102030405; x.part", ftpexec.Entry{ModTime: exact, Precision: time.Second}, []string{"MLSD"}},
		"LIST": {"-rw-r--r-- 1 0 0 3 Jan 02 2026 x.part", ftpexec.Entry{ModTime: day, Precision: 24 * time.Hour, Local: true}, []string{"LIST -a"}},
		"NLST": {"x.part", ftpexec.Entry{ModTime: exact, Precision: time.Second}, []string{"NLST", "SIZE x.part", "MDTM x.part"}},
	} {
		s, srv := scripted(t, shelf{verb: verb, listings: map[string]string{"/": lines(want.line)}, files: map[string]string{"/x.part": "abc"}})
		src := &told{Client: &s.client}
		totals, err := download.Run(t.Context(), src, slices.Values([]download.Task{treeOf(t, srv.URL("/"), download.Tree{})}), &s.options)
		s.client.CloseIdleConnections()
		if err != nil || totals.Complete != 1 || len(src.all) != 1 {
			t.Fatalf("%s: %+v, %v, %+v", verb, totals, err, src.all)
		}
		if e := src.all[0]; e.Size != 3 || !e.ModTime.Equal(want.told.ModTime) || e.Precision != want.told.Precision || e.Local != want.told.Local || e.URL.Name != "x.part" {
			t.Errorf("%s: %+v, want %+v", verb, e, want.told)
		}
		asks := []string{"SIZE", "MDTM", "RETR", verb}
		sent := slices.DeleteFunc(srv.Commands(), func(c string) bool { return !slices.Contains(asks, strings.Fields(c)[0]) })
		if !slices.Equal(sent, want.sends) {
			t.Errorf("%s: %q is sent, want %q", verb, sent, want.sends)
		}
		s.compare(nil)
	}
}

// TestTellsOfNoneInTime checks that a file fails if the server does not report on it within Options.Timeout, even if
// nothing is fetched.
func TestTellsOfNoneInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := ftptest.NewNetwork()
		srv := network.NewScript(t, testserver.Honest("contents"), testserver.On("SIZE", silence))
		var failed error
		o := download.RunOptions{Timeout: time.Minute, Events: func(e download.Event) {
			if e.Kind == download.Ended {
				failed = e.Err
			}
		}}
		src := &told{Client: &ftpexec.Client{Dial: network.Dial}}
		totals, _ := download.Run(t.Context(), src, slices.Values([]download.Task{fileOf(parse(t, srv.URL("/d/f")), "f")}), &o)
		if !errors.Is(failed, context.DeadlineExceeded) || totals.Failed != 1 {
			t.Errorf("got %v, %+v", failed, totals)
		}
	})
}

// TestTreeInTheWay checks a local file or link where a directory is needed.
func TestTreeInTheWay(t *testing.T) {
	for _, what := range []string{"file", "link out", "dangling link"} {
		t.Run(what, func(t *testing.T) {
			s := newStand(t, map[string]string{"/d/f": "f", "/g": "g"}, testserver.Options{})
			place, outside := filepath.Join(s.dir, "d"), t.TempDir()
			var err error
			switch what {
			case "file":
				err = os.WriteFile(place, nil, 0o644)
			case "link out":
				err = os.Symlink(outside, place)
			default:
				err = os.Symlink("nothing", place)
			}
			must.Do(t, err)
			got := s.run(t.Context(), treeOf(t, s.srv.URL("/"), download.Tree{}))
			s.settled(got)
			if got.Whole() || got.Complete != 1 || !errors.Is(s.outcomes[len(s.outcomes)-1].Err, download.ErrLocal) && !errors.Is(s.outcomes[0].Err, download.ErrLocal) {
				t.Errorf("%+v, %q", got, s.failures())
			}
			if inside, err := os.ReadDir(outside); err != nil || len(inside) > 0 {
				t.Errorf("outside the tree there is %v, %v", inside, err)
			}
		})
	}
}

// TestTreeType checks that files are retrieved with the type that Tree.Type returns, and that a second run has nothing
// to do although their sizes differ from the listing's.
func TestTreeType(t *testing.T) {
	for _, verb := range []string{"MLSD", "NLST"} {
		listing := map[string]string{"MLSD": "type=file;size=9; a.txt", "NLST": "a.txt"}[verb]
		s, srv := scripted(t, shelf{verb: verb, listings: map[string]string{"/": lines(listing)}, files: map[string]string{"/a.txt": "a\r\nb\r\n"}})
		for range 2 {
			got := s.run(t.Context(), treeOf(t, srv.URL("/"), download.Tree{Type: urlparse.GuessType}))
			s.settled(got)
		}
		s.compare(map[string]string{"a.txt": "a\nb\n"})
		if sent := srv.Commands(); !slices.Contains(sent, "TYPE A") || len(s.failures()) > 0 {
			t.Errorf("%q, sent %q", s.failures(), sent)
		}
	}
}
