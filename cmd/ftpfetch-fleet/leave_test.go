package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/afero"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/internal/cli/netrc"
	"example.com/ftpfetch/internal/cli/report"
	"example.com/ftpfetch/internal/rules/must"
	"example.com/ftpfetch/testserver"
)

// saying is a writer for several goroutines.
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

// starts starts a worker with a password of its own, and returns what it says. It ends with the test, or with end.
func (s *stand) starts(name, dir, password string, lanes int) (said *saying, end func()) {
	said = new(saying)
	w := must.Get(newWorker(&command{dir: dir, name: name, egress: "e", err: io.MultiWriter(said, s.Output())}))(s.T)
	file := filepath.Join(s.TempDir(), "netrc")
	must.Do(s.T, os.WriteFile(file, []byte("machine 127.0.0.1 login me password "+cmp.Or(password, "none")+"\n"), 0o600))
	w.netrc = must.Get(netrc.Load(file))(s.T)
	w.doubt = cmp.Or(s.doubt, time.Hour)
	r := newBell()
	w.fleet = must.Get((&command{join: s.file}).dial(s.Context(), name, patience, r.ring))(s.T)
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

// strict is a server that wants the password "right", and counts wrong ones.
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

// mine is a list of files with a user name.
func mine(t *testing.T, srv *ftpServer, files int) string {
	var text strings.Builder
	for i := range files {
		fmt.Fprintln(&text, srv.URL(fmt.Sprintf("me@/d/%06d", i)))
	}
	name := filepath.Join(t.TempDir(), "list")
	must.Do(t, os.WriteFile(name, []byte(text.String()), 0o600))
	return name
}

// TestBrokenNode has one worker of three with a wrong password. It leaves the host after a few logins and says so, and
// the others fetch all files.
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

// everyOnce checks that the report has every file once.
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

// TestNobody has only workers with a wrong password. All files fail, after a few logins.
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

// TestTwoUsers has files of a user who is let in, and of one for whom the only worker has no password.
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

// TestLocal has a worker that cannot save some of the files. They are not lost while there is another one, and fail when
// there is none.
func TestLocal(t *testing.T) {
	t.Parallel()
	for _, alone := range []bool{true, false} {
		t.Run(fmt.Sprint("alone ", alone), func(t *testing.T) {
			t.Parallel()
			s, srv, dir := newStand(t), newFTP(t, 30, 9, testserver.Options{}), t.TempDir()
			lines := []string{"url\tpath"}
			for i := range 30 {
				lines = append(lines, fmt.Sprintf("%s\t%d/f%d", srv.URL(fmt.Sprintf("/d/%06d", i)), i%3, i))
			}
			list := filepath.Join(t.TempDir(), "list.tsv")
			must.Do(t, os.WriteFile(list, []byte(strings.Join(lines, "\n")), 0o600))
			must.Do(t, os.WriteFile(filepath.Join(dir, "1"), nil, 0o600)) // where a directory must be
			s.want(0, "add", "--per-host", "1", list)
			s.starts("a", dir, "", 2)
			code, want := 23, "done 30 20 10 23"
			if !alone {
				s.starts("b", t.TempDir(), "", 1)
				code, want = 0, "done 30 30 0 0"
			}
			if got := facts(s.want(code, "wait", "--json")); got != want {
				t.Error(got)
			}
		})
	}
}

// TestRetry has files that are not there at first. They come with retry, of which another one is refused, and the list of
// them is one that add takes.
func TestRetry(t *testing.T) {
	t.Parallel()
	const files = 40
	s := newStand(t)
	fs := afero.NewMemMapFs()
	srv := newFTP(t, 0, 9, testserver.Options{FS: fs})
	write := func(missing bool) {
		for i := range files {
			if (i%4 == 1) == missing {
				must.Do(t, afero.WriteFile(fs, fmt.Sprintf("/d/%06d", i), []byte(contents(i)), 0o666))
			}
		}
	}
	write(false)
	id := s.want(0, "add", "-N", srv.list(t, files))
	s.want(2, "retry", id) // it is not done
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

// TestSplit has attempts at a chunk that do not know of each other. What one has given away is in no other's result.
func TestSplit(t *testing.T) {
	t.Parallel()
	s, srv := newStand(t), newFTP(t, 6, 9, testserver.Options{})
	w := s.worker("w")
	j := &job{ID: "abcdefgh", State: "ready", Files: 6, Chunks: 1}
	must.Get(w.jobs.Create(t.Context(), j.ID, j.text()))(t)
	must.Do(t, w.meet(t.Context(), host{srv.Addr(), 2}))
	attempt := func() (*chunk, *outcome) {
		c := &chunk{Job: j.ID, ID: "1", Host: srv.Addr()}
		for i := range 6 {
			c.Items = append(c.Items, item1(t, srv, i))
		}
		return c, newOutcome(w, c)
	}
	complete := func(c *chunk, o *outcome) {
		for at := range c.Items {
			if !c.given[at] {
				o.count(at, tally{Ended: 1, Complete: 1})
			}
		}
	}
	frozen, old := attempt()
	c, o := attempt()
	if !w.split(c, []piece{{Items: []int{4, 5}}}) || !w.split(c, []piece{{Items: []int{1}, Not: []string{"x"}}, {Items: []int{3}}}) {
		t.Fatal("not split")
	}
	complete(frozen, old)
	if w.publish(frozen, old) {
		t.Error("an attempt that knows of no split has a result")
	}
	late, _ := attempt()
	if done := must.Get(w.known(late))(t); done || len(late.given) != 4 || !w.sendPieces(late) {
		t.Errorf("known: %v, given %v", done, late.given)
	}
	complete(c, o)
	if !w.publish(c, o) {
		t.Error("no result")
	}
	if done := must.Get(w.known(frozen))(t); !done {
		t.Error("the result is not known")
	}
	s.starts("a", t.TempDir(), "", 2)
	if got := facts(s.want(0, "wait", "--json")); got != "done 6 6 0 0" {
		t.Error(got)
	}
	for _, line := range srv.Commands() {
		if line == "RETR 000000" || line == "RETR 000002" {
			t.Errorf("fetched again: %s", line)
		}
	}
}

// TestLanes has lists that all lanes must have files of: each transfer waits until there is one on every lane.
func TestLanes(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]bool{"a list": false, "one chunk": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const files, lanes = 200, 8
			s := newStand(t)
			all, open := gate()
			defer open()
			srv := newFTP(t, files, lanes, testserver.Options{Fault: func(c *testserver.Conn) testserver.Action {
				if c.Verb == "RETR" {
					<-all
				}
				return nil
			}})
			if !one {
				s.want(0, "add", "--per-host", fmt.Sprint(lanes), srv.list(t, files))
			} else {
				w := s.worker("sends")
				j := &job{ID: "abcdefgh", State: "ready", Files: files, Chunks: 1}
				must.Get(w.jobs.Create(t.Context(), j.ID, j.text()))(t)
				must.Do(t, w.meet(t.Context(), host{srv.Addr(), lanes}))
				c := &chunk{Job: j.ID, ID: "1", Host: srv.Addr()}
				for i := range files {
					c.Items = append(c.Items, item1(t, srv, i))
				}
				s.send(w.fleet, c, func(*nats.Msg) {})
			}
			for i := range 4 {
				s.starts(fmt.Sprint("w", i), t.TempDir(), "", 2)
			}
			eventually(t, "a transfer on each lane", func() bool { return srv.files.Load() >= lanes })
			open()
			if got := facts(s.want(0, "wait", "--json")); got != fmt.Sprintf("done %d %d 0 0", files, files) {
				t.Error(got)
			}
			if srv.peak.Load() != lanes || srv.refused.Load() > 0 {
				t.Errorf("%d connections, %d refused", srv.peak.Load(), srv.refused.Load())
			}
		})
	}
}

