package batch_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/internal/rules/must"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// TestLaterRuns checks that a later run needs no server for what the first verified, by the ledger or else by the digests,
// and fetches again what was removed.
func TestLaterRuns(t *testing.T) {
	files := randomFiles(40)
	s := newStand(t, files, testserver.Options{})
	tasks, conns := s.tasks(files), 4
	for _, run := range []struct {
		lose         string // before the run
		before, most int    // files that are there, and connections
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

// TestOtherFileIsThere checks a file in the place of what the list names: the ledger does not speak for one that someone
// has changed since, and one of another size is called that, not finished or in the way.
func TestOtherFileIsThere(t *testing.T) {
	s := newStand(t, map[string]string{"/f": "right", "/g": "four"}, testserver.Options{})
	f, g := fileOf(s.url("/f"), "f"), fileOf(s.url("/g"), "g")
	if got := s.run(t.Context(), f); !got.Whole() {
		t.Fatalf("%+v, %q", got, s.failures())
	}
	g.Size = new(int64(5))
	s.write("f", "wrong", time.Now()) // of the same size
	s.write("g", "four", time.Now())
	s.options.Jobs = 1
	got := s.run(t.Context(), f, g)
	if want := "/g: exists with 4 bytes, but the list says 5: --overwrite replaces it"; got.Failed != 2 || !errors.Is(s.outcomes[0].Err, fs.ErrExist) || !strings.HasSuffix(s.failures()[1], want) {
		t.Errorf("%+v, %q, want %q", got, s.failures(), want)
	}
}

// TestSamePath checks that two tasks cannot lead to one path, unless they mean the same file.
func TestSamePath(t *testing.T) {
	s := newStand(t, map[string]string{"/a/f": "one", "/b/f": "two"}, testserver.Options{})
	s.options.Jobs, s.options.Each.Overwrite = 1, true
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

// TestTooMany checks that no file is lost on a server that allows few connections and says so in different ways, or closes
// the others without a word.
func TestTooMany(t *testing.T) {
	full := func(reply string) testserver.Action {
		return testserver.Do(testserver.Reply(reply), testserver.End(testserver.Closed))
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
		"closed":               {"", testserver.End(testserver.Closed)},
		"reset":                {"", testserver.End(testserver.Reset)},
		"data connection":      {"EPSV", full("421 Too many connections (2) from this IP")},
		"listing":              {"MLSD", full("421 Too many connections (2) from this IP")}, // of a tree
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
				tasks = []batch.Task{treeOf(t, s.srv.URL("/"), batch.Tree{})}
			}
			got := s.run(t.Context(), tasks...)
			if s.settled(got); !got.Whole() || got.Complete != 60 {
				t.Errorf("%+v, %q", got, s.failures())
			}
			s.compare(below(files))
		})
	}
}

// TestUnreachable checks that a server that does not exist is not tried for every file.
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

// TestAlternatives checks that the next URL is tried if one fails, on another server too, and that the outcome names the
// one that worked.
func TestAlternatives(t *testing.T) {
	s := newStand(t, map[string]string{"/a": "text", "/damaged": "tent"}, testserver.Options{})
	other := testserver.New(t, &testserver.Options{Tree: map[string]string{"/b": "text"}})
	sum := sha256.Sum256([]byte("text"))
	task := batch.Task{Item: manifest.Item{
		URLs: []*urlparse.URL{s.url("/missing"), s.url("/damaged"), parse(t, other.URL("/b")), s.url("/a")},
		Path: "f", Sum: digest.Sum{Algorithm: "sha256", Digest: sum[:]},
	}}
	if got := s.run(t.Context(), task); !got.Whole() || got.Complete != 1 || s.outcomes[0].Task.URLs[0].Name != "b" {
		t.Errorf("%+v, %q, %v", got, s.failures(), s.outcomes)
	}
}

// TestSegments checks that a single large file uses the connections that nothing else needs, and a server's refusal of
// them is no failure.
func TestSegments(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 1<<18) // 4 MiB
	for _, allowed := range []int{4, 2, 1} {
		t.Run(fmt.Sprint(allowed), func(t *testing.T) {
			limit := rate.NewLimiter(1<<20, 1<<18) // or the first may bring all, until the others have had their turn
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
					return testserver.Do(testserver.Reply("421 Too many connections (4) from this IP"), testserver.End(testserver.Closed))
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
