package download_test

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/internal/timing"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// TestLaterRuns checks that a later run needs no server for the files that the first run verified, because of the
// ledger or else of their digests, and fetches removed files again.
func TestLaterRuns(t *testing.T) {
	files := randomFiles(40)
	s := newStand(t, files, testserver.Options{})
	tasks, conns := s.tasks(files), 4
	for _, run := range []struct {
		lose         string // before the run
		before, most int    // files complete before the run, and the most connections
	}{{"", 0, 4}, {"", 40, 0}, {ledgerName, 40, 0}, {"d0/f000", 39, 1}} {
		if run.lose != "" {
			must.Do(t, os.Remove(filepath.Join(s.dir, run.lose)))
		}
		conns = s.srv.Connections()
		got := s.run(t.Context(), tasks...)
		if conns = s.srv.Connections() - conns; !got.Whole() || got.Complete != 40 || got.Before != int64(run.before) || conns > run.most || conns == 0 && got.Received > 0 {
			t.Errorf("%+v: %+v, %q, %d connections", run, got, s.failures(), conns)
		}
		s.compare(below(files))
	}
}

// TestOtherFileIsThere checks a target that is not the file in the list. The ledger does not cover a file that was
// changed since. If the size differs, the error says so, and does not call the file unfinished.
func TestOtherFileIsThere(t *testing.T) {
	s := newStand(t, map[string]string{"/f": "right", "/g": "four"}, testserver.Options{})
	f, g := fileOf(s.url("/f"), "f"), fileOf(s.url("/g"), "g")
	if got := s.run(t.Context(), f); !got.Whole() {
		t.Fatalf("%+v, %q", got, s.failures())
	}
	g.Size = new(int64(5))
	s.write("f", "wrong", time.Now()) // has the same size
	s.write("g", "four", time.Now())
	s.options.Jobs = 1
	got := s.run(t.Context(), f, g)
	if want := "/g: exists with 4 bytes, not the expected 5"; got.Failed != 2 || !errors.Is(s.outcomes[0].Err, fs.ErrExist) || !strings.HasSuffix(s.failures()[1], want) {
		t.Errorf("%+v, %q, want %q", got, s.failures(), want)
	}
}

// TestSamePath checks that of two tasks with the same path the second fails, unless it names the same file.
func TestSamePath(t *testing.T) {
	s := newStand(t, map[string]string{"/a/f": "one", "/b/f": "two"}, testserver.Options{})
	s.options.Jobs, s.options.Each.Existing = 1, download.Overwrite
	a, b, known := fileOf(s.url("/a/f"), "f"), fileOf(s.url("/b/f"), "f"), fileOf(s.url("/a/f"), "f")
	known.Size = new(int64(4))
	got := s.run(t.Context(), a, a, b, known)
	if got.Files != 3 || got.Complete != 1 || got.Failed != 2 {
		t.Errorf("%+v, %q", got, s.failures())
	}
	for _, o := range s.outcomes {
		if o.Err != nil && !errors.Is(o.Err, download.ErrLocal) {
			t.Errorf("got %v, want %v", o.Err, download.ErrLocal)
		}
	}
}

