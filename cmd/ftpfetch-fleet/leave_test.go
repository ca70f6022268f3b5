package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/afero"

	"example.com/ftpfetch/cmd/internal/cli/report"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// saying is a writer for concurrent use.
type saying struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *saying) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(data)
}

func (s *saying) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// starts starts a worker with its own password, and returns its output. The worker ends with the test, or when end is
// called.
func (s *stand) starts(name, dir, password string, lanes int) (said *saying, end func()) {
	file := filepath.Join(s.TempDir(), "netrc")
	password = cmp.Or(password, "none")
	must.Do(s.T, os.WriteFile(file, []byte("machine 127.0.0.1 login me password "+password+"\n"), 0o600))
	return s.startsWith(file, name, dir, lanes)
}

// startsWith is starts with a netrc file.
func (s *stand) startsWith(file, name, dir string, lanes int) (said *saying, end func()) {
	said = new(saying)
	w := must.Get(newWorker(&command{dir: dir, name: name, egress: "e", err: io.MultiWriter(said, s.Output())}))(s.T)
	w.netrc.name = file
	must.Get(w.netrc.read())(s.T)
	w.doubt = cmp.Or(s.doubt, time.Hour)
	if s.fetch != nil {
		w.fetch = s.fetch(w)
	}
	r := newBroadcast()
	w.fleet = must.Get((&command{join: s.file, role: "work"}).dial(s.Context(), name, patience, r.ring))(s.T)
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { _ = w.run(ctx, lanes, 0, r) })
	end = sync.OnceFunc(func() {
		stop()
		all.Wait()
		w.Close()
		w.root.Close()
	})
	s.Cleanup(end)
	return said, end
}

// strict returns a server that requires the password "right", and counts wrong ones.
func strict(t *testing.T, files int, fault func(*testserver.Conn) testserver.Action) (srv *ftpServer, bad *atomic.Int64) {
	bad = new(atomic.Int64)
	o := testserver.Options{Users: map[string]string{"me": "right"}, Fault: func(c *testserver.Conn) testserver.Action {
		if c.Verb == "PASS" && c.Arg != "right" && !strings.Contains(c.Arg, "@") {
			bad.Add(1)
		}
		if fault != nil {
			return fault(c)
		}
		return nil
	}}
	return newFTP(t, files, 99, o), bad
}

// mine writes a list of files whose URLs have a user name.
func mine(t *testing.T, srv *ftpServer, files int) string {
	var text strings.Builder
	for i := range files {
		fmt.Fprintln(&text, srv.URL(fmt.Sprintf("me@/d/%06d", i)))
	}
	name := filepath.Join(t.TempDir(), "list")
	must.Do(t, os.WriteFile(name, []byte(text.String()), 0o600))
	return name
}

// TestBrokenNode has three workers, one with a wrong password. That worker must leave the host after a few logins and
// say so, and the others must fetch all files.
func TestBrokenNode(t *testing.T) {
	t.Parallel()
	const files = 600
	s := newStand(t)
	left, open := gate()
	defer open()
	srv, bad := strict(t, files, func(c *testserver.Conn) testserver.Action {
		if c.Verb == "RETR" {
			<-left // otherwise the others may be done before
		}
		return nil
	})
	s.want(0, "add", "--per-host", "12", mine(t, srv, files))
	for _, name := range []string{"a", "b"} {
		s.starts(name, t.TempDir(), "right", 4)
	}
	said, _ := s.starts("broken", t.TempDir(), "wrong", 4)
	eventually(t, "the worker says that it leaves", func() bool { return strings.Contains(said.String(), "leaves") })
	open()
	if got := facts(s.want(0, "wait", "--json")); got != fmt.Sprintf("done %d %d 0 0", files, files) {
		t.Error(got)
	}
	if n := bad.Load(); n == 0 || n > mostBad {
		t.Errorf("%d refused logins", n)
	}
	if text := said.String(); strings.Count(text, "leaves") != 1 || !strings.Contains(text, srv.Addr()) {
		t.Errorf("the worker says %s", text)
	}
	s.everyOnce(files, 0)
}

// everyOnce checks that the report has each file once.
func (s *stand) everyOnce(complete, failed int) {
	s.Helper()
	met := make(map[int]bool)
	got := make(map[string]int)
	for line := range strings.Lines(s.want(0, "report")) {
		var row report.Row
		must.Do(s.T, json.Unmarshal([]byte(line), &row))
		if met[row.Line] {
			s.Errorf("twice in the report: %s", line)
		}
		met[row.Line] = true
		got[row.Status]++
	}
	if got["complete"]+got["before"] != complete || got["failed"] != failed {
		s.Errorf("the report has %v, want %d complete and %d failed", got, complete, failed)
	}
}

// TestNobody has only workers with a wrong password. All files must fail, after a few logins.
func TestNobody(t *testing.T) {
	t.Parallel()
	const files = 300
	s := newStand(t)
	s.doubt = time.Second
	srv, bad := strict(t, files, nil)
	s.want(0, "add", "--per-host", "12", mine(t, srv, files))
	for _, name := range []string{"a", "b"} {
		s.starts(name, t.TempDir(), "wrong", 3)
	}
	if got := facts(s.want(67, "wait", "--json")); got != fmt.Sprintf("done %d 0 %d 67", files, files) {
		t.Error(got)
	}
	if n := bad.Load(); n > 2*mostBad {
		t.Errorf("%d refused logins", n)
	}
	s.everyOnce(0, files)
}

