package batch_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/retry"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ledgerName = ".ftpfetch-ledger"

// stand is a run against an embedded server.
type stand struct {
	*testing.T
	srv     *testserver.Server
	client  ftpexec.Client
	dir     string
	options batch.Options

	outcomes []batch.Event // the ends of the tasks
}

// newStand starts a server with files.
func newStand(t *testing.T, tree map[string]string, o testserver.Options) *stand {
	o.Tree, o.ModTime = tree, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := newClientStand(t)
	s.srv = testserver.New(t, &o)
	return s
}

// newClientStand returns a stand without a server.
func newClientStand(t *testing.T) *stand {
	s := &stand{T: t, dir: t.TempDir()}
	s.options = batch.Options{Jobs: 4, PerHost: 4, Each: download.Options{Retries: 3}}
	s.client.MaxIdle = 8
	return s
}

func init() { retry.Wait = atOnce }

func atOnce(ctx context.Context, _ time.Duration) error { return context.Cause(ctx) }

// totals is what a run has told at its end.
type totals struct {
	batch.Totals
	Before, Received, Size, Done int64
	err                          error
}

// Whole reports whether the run says that everything is there.
func (t totals) Whole() bool { return t.err == nil }

// run retrieves tasks into the stand's directory, with a ledger.
func (s *stand) run(ctx context.Context, tasks ...batch.Task) (got totals) {
	s.Helper()
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		s.Fatal(err)
	}
	defer root.Close()
	defer s.client.CloseIdleConnections()
	s.outcomes = nil
	at := map[*batch.Task]int64{} // bytes
	o := s.options
	o.Each.Root, o.Ledger = root, ledgerName
	tell := o.Events
	o.Events = func(e batch.Event) {
		switch {
		case e.Kind == batch.Started:
			at[e.Task] = -1
		case e.Kind == download.Progress && e.Task == nil:
			got.Size, got.Done = e.Total, e.Done
		case e.Kind == download.Progress:
			if before, ok := at[e.Task]; ok && before >= 0 {
				got.Received += max(0, e.Done-before)
			}
			at[e.Task] = e.Done
		case e.Kind == batch.Ended:
			s.outcomes = append(s.outcomes, e)
			if e.Result.Left != "" {
				got.Before++
			}
		}
		if tell != nil {
			tell(e)
		}
	}
	got.Totals, got.err = batch.Run(ctx, &s.client, slices.Values(tasks), o)
	if errors.Is(got.err, download.ErrLocal) {
		s.Error(got.err)
	}
	return got
}

// failures returns the outcomes that are no success.
func (s *stand) failures() (all []string) {
	for _, o := range s.outcomes {
		if o.Err != nil {
			all = append(all, o.Task.Path+": "+o.Err.Error())
		}
	}
	return all
}

// links returns how many links were not followed.
func (s *stand) links() (n int64) {
	for _, o := range s.outcomes {
		if o.Err == nil && o.Text != "" {
			n++
		}
	}
	return n
}

func (s *stand) url(path string) *urlparse.URL { return parse(s.T, s.srv.URL(path)) }