// TestTooMany checks that a run fetches all files from a server that allows few connections. It refuses the others by
// different replies, or closes them without a reply.
func TestTooMany(t *testing.T) {
	t.Parallel()
	full := func(reply string) testserver.Action {
		return testserver.Sequence(testserver.Reply(reply), testserver.EndControl(testserver.Closed))
	}
	for name, tt := range map[string]struct {
		at    string // "" is the greeting
		fault testserver.Action
	}{
		"greeting 421":         {"", full("421 There are too many connections from your internet address.")},
		"login 421":            {"USER", full("421 There are too many connections from your internet address.")},
		"login 530":            {"USER", full("530 Sorry, the maximum number of clients (2) from your host are already connected.")},
		"greeting without why": {"", full("421 Service not available, closing control connection.")},
		"login without why":    {"USER", full("421 Service not available, closing control connection.")},
		"closed":               {"", testserver.EndControl(testserver.Closed)},
		"reset":                {"", testserver.EndControl(testserver.Reset)},
		"data connection":      {"EPSV", full("421 Too many connections (2) from this IP")},
		"listing":              {"MLSD", full("421 Too many connections (2) from this IP")}, // for a tree
	} {
		t.Run(name, func(t *testing.T) {
			files := randomFiles(60)
			s := newStand(t, files, testserver.Options{Fault: func(p *testserver.Conn) testserver.Action {
				if p.Verb == tt.at && p.Open > 2 {
					return tt.fault
				}
				return nil
			}})
			s.options.Jobs, s.options.PerHost = 8, 8
			tasks := s.tasks(files)
			if tt.at == "MLSD" || tt.at == "EPSV" {
				tasks = []download.Task{treeOf(t, s.srv.URL("/"), download.Tree{})}
			}
			got := s.run(t.Context(), tasks...)
			if s.settled(got); !got.Whole() || got.Complete != 60 {
				t.Errorf("%+v, %q", got, s.failures())
			}
			s.compare(below(files))
		})
	}
}

// TestOnlyConnection checks what a run says about a server that closes its only connection before the greeting, or
// refuses it, and how often it connects. The clock is simulated.
func TestOnlyConnection(t *testing.T) {
	const again, waits = "closes the only connection before its greeting: trying again", "refuses the only connection: waiting until it has room"
	closes := testserver.EndControl(testserver.Closed)
	full := testserver.Sequence(testserver.Reply("421 Too many connections"), closes)
	for _, tt := range []struct {
		name    string
		fault   testserver.Action
		times   int // how many of the first connections it ends
		retries int
		files   int
		said    []string
		connect int // connections
	}{
		{"closes once", closes, 1, 0, 1, []string{again}, 2},
		{"closes twice", closes, 2, 0, 1, []string{again, again}, 3},
		{"closes always", closes, 99, 0, 1, []string{again, again}, 3},
		{"closes always, no retries", closes, 99, -1, 1, nil, 1},
		{"closes always, one retry", closes, 99, 1, 1, []string{again}, 2},
		{"closes always, five retries", closes, 99, 5, 1, []string{again, again}, 3},
		{"closes always, five retries though unreached", closes, 99, 5, 1, nil, 6},
		{"refuses once", full, 1, 0, 1, []string{waits}, 2},
		{"closes always, two files", closes, 99, 0, 2, []string{again, again}, 4},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := 0
			network := ftptest.NewNetwork()
			srv := network.NewScript(t, testserver.Honest("contents"), testserver.On("", func(c *testserver.Conn) error {
				if n++; n <= tt.times {
					return tt.fault(c)
				}
				return testserver.Reply("220 ready")(c)
			}))
			s := newClientStand(t)
			s.client.Dial = network.Dial
			s.options.Jobs, s.options.PerHost, s.options.Each.Retries = 1, 1, tt.retries
			s.options.Each.RetryUnreached = strings.HasSuffix(tt.name, "though unreached")
			var said []string
			s.options.Events = func(e download.Event) {
				if e.Kind == download.Noted && e.Task == nil && !e.Detail {
					said = append(said, strings.TrimPrefix(e.Text, srv.Addr()+" "))
				}
			}
			var tasks []download.Task
			for i := range tt.files {
				tasks = append(tasks, fileOf(parse(t, srv.URL("/f")), fmt.Sprint(i)))
			}
			got := s.run(t.Context(), tasks...)
			if got.Whole() != (tt.times < 99) || !slices.Equal(said, tt.said) || n != tt.connect {
				t.Errorf("%s: %+v, %q; %d connections, want %d; it said %q, want %q", tt.name, got, s.failures(), n, tt.connect, said, tt.said)
			}
		})
	}
}

// TestUnreachable checks that a run does not try an unreachable server for every file.
func TestUnreachable(t *testing.T) {
	files := randomFiles(50)
	s := newStand(t, files, testserver.Options{})
	tasks := s.tasks(files)
	must.Do(t, s.srv.Close())
	var dials atomic.Int64
	s.client.Dial = func(context.Context, string, string) (net.Conn, error) {
		dials.Add(1)
		return nil, syscall.ECONNREFUSED
	}
	if got := s.run(t.Context(), tasks...); got.Failed != 50 || dials.Load() > 12 {
		t.Errorf("%+v after %d attempts to connect", got, dials.Load())
	}
}

