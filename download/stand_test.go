package download_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/local/ledger"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

const ledgerName = ledger.Name

// stand is a run against an embedded server.
type stand struct {
	*testing.T
	srv     *testserver.Server
	client  ftpexec.Client
	dir     string
	options download.RunOptions

	outcomes []download.Event // the Ended event of each task
}

// newStand returns a stand with a server for these files.
func newStand(t *testing.T, tree map[string]string, o testserver.Options) *stand {
	o.Tree, o.ModTime = tree, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := newClientStand(t)
	s.srv = testserver.New(t, &o)
	return s
}

// newClientStand returns a stand without a server.
func newClientStand(t *testing.T) *stand {
	s := &stand{T: t, dir: t.TempDir()}
	s.options = download.RunOptions{Jobs: 4, PerHost: 4, Each: download.Options{Retries: 3}}
	s.client.MaxIdle = 8
	return s
}

func atOnce(ctx context.Context, _ time.Duration) error { return context.Cause(ctx) }

// totals is what a run reported at its end.
type totals struct {
	download.Totals
	Before, Received, Size, Done int64
	err                          error
}

// Whole reports whether the run returned no error.
func (t totals) Whole() bool { return t.err == nil }

// run retrieves tasks into the stand's directory, with a ledger.
func (s *stand) run(ctx context.Context, tasks ...download.Task) (got totals) {
	s.Helper()
	root := must.Get(os.OpenRoot(s.dir))(s)
	defer root.Close()
	defer s.client.CloseIdleConnections()
	s.outcomes = nil
	at := map[*download.Task]int64{} // bytes
	o := s.options
	o.Each.Root, o.Ledger = root, ledgerName
	tell := o.Events
	o.Events = func(e download.Event) {
		switch {
		case e.Kind == download.Started:
			at[e.Task] = -1
		case e.Kind == download.Progress && e.Task == nil:
			got.Size, got.Done = e.Total, e.Done
		case e.Kind == download.Progress:
			if before, ok := at[e.Task]; ok && before >= 0 {
				got.Received += max(0, e.Done-before)
			}
			at[e.Task] = e.Done
		case e.Kind == download.Ended:
			s.outcomes = append(s.outcomes, e)
			if e.Result.Left != "" {
				got.Before++
			}
		}
		if tell != nil {
			tell(e)
		}
	}
	got.Totals, got.err = download.Run(ctx, &s.client, slices.Values(tasks), &o)
	if errors.Is(got.err, download.ErrLocal) && disk.Fault == nil {
		s.Error(got.err)
	}
	return got
}

// failures returns the outcomes of tasks that failed.
func (s *stand) failures() (all []string) {
	for _, o := range s.outcomes {
		if o.Err != nil {
			all = append(all, o.Task.Path+": "+o.Err.Error())
		}
	}
	return all
}

// links returns the number of links that were not followed.
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
	u := must.Get(urlparse.Parse(text))(t)
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

// tasks returns the tasks for the files of a tree, with digests.
func (s *stand) tasks(tree map[string]string) (tasks []download.Task) {
	for i, path := range slices.Sorted(maps.Keys(tree)) {
		sum := sha256.Sum256([]byte(tree[path]))
		tasks = append(tasks, download.Task{URLs: []*urlparse.URL{s.url(path)}, Path: strings.TrimPrefix(path, "/"), Line: i + 1,
			Size: new(int64(len(tree[path]))), Sum: digest.Sum{Algorithm: "sha256", Digest: sum[:]}})
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

// fileOf returns the task of a file.
func fileOf(u *urlparse.URL, path string) download.Task {
	return download.Task{URLs: []*urlparse.URL{u}, Path: path}
}

// shelf is a scripted server. The test writes the listings of its directories.
type shelf struct {
	verb     string            // the only command that lists: MLSD, LIST or NLST
	listings map[string]string // by the path of the directory
	files    map[string]string
	times    map[string]string // what MDTM tells, by path; without one, all files have the same time
	refuse   map[string]string // error replies for a listing or file, by path
	mounts   map[string]string // directories that show another directory
	hops     int               // how many mounts a path may cross; 0 means any number
	refusal  string            // the reply to a CWD that crosses more
}

// start starts the server. steps override what it does.
func (s shelf) start(t *testing.T, steps ...testserver.Step) *testserver.Server {
	return testserver.New(t, nil, append([]testserver.Step{s.step}, steps...)...)
}

// step adds the server's behavior to a connection.
func (s shelf) step(d *testserver.Dialogue) {
	testserver.Honest("")(d)
	cwd, hops := "/", 0
	arg := func(c *testserver.Conn) string {
		if strings.HasPrefix(c.Arg, "/") {
			return path.Clean(c.Arg)
		}
		return path.Join(cwd, c.Arg)
	}
	testserver.On("CWD", func(c *testserver.Conn) error {
		dir := arg(c)
		if c.Arg == "/" {
			hops = 0
		}
		if to, ok := s.mounts[dir]; ok {
			if hops++; s.hops > 0 && hops > s.hops {
				return testserver.Reply(s.refusal)(c)
			}
			dir = to
		}
		if _, ok := s.listings[dir]; !ok {
			return testserver.Reply("550 No such directory.")(c)
		}
		cwd = dir
		return testserver.Reply("250 Done.")(c)
	})(d)
	file := func(serve func(text string) testserver.Action) testserver.Action {
		return func(c *testserver.Conn) error {
			text, ok := s.files[arg(c)]
			if reply, no := s.refuse[arg(c)]; no || !ok {
				return testserver.Reply(cmp.Or(reply, "550 No such file."))(c)
			}
			return serve(text)(c)
		}
	}
	testserver.On("SIZE", file(func(text string) testserver.Action { return testserver.Reply("213 " + strconv.Itoa(len(text))) }))(d)
	testserver.On("MDTM", func(c *testserver.Conn) error {
		return file(func(string) testserver.Action {
			return testserver.Reply("213 " + cmp.Or(s.times[arg(c)], "20260102030405"))
		})(c)
	})(d)
	testserver.On("RETR", file(testserver.Transfer))(d)
	for _, verb := range []string{"MLSD", "LIST", "NLST"} {
		testserver.On(verb, testserver.Reply("502 Not implemented."))(d)
	}
	testserver.On(s.verb, func(c *testserver.Conn) error {
		if reply, no := s.refuse[cwd]; no {
			return testserver.Reply(reply)(c)
		}
		return testserver.Transfer(s.listings[cwd])(c)
	})(d)
}

// lines joins lines and ends each with CRLF.
func lines(text ...string) string { return strings.Join(text, "\r\n") + "\r\n" }