func parse(t *testing.T, text string) *urlparse.URL {
	t.Helper()
	u, err := urlparse.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// compare checks that the output directory holds exactly these files.
func (s *stand) compare(want map[string]string) {
	s.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(s.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ledgerName) {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(s.dir, path)
		got[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		s.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if text, ok := got[name]; !ok {
			s.Errorf("%s is missing", name)
		} else if text != want[name] {
			s.Errorf("%s has %d bytes that differ", name, len(text))
		}
		delete(got, name)
	}
	for name := range got {
		s.Errorf("%s should not be there", name)
	}
}

// files returns n files of random sizes, and the tasks for them with digests.
func (s *stand) tasks(tree map[string]string) (tasks []batch.Task) {
	for i, path := range slices.Sorted(maps.Keys(tree)) {
		sum := sha256.Sum256([]byte(tree[path]))
		tasks = append(tasks, batch.Task{Item: manifest.Item{
			URLs: []*urlparse.URL{s.url(path)}, Path: strings.TrimPrefix(path, "/"), Line: i + 1,
			Size: new(int64(len(tree[path]))), Sum: digest.Sum{Algorithm: "sha256", Digest: sum[:]},
		}})
	}
	return tasks
}

func randomFiles(n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		text := make([]byte, rand.IntN(3000))
		for j := range text {
			text[j] = byte(rand.Uint32())
		}
		files[fmt.Sprintf("/d%d/f%03d", i%5, i)] = string(text)
	}
	return files
}

// below returns files without the "/" at the start of their paths.
func below(files map[string]string) map[string]string {
	local := map[string]string{}
	for path, text := range files {
		local[strings.TrimPrefix(path, "/")] = text
	}
	return local
}

// TestSecondRunSkips checks that a second run needs no server for what the first verified, and fetches again what was
// changed or removed.
func TestSecondRunSkips(t *testing.T) {
	files := randomFiles(40)
	s := newStand(t, files, testserver.Options{})
	tasks := s.tasks(files)
	if got := s.run(t.Context(), tasks...); !got.Whole() || got.Complete != 40 || got.Before != 0 {
		t.Fatalf("first run: %+v, %q", got, s.failures())
	}
	s.compare(below(files))
	conns := s.srv.Connections()
	if conns > 4 {
		t.Errorf("%d connections, want at most 4", conns)
	}
	if got := s.run(t.Context(), tasks...); !got.Whole() || got.Before != 40 || got.Received != 0 {
		t.Errorf("second run: %+v, %q", got, s.failures())
	}
	if n := s.srv.Connections() - conns; n != 0 {
		t.Errorf("the second run made %d connections", n)
	}
	if err := os.Remove(filepath.Join(s.dir, "d0", "f000")); err != nil {
		t.Fatal(err)
	}
	if got := s.run(t.Context(), tasks...); !got.Whole() || got.Before != 39 {
		t.Errorf("third run: %+v, %q", got, s.failures())
	}
	s.compare(below(files))
}

// TestWithoutLedger checks that a digest alone shows that a file is there.
func TestWithoutLedger(t *testing.T) {
	files := randomFiles(10)
	s := newStand(t, files, testserver.Options{})
	tasks := s.tasks(files)
	s.run(t.Context(), tasks...)
	if err := os.Remove(filepath.Join(s.dir, ledgerName)); err != nil {
		t.Fatal(err)
	}
	conns := s.srv.Connections()
	if got := s.run(t.Context(), tasks...); !got.Whole() || got.Before != 10 || s.srv.Connections() != conns {
		t.Errorf("%+v, %q, %d more connections", got, s.failures(), s.srv.Connections()-conns)
	}
}

// TestChangedFileIsNotBelieved checks that the ledger does not speak for a file that someone has changed since.
func TestChangedFileIsNotBelieved(t *testing.T) {
	s := newStand(t, map[string]string{"/f": "right"}, testserver.Options{})
	task := batch.Task{Item: manifest.Item{URLs: []*urlparse.URL{s.url("/f")}, Path: "f"}}
	if got := s.run(t.Context(), task); !got.Whole() {
		t.Fatalf("%+v, %q", got, s.failures())
	}
	if err := os.WriteFile(filepath.Join(s.dir, "f"), []byte("wrong"), 0o644); err != nil { // of the same size
		t.Fatal(err)
	}
	if got := s.run(t.Context(), task); got.Failed != 1 || !errors.Is(s.outcomes[0].Err, fs.ErrExist) {
		t.Errorf("%+v, %q", got, s.failures())
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
			if got := s.run(t.Context(), s.tasks(files)...); !got.Whole() || got.Complete != 60 {
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
	if err := s.srv.Close(); err != nil {
		t.Fatal(err)
	}
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
			s := newStand(t, map[string]string{"/big": big}, testserver.Options{Fault: func(p *testserver.Conn) testserver.Action {
				if p.Verb == "USER" && p.Num > allowed && p.Open > allowed {
					return testserver.Do(testserver.Reply("421 Too many connections (4) from this IP"), testserver.End(testserver.Closed))
				}
				return nil
			}})
			s.options.Each.Segments = 4
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
