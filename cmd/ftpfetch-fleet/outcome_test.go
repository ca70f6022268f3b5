package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// send puts a message into a queue as add does, but changed by change.
func (s *stand) send(f *fleet, c *chunk, change func(*nats.Msg)) {
	s.Helper()
	msg := must.Get(f.message(c))(s.T)
	change(msg)
	must.Get(f.js.PublishMsg(s.Context(), msg))(s.T)
}

// TestUnreadable has chunks of which a worker cannot read some items, or any, among valid ones. Each file must have an
// outcome, and no unreadable one may count as complete.
func TestUnreadable(t *testing.T) {
	item := func(change string) func(*nats.Msg) {
		return func(m *nats.Msg) { m.Data = bytes.Replace(m.Data, []byte(`{"u":`), []byte(change), 1) }
	}
	for name, tt := range map[string]struct {
		change   func(*nats.Msg)
		complete int
	}{
		"unknown digest": {item(`{"d":"sha9:00","u":`), 2}, "digest of another length": {item(`{"d":"md5:00","u":`), 2}, "malformed digest": {item(`{"d":"::","u":`), 2},
		"unknown scheme":           {func(m *nats.Msg) { m.Data = bytes.Replace(m.Data, []byte(`"ftp://`), []byte(`"sftp://`), 1) }, 2},
		"malformed URL":            {func(m *nats.Msg) { m.Data = bytes.Replace(m.Data, []byte(`"ftp://`), []byte(`"ftp://%zz`), 1) }, 2},
		"unknown field of an item": {item(`{"future":1,"u":`), 0}, "unknown term": {func(m *nats.Msg) {
			m.Data = bytes.Replace(m.Data, []byte(`"Existing":`), []byte(`"Future":1,"Existing":`), 1)
		}, 0},
		"no JSON": {func(m *nats.Msg) { m.Data = []byte("\xff") }, 0}, "nothing": {func(m *nats.Msg) { m.Data = nil }, 0}, "cut off": {func(m *nats.Msg) { m.Data = m.Data[:len(m.Data)/2] }, 0},
		"fewer files": {func(m *nats.Msg) {
			m.Header.Set(chunkHeader, strings.Replace(m.Header.Get(chunkHeader), " 3", " 4", 1))
		}, 0},
		"another job":              {func(m *nats.Msg) { m.Data = bytes.Replace(m.Data, []byte(`{"job":"`), []byte(`{"job":"x`), 1) }, 0},
		"a number of another type": {item(`{"s":"big","u":`), 0}, "a size beyond 64 bits": {item(`{"s":18446744073709551616,"u":`), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, srv := newStand(t), newFTP(t, 3, 3, testserver.Options{})
			j := &job{ID: "abcdefgh", State: "ready", Files: 3, Chunks: 1}
			must.Get(s.admin().jobs.Create(t.Context(), j.ID, j.text()))(t)
			must.Do(t, s.admin().meet(t.Context(), &job{ID: j.ID, bounds: bounds{PerHost: 2}}, srv.Addr()))
			c := &chunk{Job: j.ID, ID: "1", Host: srv.Addr()}
			for i := range 3 {
				c.Items = append(c.Items, item1(t, srv, i))
			}
			files := int64(3)
			s.send(s.admin(), c, tt.change)
			if name == "fewer files" {
				files = 4
				j.Files = 4
				must.Get(s.admin().jobs.Put(t.Context(), j.ID, j.text()))(t)
			}
			ctx, stop := context.WithCancel(t.Context())
			var all sync.WaitGroup
			all.Go(func() {
				execute(ctx, []string{"work", "--join", s.file, "-d", t.TempDir(), "-j", "1"}, &command{err: t.Output()})
			})
			out, _, code := s.do("wait", "--json")
			stop()
			all.Wait()
			var got state
			must.Do(t, json.Unmarshal([]byte(out), &got))
			if got.State != "done" || got.Ended != files || got.Complete != int64(tt.complete) || got.Failed != files-int64(tt.complete) || code == 0 {
				t.Errorf("exit code %d: %s", code, out)
			}
			if rows := s.want(0, "report"); !strings.Contains(rows, "one version") {
				t.Errorf("the report is %s", rows)
			}
		})
	}
}

