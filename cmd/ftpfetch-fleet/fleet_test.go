package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"example.com/ftpfetch/cmd/internal/cli/report"
	"example.com/ftpfetch/download"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// TestJob has a list fetched by two workers that share a directory, and by two that do not.
func TestJob(t *testing.T) {
	const files = 600
	for _, shared := range []bool{true, false} {
		t.Run(fmt.Sprint("shared ", shared), func(t *testing.T) {
			t.Parallel()
			s, srv := newStand(t), newFTP(t, files, 3, testserver.Options{})
			id := s.want(0, "add", "--per-host", "3", srv.list(t, files, srv.URL("/d/nothere")))
			if got := s.want(0, "status", id); !strings.Contains(got, "0 of 601 files") {
				t.Errorf("status: %s", got)
			}
			root := t.TempDir()
			var all sync.WaitGroup
			for _, name := range []string{"a", "b"} {
				args := []string{"-d", filepath.Join(root, name), "--name", name, "--egress", "e", "--idle", "3s", "-j", "2"}
				if shared {
					args = append(args, "-d", root, "--shared")
				}
				all.Go(func() { s.do("work", args...) })
			}
			first := s.want(78, "wait", "--json")
			all.Wait()
			if second := s.want(78, "wait", id, "--json"); facts(second) != facts(first) {
				t.Errorf("a second wait tells\n%s, the first one\n%s", second, first)
			}
			if got := facts(first); got != "done 601 600 1 78" {
				t.Errorf("got %s", got)
			}
			table := filepath.Join(t.TempDir(), "r.tsv")
			s.want(0, "report", id, "-o", table)
			if n := strings.Count(string(must.Get(os.ReadFile(table))(t)), "\n"); n != files+2 {
				t.Errorf("the table has %d lines", n)
			}
			right := make(map[string]bool)
			for line := range strings.Lines(s.want(0, "report", id)) {
				var row report.Row
				must.Do(t, json.Unmarshal([]byte(line), &row))
				name, path, named := strings.Cut(row.Path, ":")
				if named == shared {
					t.Fatalf("the row names the worker, or does not: %s", line)
				}
				if row.Status == "failed" {
					continue
				}
				if shared {
					path = name
				}
				i := 0
				must.Get(fmt.Sscanf(filepath.Base(path), "%06d", &i))(t)
				if got, err := os.ReadFile(path); err != nil || string(got) != contents(i) {
					t.Errorf("%s is wrong: %v", path, err)
				}
				right[filepath.Base(path)] = true
			}
			if len(right) != files || srv.peak.Load() > 3 || srv.refused.Load() > 0 {
				t.Errorf("%d files, %d connections at once, %d refused", len(right), srv.peak.Load(), srv.refused.Load())
			}
		})
	}
}

// facts returns the part of a state that must be the same for everyone who waits.
func facts(text string) string {
	var s state
	_ = json.Unmarshal([]byte(text), &s)
	return fmt.Sprint(s.State, " ", s.Files, " ", s.Complete, " ", s.Failed, " ", s.Code)
}