// TestTwoUsers has files of a user whose login succeeds, and of a user for whom the only worker has no password.
func TestTwoUsers(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.doubt = time.Second
	srv, bad := strict(t, 20, nil)
	var list strings.Builder
	for i := range 20 {
		user := "me@"
		if i%2 == 1 {
			user = ""
		}
		fmt.Fprintln(&list, srv.URL(user+fmt.Sprintf("/d/%06d", i)))
	}
	name := filepath.Join(t.TempDir(), "list")
	must.Do(t, os.WriteFile(name, []byte(list.String()), 0o600))
	s.want(0, "add", name)
	s.starts("a", t.TempDir(), "wrong", 2)
	if got := facts(s.want(67, "wait", "--json")); got != "done 20 10 10 67" {
		t.Error(got)
	}
	if n := bad.Load(); n > mostBad {
		t.Errorf("%d refused logins", n)
	}
}

// TestLocal has a worker that cannot save some of the files. They must not be lost while there is another worker, and
// must fail if there is none.
func TestLocal(t *testing.T) {
	t.Parallel()
	for _, alone := range []bool{true, false} {
		t.Run(fmt.Sprint("alone ", alone), func(t *testing.T) {
			t.Parallel()
			s, srv, dir := newStand(t), newFTP(t, 12, 9, testserver.Options{}), t.TempDir()
			lines := []string{"url\tpath"}
			for i := range 12 {
				lines = append(lines, fmt.Sprintf("%s\t%d/f%d", srv.URL(fmt.Sprintf("/d/%06d", i)), i%3, i))
			}
			list := filepath.Join(t.TempDir(), "list.tsv")
			must.Do(t, os.WriteFile(list, []byte(strings.Join(lines, "\n")), 0o600))
			must.Do(t, os.WriteFile(filepath.Join(dir, "1"), nil, 0o600)) // a file in place of a directory
			s.want(0, "add", "--per-host", "4", list)
			if alone {
				s.doubt = time.Second
			}
			s.starts("a", dir, "", 2)
			code, want := 23, "done 12 8 4 23"
			if !alone {
				s.starts("b", t.TempDir(), "", 1)
				code, want = 0, "done 12 12 0 0"
			}
			if got := facts(s.want(code, "wait", "--json")); got != want {
				t.Error(got)
			}
		})
	}
}

// TestRetry has files that do not exist at first. retry must fetch them, a second retry is refused, and add must accept
// the list of failed files.
func TestRetry(t *testing.T) {
	t.Parallel()
	const files = 40
	s := newStand(t)
	fs := afero.NewMemMapFs()
	srv := newFTP(t, 0, 9, testserver.Options{FS: afero.NewIOFS(fs)})
	write := func(missing bool) {
		for i := range files {
			if (i%4 == 1) == missing {
				must.Do(t, afero.WriteFile(fs, fmt.Sprintf("/d/%06d", i), []byte(contents(i)), 0o666))
			}
		}
	}
	write(false)
	id := s.want(0, "add", "-N", srv.list(t, files))
	s.want(2, "retry", id) // the job is not done
	s.starts("a", t.TempDir(), "", 2)
	s.want(78, "wait", id)
	s.everyOnce(30, 10)
	list := s.want(0, "report", "--failed", id)
	file := filepath.Join(t.TempDir(), "failed")
	must.Do(t, os.WriteFile(file, []byte(list), 0o600))
	other := s.want(0, "add", "-N", file)
	if got := facts(s.want(78, "wait", other, "--json")); got != "done 10 0 10 78" {
		t.Error(got)
	}
	s.want(0, "retry", id)
	if got := facts(s.want(78, "wait", id, "--json")); got != "done 40 30 10 78" {
		t.Errorf("retried in vain: %s", got)
	}
	write(true)
	s.want(0, "retry", id)
	if got := facts(s.want(0, "wait", id, "--json")); got != "done 40 40 0 0" {
		t.Error(got)
	}
	if rows := s.want(0, "report", id); strings.Count(rows, "\n")+1 != files || strings.Contains(rows, "failed") {
		t.Errorf("the report is %s", rows)
	}
	s.want(2, "retry", id) // nothing has failed
	if again := s.want(0, "report", "--failed", id); again != "" {
		t.Errorf("failed are still %s", again)
	}
}

// TestSameAddress has two workers behind one address, one of them without --egress.
func TestSameAddress(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.starts("first", t.TempDir(), "", 1)
	w := s.worker("second")
	said := new(saying)
	w.line = func(format string, args ...any) { fmt.Fprintf(said, format, args...) }
	eventually(t, "the first one", func() bool { return must.Get(w.presences(t.Context()))(t)["first"].From != "" })
	w.warnEgress("127.0.0.1")
	if said.String() != "" {
		t.Errorf("it has an egress, and says %s", said.String())
	}
	w.guessed = true
	w.warnEgress("127.0.0.1")
	if !strings.Contains(said.String(), "--egress") || !strings.Contains(said.String(), "worker first") {
		t.Errorf("it says %q", said.String())
	}
}