func item1(t *testing.T, srv *ftpServer, i int) item {
	return item{URLs: []string{srv.URL(fmt.Sprintf("/d/%06d", i))}, Path: fmt.Sprint(i), Line: i + 1}
}

// TestShort has results with fewer files than were added. The job must not count as done.
func TestShort(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	w := s.worker("w")
	for i, tt := range []tally{{}, {Ended: 1, Complete: 1}, {Ended: 2, Complete: 2}, {Ended: 4, Complete: 4}, {Ended: -3, Complete: 3}} {
		j := &job{ID: fmt.Sprint("job", i), State: "ready", Files: 3, Chunks: 1}
		must.Get(s.admin().jobs.Create(t.Context(), j.ID, j.text()))(t)
		o := newOutcome(w, new(chunk))
		o.tally = tt
		w.publish(&chunk{Job: j.ID, ID: "1"}, o)
		if got := s.want(43, "wait", j.ID); !strings.Contains(got, "incomplete") || !strings.Contains(got, "of 3 files") {
			t.Errorf("%+v: %s", tt, got)
		}
	}
}

// TestLedgerFails has a ledger that cannot be used, at the first try of a chunk or at a later one. The worker must
// leave the chunk to another one, which completes all of its files.
func TestLedgerFails(t *testing.T) {
	for _, later := range []bool{false, true} {
		t.Run(fmt.Sprint("later ", later), func(t *testing.T) {
			t.Parallel()
			s, dir := newStand(t), t.TempDir()
			broken := filepath.Join(dir, s.worker("w").ledger)
			var once sync.Once
			var full atomic.Bool
			srv := newFTP(t, 6, 9, testserver.Options{Fault: func(c *testserver.Conn) testserver.Action {
				switch {
				case later && c.Arg == "000003" && c.Verb == "RETR":
					once.Do(func() { full.Store(true); breakLedger(t, broken) })
					if full.Load() {
						return testserver.EndControl(testserver.Closed)
					}
				case c.Verb == "" && full.Load(): // the lane tries again
					return testserver.Sequence(testserver.Reply("421 Too many connections"), testserver.EndControl(testserver.Closed))
				}
				return nil
			}})
			if !later {
				breakLedger(t, broken)
			}
			s.want(0, "add", "--per-host", "2", srv.list(t, 6))
			if _, errs, code := s.do("work", "-d", dir, "--shared", "-j", "1", "--name", "first"); code != 23 {
				t.Errorf("exit code %d: %s", code, errs)
			}
			if _, out, _ := s.do("status"); strings.Contains(out, "done") {
				t.Error(out)
			}
			full.Store(false)
			must.Do(t, os.Remove(broken))
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			go execute(ctx, []string{"work", "--join", s.file, "-d", dir, "--shared", "-j", "1", "--name", "second"}, &command{err: io.Discard})
			if got := facts(s.want(0, "wait", "--json")); got != "done 6 6 0 0" {
				t.Error(got)
			}
			compare(t, dir, 6)
		})
	}
}

// breakLedger makes a ledger that not even root can open for writing: it is a program that is running.
func breakLedger(t *testing.T, name string) {
	t.Helper()
	program := must.Get(os.ReadFile(must.Get(exec.LookPath("sleep"))(t)))(t)
	must.Do(t, os.WriteFile(name+"~", program, 0o755))
	c := exec.Command(name+"~", "1000")
	must.Do(t, c.Start())
	t.Cleanup(func() { kill(c) })
	must.Do(t, os.Rename(name+"~", name))
}

// TestTwice has lists that name files twice. Each entry of the list must have an outcome.
func TestTwice(t *testing.T) {
	t.Parallel()
	s, srv := newStand(t), newFTP(t, 3, 3, testserver.Options{})
	a, b := srv.URL("/d/000000"), srv.URL("/d/000001")
	list := filepath.Join(t.TempDir(), "list.tsv")
	must.Do(t, os.WriteFile(list, []byte(strings.Join([]string{"url\tpath", a + "\tx", a + "\tx", b + "\ty", a + "\tx", b + "\ty"}, "\n")), 0o600))
	s.want(0, "add", list)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go execute(ctx, []string{"work", "--join", s.file, "-d", t.TempDir(), "-j", "1"}, &command{err: io.Discard})
	if got := facts(s.want(0, "wait", "--json")); got != "done 5 5 0 0" {
		t.Error(got)
	}
}