// TestAlternatives checks that a run tries the next URL if one fails, and reports the URL that worked.
func TestAlternatives(t *testing.T) {
	s := newStand(t, map[string]string{"/a": "text", "/damaged": "tent"}, testserver.Options{})
	other := testserver.New(t, &testserver.Options{Tree: map[string]string{"/b": "text"}})
	sum := sha256.Sum256([]byte("text"))
	task := download.Task{URLs: []*urlparse.URL{s.url("/missing"), s.url("/damaged"), parse(t, other.URL("/b")), s.url("/a")},
		Path: "f", Sum: digest.Sum{Algorithm: "sha256", Digest: sum[:]}}
	if got := s.run(t.Context(), task); !got.Whole() || got.Complete != 1 || s.outcomes[0].Task.URLs[0].Name != "b" {
		t.Errorf("%+v, %q, %v", got, s.failures(), s.outcomes)
	}
}

// TestSegments checks that a single large file uses the connections that no other file needs, and is complete even if
// the server refuses them.
func TestSegments(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("0123456789abcdef", 1<<18) // 4 MiB
	for _, allowed := range []int{4, 2, 1} {
		t.Run(fmt.Sprint(allowed), func(t *testing.T) {
			limit := rate.NewLimiter(1<<20, 1<<18) // or the first connection might fetch all before the others start
			var transfers, refused atomic.Int64
			s := newStand(t, map[string]string{"/big": big}, testserver.Options{Fault: func(p *testserver.Conn) testserver.Action {
				full := p.Verb == "USER" && p.Num > allowed && p.Open > allowed
				if full {
					refused.Add(1)
				} else if p.Verb == "RETR" {
					transfers.Add(1)
				}
				if transfers.Load() >= int64(allowed) && (refused.Load() > 0 || allowed == 4) {
					limit.SetLimit(rate.Inf)
				}
				if full {
					return testserver.Sequence(testserver.Reply("421 Too many connections (4) from this IP"), testserver.EndControl(testserver.Closed))
				}
				return nil
			}})
			s.options.Each.Segments, s.options.Each.Limit = 4, limit
			if got := s.run(t.Context(), s.tasks(map[string]string{"/big": big})...); !got.Whole() {
				t.Errorf("%+v, %q", got, s.failures())
			}
			s.compare(map[string]string{"big": big})
			if n := s.srv.DataConnections(); n < min(allowed, 4) {
				t.Errorf("%d data connections", n)
			}
		})
	}
}

// TestTwoRuns starts a run while another run of the same list is fetching a file, which then succeeds or fails. The
// later run must wait, and both must complete.
func TestTwoRuns(t *testing.T) {
	files := map[string]string{"/a": "one", "/b": "two", "/c": "three"}
	existing := []download.Options{{}, {Existing: download.Skip}, {Existing: download.Overwrite}, {Existing: download.Newer}, {Existing: download.Continue}}
	for i := range 4 * len(existing) {
		if i%night.Or(3, 1) != 0 {
			continue
		}
		each, known, fails := existing[i%len(existing)], i/len(existing)%2 == 1, i/len(existing) > 1
		first := newStand(t, files, testserver.Options{Fault: func(p *testserver.Conn) testserver.Action {
			if fails && p.Verb == "RETR" && p.Transfer == 1 {
				return testserver.EndDataAfter(1, testserver.Closed)
			}
			return nil
		}})
		tasks := first.tasks(files)
		for i := range tasks {
			if !known {
				tasks[i].Size, tasks[i].Sum = nil, digest.Sum{}
			}
		}
		second := newClientStand(t)
		second.dir = first.dir
		first.options.Each, second.options.Each = each, each
		first.options.Each.Retries, first.options.Jobs, second.options.Jobs = -1, 1, 1
		midst, release, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
		var once, again sync.Once
		first.options.Events = func(e download.Event) {
			if e.Kind == download.Progress && e.Task != nil {
				once.Do(func() { close(midst); <-release })
			}
		}
		var waits atomic.Int64
		timing.Wait = func(ctx context.Context, _ time.Duration) error {
			if ctx.Value(&waits) == nil { // the first run may wait too, until the second has looked
				return timing.Sleep(ctx, time.Millisecond)
			}
			waits.Add(1)
			again.Do(func() { close(release) })
			<-ended
			return nil
		}
		var one totals
		go func() { defer close(ended); one = first.run(t.Context(), tasks...) }()
		<-midst
		two := second.run(context.WithValue(t.Context(), &waits, true), tasks...)
		again.Do(func() { close(release) })
		<-ended
		what := fmt.Sprintf("%+v, known %v, fails %v", each, known, fails)
		if waits.Load() == 0 || !two.Whole() || !fails && !one.Whole() {
			t.Errorf("%s: %d waits, %+v %q and %+v %q", what, waits.Load(), one, first.failures(), two, second.failures())
		}
		first.compare(below(files))
	}
}