// TestFull has a server that allows fewer connections than --per-host. The ceiling must fall without a failed file, and
// rise later.
func TestFull(t *testing.T) {
	t.Parallel()
	const files = 1200
	hold, open := gate()
	defer open()
	s, srv := newStand(t), newFTP(t, files, 3, testserver.Options{Fault: func(c *testserver.Conn) testserver.Action {
		if c.Verb == "RETR" && c.Transfer < 4 { // until the others were refused
			<-hold
		}
		return nil
	}})
	srv.linger.Store(0)
	s.want(0, "add", "--per-host", "6", srv.list(t, files))
	var all sync.WaitGroup
	all.Go(func() { s.do("work", "-d", t.TempDir(), "--egress", "here", "-j", "6", "--idle", "3s") })
	w := s.worker("looks")
	key := hostKey(srv.Addr())
	eventually(t, "a ceiling of 3 at most", func() bool { return srv.refused.Load() > 0 && w.limit(key) > 0 && w.limit(key) <= 3 })
	open()
	if got := facts(s.want(0, "wait", "--json")); got != "done 1200 1200 0 0" {
		t.Errorf("got %s", got)
	}
	all.Wait()
	w.setCeiling(t.Context(), "here."+key, func(c *ceiling) bool { c.Patient = 0; return true })
	var mine []*slot
	eventually(t, "a ceiling of 4", func() bool {
		was := w.limit(key)
		used := must.Get(w.used(t.Context(), key))(t) // some may be the worker's still
		if w.raise(t.Context(), key); w.limit(key) > was && used < was {
			t.Errorf("the ceiling of %d was raised with %d slots in use", was, used)
		}
		if s := w.acquire(t.Context(), key); s != nil {
			mine = append(mine, s)
		}
		return w.limit(key) >= 4
	})
	for _, s := range mine {
		s.release()
	}
	w.lower(t.Context(), key)
	eventually(t, "the ceiling of no slot", func() bool { return w.limit(key) == 1 })
	c, _ := valueOf[ceiling](w.caps, "here."+key)
	if c.Patient != 2*firstProbe || c.Probing {
		t.Errorf("got %+v", c)
	}
}

// TestSlot checks who has a slot when answers are lost, when the slot is taken away, and when the server is gone.
func TestSlot(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	w := s.worker("w")
	key := hostKey("h:21")
	must.Do(t, s.admin().meet(t.Context(), &job{ID: "job", bounds: bounds{PerHost: 2}}, "h:21"))
	eventually(t, "the host", func() bool { return w.limit(key) == 2 })
	a, b := w.acquire(t.Context(), key), w.acquire(t.Context(), key)
	if a == nil || b == nil || w.acquire(t.Context(), key) != nil {
		t.Fatal("not two slots")
	}
	// The answer to a renewal is lost: the revision is new, and the nonce the same.
	must.Get(w.fleet.slots.Put(t.Context(), a.key(), a.value()))(t)
	// Another worker has the slot.
	must.Get(w.fleet.slots.Put(t.Context(), b.key(), []byte("thief")))(t)
	eventually(t, "the end of a stolen slot", func() bool { return b.ctx.Err() != nil })
	b.release()
	must.Do(t, w.fleet.slots.Delete(t.Context(), b.key()))
	<-time.After(2 * slotTTL)
	if a.ctx.Err() != nil {
		t.Fatal("an answer was lost, and the slot with it")
	}
	a.release()
	c := w.acquire(t.Context(), key)
	if c == nil {
		t.Fatal("no free slot")
	}
	at := time.Now()
	s.hub.stop()
	<-c.ctx.Done()
	if took := time.Since(at); took > slotTTL {
		t.Errorf("without a server the slot was kept for %v", took)
	}
	address := s.hub.join.Address
	s.serve(address) // knows the slot, which has not expired or has, and nobody has two
	c.release()
	eventually(t, "two free slots", func() bool {
		a, b := w.acquire(t.Context(), key), w.acquire(t.Context(), key)
		for _, s := range []*slot{a, b} {
			if s != nil {
				s.release()
			}
		}
		return a != nil && b != nil
	})
}