// TestLateChunk has a chunk that arrives after its job was cancelled, from an add that was then killed. No worker may
// fetch it.
func TestLateChunk(t *testing.T) {
	t.Parallel()
	s, srv := newStand(t), newFTP(t, 1, 3, testserver.Options{})
	j := &job{ID: "abcdefgh", State: "cancelled", Files: 1, Chunks: 1}
	must.Get(s.admin().jobs.Create(t.Context(), j.ID, j.text()))(t)
	must.Do(t, s.admin().meet(t.Context(), &job{ID: j.ID, bounds: bounds{PerHost: 2}}, srv.Addr()))
	s.send(s.admin(), &chunk{Job: j.ID, ID: "1", Host: srv.Addr(), Items: []item{item1(t, srv, 0)}}, func(*nats.Msg) {})
	s.want(0, "work", "-d", t.TempDir(), "--idle", "1s")
	if info := must.Get(s.admin().work.Info(t.Context()))(t); info.State.Msgs != 0 || srv.files.Load() != 0 {
		t.Errorf("%d chunks are left, %d files were fetched", info.State.Msgs, srv.files.Load())
	}
}

// TestOneWriter has workers with one name, and chunks that are delivered twice, in a shared directory without locks.
// Each attempt must have parts of its own, at whatever moment the next one begins.
func TestOneWriter(t *testing.T) {
	t.Parallel()
	s, dir := newStand(t), t.TempDir()
	var seen atomic.Int64
	hold, open := gate()
	defer open()
	srv := newFTP(t, 1, 9, testserver.Options{Fault: func(c *testserver.Conn) testserver.Action {
		if c.Verb == "RETR" && seen.Add(1) <= 3 {
			<-hold
		}
		return nil
	}})
	w := s.worker("looks")
	s.want(0, "add", "--per-host", "8", srv.list(t, 1))
	c := new(chunk)
	msg := must.Get(s.admin().work.GetMsg(t.Context(), 1))(t)
	must.Do(t, json.Unmarshal(msg.Data, c))
	for range 2 { // the chunk is delivered three times
		s.send(s.admin(), c, func(*nats.Msg) {})
	}
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			execute(ctx, []string{"work", "--join", s.file, "-d", dir, "--shared", "-j", "2", "--name", "same"}, &command{err: t.Output()})
		})
	}
	eventually(t, "three attempts", func() bool { return seen.Load() == 3 })
	attempts := must.Get(readAll(t.Context(), w.fleet, w.attempts, jetstream.AllKeys))(t)
	parts := must.Get(filepath.Glob(filepath.Join(dir, "*.part")))(t)
	if len(attempts) != 3 || len(parts) != 3 {
		t.Errorf("%d attempts, parts %q", len(attempts), parts)
	}
	open()
	s.want(0, "wait")
	eventually(t, "no part and no attempt", func() bool {
		left := must.Get(filepath.Glob(filepath.Join(dir, "*.ftpfetch.*")))(t)
		attempts := must.Get(readAll(t.Context(), w.fleet, w.attempts, jetstream.AllKeys))(t)
		return len(left)+len(attempts) == 0
	})
	stop()
	all.Wait()
	compare(t, dir, 1)
}

