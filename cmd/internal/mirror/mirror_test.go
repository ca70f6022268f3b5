package mirror_test

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/afero"

	"example.com/ftpfetch/cmd/internal/mirror"
	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/ledger"
	"example.com/ftpfetch/internal/testkit/memory"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

func TestMain(m *testing.M) {
	memory.Use()
	os.Exit(m.Run())
}

// stand is a tree that was fetched, and some of whose files the server has lost since.
type stand struct {
	*testing.T
	server     *testserver.Server
	files      afero.Fs
	top        string                              // the path of the tree on the server; "" is /t/
	typed      func(name string) urlparse.Typecode // Tree.Type; may be nil
	regardless bool                                // call Delete even if the run before it failed
	fetched    string                              // local directory with the fetched tree
	network    *ftptest.Network
	fault      atomic.Pointer[func(*testserver.Conn) testserver.Action]
}

// kept are the files that the server keeps, and lost the files that it loses.
var kept, lost = []string{"1", "a/2", "a/b/3", "a/b/-l", "c/4"}, []string{"5", "a/sp ace", "a/d/6", "a/d/e/7"}

func newStand(t *testing.T) *stand {
	s := &stand{T: t, files: afero.NewMemMapFs(), fetched: t.TempDir(), network: ftptest.NewNetwork()}
	tree := make(map[string]string)
	for _, name := range slices.Concat(kept, lost) {
		tree["/t/"+name] = "contents of " + name
	}
	s.server = testserver.New(t, &testserver.Options{FS: afero.NewIOFS(s.files), Tree: tree, ModTime: time.Unix(1e9, 0), Fault: s.attack, Listen: s.network.Listen})
	if _, err := s.mirror(t.Context(), s.fetched, mirror.Deletion{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"/t/5", "/t/a/sp ace", "/t/a/d"} {
		must.Do(t, s.files.RemoveAll(name))
	}
	return s
}

// attack is the server's Fault: it calls the current fault of s.
func (s *stand) attack(c *testserver.Conn) testserver.Action {
	if fault := s.fault.Load(); fault != nil {
		return (*fault)(c)
	}
	return nil
}

// mirror fetches the tree into dir, and deletes from dir the files that the server lost. It returns their names.
func (s *stand) mirror(ctx context.Context, dir string, d mirror.Deletion) (deleted []string, err error) {
	d.Root = must.Get(os.OpenRoot(dir))(s)
	defer d.Root.Close()
	d.Tell = func(g mirror.Gone) { deleted = append(deleted, g.Path) }
	client := &ftpexec.Client{Timeout: 5 * time.Second, Dial: s.network.Dial}
	defer client.CloseIdleConnections()
	u := must.Get(urlparse.Parse("ftp://" + s.server.Addr() + cmp.Or(s.top, "/t/")))(s)
	task := download.Task{URLs: []*urlparse.URL{u}, Tree: &download.Tree{Type: s.typed}}
	source := &mirror.Source{FullSource: client, Trees: []download.Task{task}}
	o := download.RunOptions{Jobs: 1, Ledger: ledger.Name, Each: download.Options{Root: d.Root, Existing: download.Newer, Retries: -1}}
	if _, err = download.Run(ctx, source, slices.Values([]download.Task{task}), &o); err == nil || s.regardless {
		err = source.Delete(ctx, d)
	}
	return deleted, err
}

// again returns a new copy of the directory with the fetched tree.
func (s *stand) again() string {
	dir := s.TempDir()
	must.Do(s, filepath.WalkDir(s.fetched, func(name string, e fs.DirEntry, err error) error {
		to := filepath.Join(dir, strings.TrimPrefix(name, s.fetched))
		switch {
		case err != nil:
			return err
		case e.IsDir():
			return os.MkdirAll(to, 0o755)
		case e.Name() == ledger.Name:
			return os.WriteFile(to, must.Get(os.ReadFile(name))(s), 0o644)
		}
		return os.Link(name, to)
	}))
	return dir
}

func there(dir string, names []string) (n int) {
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			n++
		}
	}
	return n
}