// TestResult checks that a chunk has one result, no matter who fetches it and how often.
func TestResult(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	a, b := s.worker("a"), s.worker("b")
	c := &chunk{Job: "job", ID: "1"}
	if must.Get(a.known(c))(t) {
		t.Error("known before")
	}
	for i, w := range []*worker{a, b, a} {
		mine := *c // the copies do not know of each other
		o := newOutcome(w, &mine)
		o.tally = tally{Ended: int64(i + 1), Complete: int64(i + 1)}
		if !w.publish(&mine, o) {
			t.Error("not published")
		}
	}
	sum := new(sum)
	must.Do(t, sum.read(t.Context(), s.admin(), "job"))
	if sum.results != 1 || sum.Complete != 1 || !must.Get(b.known(c))(t) {
		t.Errorf("got %+v", sum)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	id := s.want(0, "add", newFTP(t, 0, 9, testserver.Options{}).list(t, 600))
	s.want(0, "cancel", id)
	if got := s.want(43, "wait"); !strings.Contains(got, "cancelled") {
		t.Errorf("got %s", got)
	}
	if info := must.Get(s.admin().work.Info(t.Context()))(t); info.State.Msgs != 0 {
		t.Errorf("%d chunks are left", info.State.Msgs)
	}
	for _, tt := range []struct {
		code int
		args []string
	}{
		{2, []string{"add", "-r", "ftp://h/d/"}}, {2, []string{"wait", "nojob"}}, {2, []string{"work"}}, {2, []string{"work", "-d", ".", "-j", "0"}},
		{23, []string{"add", "/no/such/list"}}, {0, []string{"add", "--version"}}, {3, []string{"add", newFTP(t, 0, 1, testserver.Options{}).list(t, 0, "ftp://h/%zz")}},
		{2, []string{"serve", "--dir", "d", "--listen", "nowhere"}}, {2, []string{"nothing"}}, {0, []string{"work", "-h"}}, {2, []string{"add", "--timeout=1m", "/no/such/list"}}, {2, []string{"status", "--nothing"}},
	} {
		s.want(tt.code, tt.args[0], tt.args[1:]...)
	}
}

// TestChunks checks what a chunk holds and how items are encoded.
func TestChunks(t *testing.T) {
	big, small := int64(600<<20), int64(1)
	task := func(url, path string, size *int64) (task download.Task) {
		task.URLs, task.Path, task.Size, task.Line = []*urlparse.URL{must.Get(urlparse.Parse(url))(t)}, path, size, 7
		return task
	}
	for name, tt := range map[string]struct {
		n     int
		task  download.Task
		lanes int
		want  int
	}{
		"files":      {6000, task("ftp://u:secret@h/%2Fa/b;type=a", "p", &small), 1, 24},
		"lanes":      {6000, task("ftp://h/a", "p", nil), 8, 65},
		"few files":  {200, task("ftp://h/a", "p", nil), 8, 67},
		"many lanes": {200, task("ftp://h/a", "p", nil), 100, 200},
		"bytes":      {4, task("ftp://h/a", "p\xff", &big), 1, 4},
		"text":       {12, task("ftp://h/"+strings.Repeat("x", 300<<10), "p", nil), 1, 12},
	} {
		t.Run(name, func(t *testing.T) {
			j, chunks, files := &job{ID: "j"}, 0, 0
			tasks := func(yield func(download.Task) bool) {
				for range tt.n {
					if !yield(tt.task) {
						return
					}
				}
			}
			p := must.Get(j.measure(tasks, tt.lanes))(t)
			defer p.close()
			for c, err := range p.chunks(j, "") {
				must.Do(t, err)
				chunks++
				files += len(c.Items)
				text := must.Get(new(fleet).messageOf(&c.chunk, c, len(c.Items)))(t).Data
				var back chunk
				must.Do(t, json.Unmarshal(text, &back))
				got := must.Get(back.Items[0].unpack())(t)
				want := tt.task
				if len(text) > mostText+1000 || strings.Contains(string(text), "secret") || got.Path != want.Path || got.Line != 7 ||
					got.URLs[0].String() != want.URLs[0].WithoutPassword().String() || (got.Size == nil) != (want.Size == nil) {
					t.Errorf("%d bytes: %+v, want %+v", len(text), got, want)
				}
			}
			if chunks != tt.want || files != tt.n || j.Files != int64(tt.n) {
				t.Errorf("%d chunks of %d files, want %d of %d", chunks, files, tt.want, tt.n)
			}
		})
	}
}

// TestExisting has an existing NATS, and workers behind two addresses, each of which may make one connection.
func TestExisting(t *testing.T) {
	t.Parallel()
	n := must.Get(server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoSigs: true}))(t)
	n.Start()
	t.Cleanup(func() { n.Shutdown(); n.WaitForShutdown() })
	s, files := &stand{T: t, file: filepath.Join(t.TempDir(), "join")}, 300
	must.Do(t, (&join{Address: n.ClientURL()}).write(s.file))
	together, open := gate()
	defer open()
	srv := newFTP(t, files, 2, testserver.Options{Fault: func(c *testserver.Conn) testserver.Action {
		if c.Open == 2 {
			open()
		}
		if c.Verb == "RETR" {
			<-together
		}
		return nil
	}})
	s.want(0, "add", "--per-host", "1", srv.list(t, files))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var all sync.WaitGroup
	for _, name := range []string{"a", "b"} {
		all.Go(func() {
			execute(ctx, []string{"work", "--join", s.file, "-d", t.TempDir(), "--egress", name, "-j", "3"}, &command{err: s.Output()})
		})
	}
	if got := facts(s.want(0, "wait", "--json")); got != "done 300 300 0 0" || srv.peak.Load() != 2 {
		t.Errorf("%s, %d connections at once", got, srv.peak.Load())
	}
	stop()
	all.Wait()
}