// TestSweep has a file that another attempt completed while this one had a part of it, a file that this attempt has
// fetched, and a file that has failed. No attempt may leave anything behind.
func TestSweep(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	w := s.worker("w")
	w.shared = true
	c := &chunk{Job: "job", ID: "1", Items: []item{{Path: "a"}, {Path: "d/b"}, {Path: strings.Repeat("c", 250)}}}
	must.Do(t, w.root.Mkdir("d", 0o777))
	for _, inherits := range []bool{false, true} {
		must.Get(w.attempts.Create(t.Context(), c.id()+"killed", nil))(t)
		if !w.begin(c) {
			t.Fatal("not begun")
		}
		o := newOutcome(w, c)
		o.count(0, tally{Ended: 1, Complete: 1, Before: 1})
		o.count(1, tally{Ended: 1, Complete: 1})
		o.count(2, tally{Ended: 1, Failed: 1})
		c.inherits = inherits
		for at, i := range c.Items {
			for _, attempt := range []string{c.part(), part(c.id() + "killed")} {
				for _, name := range i.parts(attempt) {
					if at != 1 || inherits || attempt != c.part() {
						must.Do(t, w.root.WriteFile(name, nil, 0o666))
					}
				}
			}
		}
		must.Do(t, w.sweep(c, must.Get(w.attemptsAt(t.Context(), c))(t), o))
		for _, pattern := range []string{"*ftpfetch*", "d/*"} {
			if left := must.Get(fs.Glob(w.root.FS(), pattern))(t); len(left) > 0 {
				t.Errorf("inherits %v: left over are %q", inherits, left)
			}
		}
	}
}

// TestInherited ends a worker properly in the middle of a file. The next worker must resume its part. A worker that was
// killed must leave no part that another one writes to.
func TestInherited(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("0123456789abcdef", 1<<16)
	s, dir := newStand(t), t.TempDir()
	var stalled atomic.Bool
	srv := newFTP(t, 0, 9, testserver.Options{Tree: map[string]string{"/d/000000": big}, Fault: func(c *testserver.Conn) testserver.Action {
		if c.Verb == "RETR" && !stalled.Swap(true) {
			return testserver.EndDataAfter(int64(len(big)/2), testserver.Stalled)
		}
		return nil
	}})
	s.want(0, "add", "--per-host", "1", srv.list(t, 1))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int, 1) // buffered: the test may fail before it receives
	go func() {
		ended <- execute(ctx, []string{"work", "--join", s.file, "-d", dir, "--shared", "-j", "1"}, &command{err: t.Output()})
	}()
	eventually(t, "half of it", func() bool {
		parts, _ := filepath.Glob(filepath.Join(dir, "*.json"))
		return len(parts) == 1
	})
	stop()
	<-ended
	again, end := context.WithCancel(t.Context())
	defer end()
	go execute(again, []string{"work", "--join", s.file, "-d", dir, "--shared", "-j", "1"}, &command{err: io.Discard})
	s.want(0, "wait")
	if !slices.ContainsFunc(srv.Commands(), func(line string) bool { return strings.HasPrefix(line, "REST ") }) {
		t.Errorf("nobody resumed: %q", srv.Commands())
	}
	if got := string(must.Get(os.ReadFile(filepath.Join(dir, "000000")))(t)); got != big {
		t.Errorf("%d bytes are there", len(got))
	}
}

// TestNumbers gives add lists with impossible sizes. Nothing may overflow.
func TestNumbers(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	for _, a := range hostile {
		for _, b := range hostile {
			list := filepath.Join(t.TempDir(), "list.tsv")
			must.Do(t, os.WriteFile(list, []byte("url\tpath\tsize\nftp://h/a\ta\t"+a+"\nftp://h/b\tb\t"+b+"\n"), 0o600))
			out, errs, code := s.do("add", list)
			if code == 0 {
				j := must.Get(find(t.Context(), s.admin(), strings.TrimSpace(out)))(t)
				if j.Files != 2 || j.Size < -1 || !strings.Contains(s.want(0, "status", j.ID), "0 of 2 files") {
					t.Errorf("%s and %s: %+v", a, b, j)
				}
			} else if code != 3 || errs == "" {
				t.Errorf("%s and %s: exit code %d: %s", a, b, code, errs)
			}
		}
	}
}

// hostile are numbers at the limits of integer types.
var hostile = []string{"0", "-1", "2147483648", "4294967296", "4611686018427387904", "9223372036854775807", "9223372036854775808",
	"18446744073709551616", strings.Repeat("9", 40)}

func unzip(data []byte) []byte {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return data
	}
	text, _ := io.ReadAll(z)
	return text
}