// TestDelete checks which files are deleted and which are kept.
func TestDelete(t *testing.T) {
	s := newStand(t)
	all := []string{"5", "a/d/6", "a/d/e/7", "a/sp ace"}
	emptied := func(dir string) { must.Do(t, os.Truncate(filepath.Join(dir, ledger.Name), 0)) }
	tests := []struct {
		name    string
		d       mirror.Deletion
		change  func(dir string)
		deleted []string
		err     string
	}{
		{name: "all", d: mirror.Deletion{Most: 4}, deleted: all},
		{name: "too many", d: mirror.Deletion{Most: 3}, err: "nothing deleted: 4 files would go, more than --max-delete 3"},
		{name: "only told", d: mirror.Deletion{Most: 4, Dry: true}, deleted: all},
		{name: "only told, and too many", d: mirror.Deletion{Most: 1, Dry: true}, deleted: all, err: "nothing deleted: 4 files would go, more than --max-delete 1"},
		{name: "moved", d: mirror.Deletion{Most: 4, Backup: true}, deleted: all},
		{name: "an empty ledger", d: mirror.Deletion{Most: 9}, change: emptied, err: "nothing deleted: "},
		{name: "an empty ledger, only told", d: mirror.Deletion{Most: 9, Dry: true}, change: emptied, err: "the ledger is empty, so nothing tells"},
		{name: "changed here", d: mirror.Deletion{Most: 9}, deleted: all[1:], change: func(dir string) {
			must.Do(t, os.Remove(filepath.Join(dir, "5")))
			must.Do(t, os.WriteFile(filepath.Join(dir, "5"), []byte("contents of 5"), 0o644)) // has another time
		}},
		{name: "not fetched", d: mirror.Deletion{Most: 9}, deleted: all, change: func(dir string) {
			must.Do(t, os.WriteFile(filepath.Join(dir, "mine"), nil, 0o644))
			must.Do(t, os.WriteFile(filepath.Join(dir, "a/d/mine"), nil, 0o644))
		}},
		{name: "below a link", d: mirror.Deletion{Most: 9}, deleted: []string{"5", "a/sp ace"}, change: func(dir string) {
			must.Do(t, os.Rename(filepath.Join(dir, "a/d"), filepath.Join(dir, "a/b/d")))
			must.Do(t, os.Symlink("b/d", filepath.Join(dir, "a/d")))
		}},
		{name: "no ledger", d: mirror.Deletion{Most: 9}, change: func(dir string) { must.Do(t, os.Remove(filepath.Join(dir, ledger.Name))) }},
		{name: "of another server", d: mirror.Deletion{Most: 9}, change: func(dir string) {
			name := filepath.Join(dir, ledger.Name)
			text := strings.ReplaceAll(string(must.Get(os.ReadFile(name))(t)), "127.0.0.1", "127.0.0.2")
			must.Do(t, os.WriteFile(name, []byte(text), 0o644))
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := s.again()
			if tt.change != nil {
				tt.change(dir)
			}
			deleted, err := s.mirror(t.Context(), dir, tt.d)
			if !slices.Equal(deleted, tt.deleted) || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("deleted %q, %v; want %q, %s", deleted, err, tt.deleted, tt.err)
			}
			left := len(lost) - len(deleted)
			if tt.d.Dry {
				left = len(lost)
			}
			if n := there(dir, kept); n != len(kept) || there(dir, lost) != left {
				t.Errorf("%d of %d files that the server has are there, and %d that it has not, want %d", n, len(kept), there(dir, lost), left)
			}
			_, gone := os.Stat(filepath.Join(dir, "a/d"))
			if want := left > 1 || tt.name == "not fetched"; (gone == nil) != want {
				t.Errorf("a directory that is gone from the server: %v, want it to be there: %v", gone, want)
			}
			trash := must.Get(filepath.Glob(dir + "/.ftpfetch-trash/*"))(t)
			if tt.d.Backup && (len(trash) != 1 || there(trash[0], lost) != len(lost)) {
				t.Errorf("moved to %q", trash)
			}
		})
	}
}