// TestFeed checks how many files a lane has in advance, and that others get the rest.
func TestFeed(t *testing.T) {
	tasks := make([]batch.Task, 40)
	for i := range tasks {
		tasks[i].Line = i + 1
	}
	f := newFeed(tasks)
	f.begun = time.Now().Add(time.Hour) // nothing is known of the time
	for i := range 2 {
		if got, ok := f.next(t.Context()); !ok || got.Line != i+1 {
			t.Fatalf("got %+v", got)
		}
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	if got, ok := f.next(ended); ok {
		t.Errorf("a third one: %+v", got)
	}
	f.end()
	if got, ok := f.next(t.Context()); !ok || got.Line != 3 {
		t.Errorf("got %+v", got)
	}
	if got := f.take(); len(got) != 37 || got[0] != 3 {
		t.Errorf("taken are %v", got)
	}
	if _, ok := f.next(t.Context()); ok {
		t.Error("something is left")
	}
	f.ended = 4000
	f.begun = time.Now().Add(-time.Minute)
	if n := f.ahead(); n != 16 {
		t.Errorf("%d in advance of small files", n)
	}
}

// TestTerms names what of ftpfetch's options travels, and what does not. A new option must be in one of the lists.
func TestTerms(t *testing.T) {
	stays := map[string]string{
		"Root": "the worker's", "Segments": "refused by add", "Limit": "refused by add", "Size": "of the item", "Sum": "of the item",
		"Events": "set by batch", "Commit": "set by batch", "Jobs": "the worker's", "PerHost": "of the host", "Ledger": "the worker's",
		"Each": "looked at by itself",
	}
	travels := reflect.TypeFor[terms]()
	for _, options := range []reflect.Type{reflect.TypeFor[download.Options](), reflect.TypeFor[batch.Options]()} {
		for field := range options.Fields() {
			_, ok := travels.FieldByName(field.Name)
			if field.IsExported() && ok == (stays[field.Name] != "") {
				t.Errorf("%v.%s: does it travel?", options, field.Name)
			}
		}
	}
	var o batch.Options
	for field := range travels.Fields() {
		v := reflect.ValueOf(&o.Each).Elem().FieldByName(field.Name)
		if !v.IsValid() {
			v = reflect.ValueOf(&o).Elem().FieldByName(field.Name)
		}
		if v.Kind() == reflect.Bool {
			v.SetBool(true)
		} else {
			v.SetInt(7)
		}
	}
	sent := termsOf(o)
	arrived := reflect.ValueOf(sent.each(nil))
	for field := range travels.Fields() {
		if reflect.ValueOf(sent).FieldByName(field.Name).IsZero() {
			t.Errorf("%s is not sent", field.Name)
		}
		if v := arrived.FieldByName(field.Name); v.IsValid() && v.IsZero() {
			t.Errorf("%s does not arrive", field.Name)
		}
	}
}