// TestVerifyTree verifies the files of a tree by the lists of digests in it. For that, each list is retrieved once
// more, and each directory is listed once more, as is the root. The lists need no digest of their own.
func TestVerifyTree(t *testing.T) {
	for _, wrong := range []bool{false, true} {
		tree, list := map[string]string{"/t/above/x": "x", "/t/above/y.md5": "is a list"}, ""
		for i := range 9 {
			text := fmt.Sprint("file ", i)
			tree[fmt.Sprintf("/t/d/f%d", i)] = text
			list += fmt.Sprintf("%x  f%d\n", md5.Sum([]byte(text)), i)
		}
		tree["/t/d/md5sum.txt"] = list
		tree["/t/MD5SUMS"] = fmt.Sprintf("%x  ./above/x\n", md5.Sum([]byte("x")))
		if wrong {
			tree["/t/d/f3"] = "FILE 3"
		}
		s := newStand(t, tree, testserver.Options{Fault: func(c *testserver.Conn) testserver.Action {
			if c.Verb == "FEAT" { // the server computes no digests
				return testserver.Reply("211-Features\r\n SIZE\r\n MDTM\r\n211 End")
			}
			return nil
		}})
		s.options.Each.Verify = true
		got := s.run(t.Context(), treeOf(t, s.srv.URL("/t/"), download.Tree{}))
		if bad := strings.Join(s.failures(), "\n"); strings.Contains(bad, "f3: ") != wrong || got.Failed != 0 && !wrong || got.Complete != 13-got.Failed {
			t.Errorf("%+v\n%s", got, bad)
		}
		sent := strings.Join(s.srv.Commands(), "\n")
		for command, want := range map[string]int{"RETR md5sum.txt": 2, "RETR MD5SUMS": 2, "NLST": 4} {
			if n := strings.Count(sent, command); n != want {
				t.Errorf("%d times %s, want %d", n, command, want)
			}
		}
	}
}

// TestWhatIsShownIsNoKey fetches two files to one path. Messages show their URLs alike, because the differing part may
// be a password. The ledger's record of one file must not count for the other.
func TestWhatIsShownIsNoKey(t *testing.T) {
	for _, pair := range [][2]string{
		{"/alice@x/report", "/bob@x/report"},
		{"/***@x/report", "/bob@x/report"},
		{"/x,ftp://me:alice@b/report", "/x,ftp://me:bob@b/report"},
	} {
		s := newStand(t, map[string]string{
			"/alice@x/report": "of Alice", "/bob@x/report": "of Bob", "/***@x/report": "of a star",
			"/x,ftp:/me:alice@b/report": "of Alice", "/x,ftp:/me:bob@b/report": "of Bob",
		}, testserver.Options{})
		for i, path := range pair {
			task := download.Task{URLs: []*urlparse.URL{s.url(path)}, Path: "report"}
			for range 2 {
				got := s.run(t.Context(), task)
				if right := i == 0; got.Whole() != right {
					t.Errorf("%s after %s: %+v %q", path, pair[0], got, s.failures())
				}
			}
		}
	}
}