// TestDeleteLast deletes the last file of a directory, and a file of the login directory, while the tree has other
// files.
func TestDeleteLast(t *testing.T) {
	s := newStand(t)
	must.Do(t, s.files.Remove("/t/c/4"))
	dir := s.again()
	want := []string{"5", "a/d/6", "a/d/e/7", "a/sp ace", "c/4"}
	deleted, err := s.mirror(t.Context(), dir, mirror.Deletion{Most: 9})
	if err != nil || !slices.Equal(deleted, want) {
		t.Errorf("deleted %q, %v, want %q", deleted, err, want)
	}
	if _, err := os.Stat(filepath.Join(dir, "c")); err != nil {
		t.Errorf("a directory that the server still has: %v", err)
	}
	s.top = "/"
	must.Do(t, afero.WriteFile(s.files, "/0", nil, 0o644)) // an empty file is a witness too
	must.Do(t, afero.WriteFile(s.files, "/z", nil, 0o644))
	dir = t.TempDir()
	for _, want := range [][]string{nil, {"z"}} {
		deleted, err := s.mirror(t.Context(), dir, mirror.Deletion{Most: 9})
		if err != nil || !slices.Equal(deleted, want) {
			t.Errorf("from the login directory: deleted %q, %v, want %q", deleted, err, want)
		}
		_ = s.files.Remove("/z")
	}
}

// refusals are replies that replace the right ones.
var refusals = []string{
	"550 No such file or directory.", "550 Permission denied.", "550 Failed to open file.", "450 No files found", "550 No members found", "501 Syntax error.", "502 Command not implemented.",
	"530 Please log in.", "200 OK", "226 Done.", "250 Done.", "213 0", "553 Not allowed.", "425 No data connection.", "451 Local error.",
}

// TestDeleteAttacked replaces each reply by each refusal, alone and with all later replies, ends each listing after
// each byte, and closes the connection at each command. No file that the server has may be deleted.
func TestDeleteAttacked(t *testing.T) { synctest.Test(t, deleteAttacked) }

func deleteAttacked(t *testing.T) {
	s := newStand(t)
	runs, deletions := 0, 0
	attack := func(name string, fault func(n int, c *testserver.Conn) testserver.Action) (commands int) {
		var n atomic.Int64
		f := func(c *testserver.Conn) testserver.Action { return fault(int(n.Add(1)), c) }
		s.fault.Store(&f)
		defer s.fault.Store(nil)
		dir := s.again()
		defer os.RemoveAll(dir)
		deleted, err := s.mirror(t.Context(), dir, mirror.Deletion{Most: 100})
		if runs++; there(dir, kept) != len(kept) {
			t.Errorf("%s: deleted %q, %v", name, deleted, err)
		}
		deletions += len(deleted)
		return int(n.Load())
	}
	for _, known := range []string{"MLSD", "LIST"} {
		base := func(c *testserver.Conn) testserver.Action {
			if known == "LIST" && (c.Verb == "MLSD" || c.Verb == "MLST") {
				return testserver.Reply("500 What?")
			}
			return nil
		}
		commands := attack("nothing", func(_ int, c *testserver.Conn) testserver.Action { return base(c) })
		if deletions == 0 {
			t.Fatal("nothing is deleted even without an attack")
		}
		at := func(from, to int, a testserver.Action) func(int, *testserver.Conn) testserver.Action {
			return func(n int, c *testserver.Conn) testserver.Action {
				if n >= from && n <= to {
					return a
				}
				return base(c)
			}
		}
		for n := 1; n <= commands; n += night.Or(7, 1) {
			for _, text := range refusals[:night.Or(1, len(refusals))] {
				attack(fmt.Sprintf("%s: command %d gets %s", known, n, text), at(n, n, testserver.Reply(text)))
				attack(fmt.Sprintf("%s: command %d ends with %s", known, n, text), at(n, n, testserver.ReplaceReply(testserver.Reply(text))))
				attack(fmt.Sprintf("%s: commands from %d get %s", known, n, text), at(n, 1e9, testserver.Reply(text)))
			}
			for _, end := range []testserver.Ending{testserver.Closed, testserver.Reset} {
				attack(fmt.Sprintf("%s: the connection ends at command %d", known, n), at(n, n, testserver.EndControl(end)))
			}
		}
		for octets := int64(0); octets < 400; octets += int64(night.Or(70, 1)) { // longer than a listing
			for listing := range 5 {
				attack(fmt.Sprintf("%s: listing %d ends at %d", known, listing, octets), func(n int, c *testserver.Conn) testserver.Action {
					if c.Verb == known && c.Transfer == listing {
						return testserver.EndDataAfter(octets, testserver.Closed)
					}
					return base(c)
				})
			}
			attack(fmt.Sprintf("%s: all listings end at %d, and the server tells of no file", known, octets), func(_ int, c *testserver.Conn) testserver.Action {
				switch c.Verb {
				case known:
					return testserver.EndDataAfter(octets, testserver.Closed)
				case "SIZE", "MDTM":
					return testserver.Reply("550 No such file or directory.")
				}
				return base(c)
			})
		}
	}
	t.Logf("%d runs, %d files deleted", runs, deletions)
}