// TestAsksTogether adds a list again, whose files are here already. A worker asks about the files of a chunk in a few
// round trips.
func TestAsksTogether(t *testing.T) {
	t.Parallel()
	const files = 600
	s := newStand(t)
	srv := newFTP(t, files, 4, testserver.Options{Fault: func(c *testserver.Conn) testserver.Action {
		if c.Verb == "SIZE" {
			<-time.After(time.Millisecond) // a lane asks more slowly than it gets files
		}
		return nil
	}})
	list := srv.list(t, files)
	id := s.want(0, "add", "--per-host", "1", list)
	s.starts("a", t.TempDir(), "", 1)
	s.want(0, "wait", id)
	before, asked := len(srv.Flights()), len(srv.Commands())
	id = s.want(0, "add", "-N", list)
	if got := facts(s.want(0, "wait", id, "--json")); got != fmt.Sprintf("done %d %d 0 0", files, files) {
		t.Error(got)
	}
	verbs := make(map[string]int)
	for _, line := range srv.Commands()[asked:] {
		verb, _, _ := strings.Cut(line, " ")
		verbs[verb]++
	}
	if flights := len(srv.Flights()) - before; flights > files/2 || verbs["MDTM"] != files || verbs["RETR"] > 0 {
		t.Errorf("%d flights, and %v, for %d files", flights, verbs, files)
	}
}

// TestOtherHost has files whose first URL is dead. The second is on another host, for which the lane takes a slot too.
func TestOtherHost(t *testing.T) {
	t.Parallel()
	s, a, b := newStand(t), newFTP(t, 1, 9, testserver.Options{}), newFTP(t, 20, 1, testserver.Options{})
	lines := []string{"urls\tpath"}
	for i := range 20 {
		lines = append(lines, fmt.Sprintf("%s %s\t%d", a.URL("/d/none"), b.URL(fmt.Sprintf("/d/%06d", i)), i))
	}
	list := filepath.Join(t.TempDir(), "list.tsv")
	must.Do(t, os.WriteFile(list, []byte(strings.Join(lines, "\n")), 0o600))
	s.want(0, "add", "--per-host", "1", list)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var all sync.WaitGroup
	all.Go(func() {
		execute(ctx, []string{"work", "--join", s.file, "-d", t.TempDir(), "-j", "3", "--idle", "2s"}, &command{err: s.Output()})
	})
	s.want(0, "wait")
	all.Wait()
	if b.peak.Load() != 1 {
		t.Errorf("%d connections at once", b.peak.Load())
	}
}