// TestAges lists files of several ages. A server without MLSD lists their times to the minute, in its own time zone.
// The Source must ask it for the times that may lie on either side of a limit.
func TestAges(t *testing.T) {
	now := time.Now()
	ages := map[string]time.Duration{"now": 0, "minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour, "year": 400 * 24 * time.Hour}
	files := afero.NewMemMapFs()
	for name, age := range ages {
		must.Do(t, afero.WriteFile(files, "/"+name, nil, 0o644))
		must.Do(t, files.Chtimes("/"+name, now, now.Add(-age)))
	}
	tests := []struct {
		minAge, newer time.Duration
		want          string
		asked         int // files whose times are asked for without MLSD
	}{
		{0, 0, "day hour minute now week year", 0},
		{30 * time.Minute, 0, "day hour week year", 4},
		{0, 90 * time.Minute, "hour minute now", 4},
		{0, 30 * 24 * time.Hour, "day hour minute now week", 0},
		{30 * time.Second, 10 * 24 * time.Hour, "day hour minute week", 4},
		{1000 * 24 * time.Hour, 0, "", 0},
	}
	for _, silent := range []string{"nothing", "MLSD", "MDTM"} { // the command that the server does not know
		for _, tt := range tests {
			t.Run(fmt.Sprint(silent, tt.minAge, tt.newer), func(t *testing.T) {
				s := testserver.New(t, &testserver.Options{FS: afero.NewIOFS(files), Fault: func(c *testserver.Conn) testserver.Action {
					if c.Verb == silent || silent == "MDTM" && c.Verb == "MLSD" {
						return testserver.Reply("500 What?")
					}
					return nil
				}})
				c := new(ftpexec.Client)
				defer c.CloseIdleConnections()
				source := &mirror.Source{FullSource: c, Filter: mirror.Filter{MinAge: tt.minAge}}
				if tt.newer > 0 {
					source.NewerThan = now.Add(-tt.newer)
				}
				var got []string
				for e, err := range source.Entries(t.Context(), must.Get(urlparse.Parse(s.URL("/")))(t)) {
					must.Do(t, err)
					got = append(got, e.Name)
				}
				slices.Sort(got)
				want, asked := tt.want, tt.asked
				switch silent {
				case "nothing":
					asked = 0
				case "MDTM": // a file of unknown time counts as new: MinAge excludes it, NewerThan does not
					want = map[string]string{"30m0s": "week year", "30s": "week"}[tt.minAge.String()]
					if tt.minAge == 0 {
						want = map[string]string{"1h30m0s": "day hour minute now"}[tt.newer.String()]
					}
					if asked == 0 {
						want = tt.want
					}
				}
				if strings.Join(got, " ") != want || source.LeftOut() != int64(len(ages)-len(got)) {
					t.Errorf("got %q and %d left out, want %q", got, source.LeftOut(), want)
				}
				if n := strings.Count(strings.Join(s.Commands(), "\n"), "MDTM"); n != asked {
					t.Errorf("%d files were asked about, want %d", n, asked)
				}
			})
		}
	}
}
