package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// holding returns a server whose transfers wait until open is called.
func holding(t *testing.T, files int) (srv *ftpServer, open func()) {
	hold, open := gate()
	srv = newFTP(t, files, 99, testserver.Options{Fault: func(c *testserver.Conn) testserver.Action {
		if c.Verb == "RETR" {
			<-hold
		}
		return nil
	}})
	return srv, open
}

// TestPause pauses a job in the middle of a chunk. The files that lanes hold must be fetched, and no others until the
// job is resumed. Meanwhile another job must continue.
func TestPause(t *testing.T) {
	t.Parallel()
	const files = 600 // several in each chunk
	s := newStand(t)
	srv, open := holding(t, files)
	defer open()
	id := s.want(0, "add", "--per-host", "2", srv.list(t, files))
	s.starts("w", t.TempDir(), "", 2)
	eventually(t, "two transfers", func() bool { return srv.files.Load() == 2 })
	s.want(0, "pause", id)
	w := s.worker("looks")
	var j job
	eventually(t, "the worker can know", func() bool { j, _ = valueOf[job](w.lists, id); return j.State == "paused" })
	<-time.After(slotTTL / 4)
	open()
	other := newFTP(t, 0, 9, testserver.Options{Tree: map[string]string{"/d/other": "x"}})
	s.want(0, "wait", s.want(0, "add", other.list(t, 0, other.URL("/d/other"))))
	eventually(t, "no lane has a file", func() bool { return w.slotsInUse(t) == 0 })
	if n := srv.files.Load(); n < 2 || n > 2+2*2 {
		t.Errorf("%d files of a paused job were begun", n)
	}
	if got := s.want(0, "status", id); !strings.Contains(got, "paused") {
		t.Errorf("status: %s", got)
	}
	s.want(2, "delete", id)
	s.want(0, "resume", id)
	if got := facts(s.want(0, "wait", "--json", id)); got != fmt.Sprintf("done %d %d 0 0", files, files) {
		t.Error(got)
	}
	if n := srv.files.Load(); n != files {
		t.Errorf("%d transfers of %d files", n, files)
	}
}

// TestPriority has a job that is added last and must be fetched first.
func TestPriority(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	srv := newFTP(t, 40, 9, testserver.Options{})
	s.want(0, "add", "--per-host", "1", srv.list(t, 20))
	list := srv.list(t, 0, srv.URL("/d/000030"), srv.URL("/d/000031"))
	urgent := s.want(0, "add", "--per-host", "1", "--priority", "5", list)
	w := s.worker("looks")
	eventually(t, "both queues", func() bool { return len(w.queues()) == 2 })
	if got := w.queues(); got[0].job != urgent || !w.first(got[0]) || w.first(got[1]) {
		t.Errorf("got %+v", got)
	}
	s.starts("w", t.TempDir(), "", 1)
	s.want(0, "wait", urgent)
	eventually(t, "all files", func() bool { return srv.files.Load() == 22 })
	var order []string // w has one lane, so they come one by one
	for _, line := range srv.Commands() {
		if name, ok := strings.CutPrefix(line, "RETR "); ok {
			order = append(order, name)
		}
	}
	slices.Sort(order[:2]) // add sends chunks concurrently
	if got := fmt.Sprint(order[:2]); got != "[000030 000031]" {
		t.Errorf("first came %s", got)
	}
}

// TestCap changes the bounds of a job's hosts while the job runs.
func TestCap(t *testing.T) {
	t.Parallel()
	const files = 60
	s := newStand(t)
	srv, open := holding(t, files)
	defer open()
	id := s.want(0, "add", "--per-host", "1", srv.list(t, files))
	s.starts("w", t.TempDir(), "", 4)
	eventually(t, "a transfer", func() bool { return srv.files.Load() == 1 })
	s.want(0, "cap", id, "--per-host", "3", "--limit-rate", "100M", "--hours=00-24")
	eventually(t, "three transfers", func() bool { return srv.files.Load() == 3 })
	open()
	s.want(0, "wait", id)
	if srv.peak.Load() != 3 {
		t.Errorf("%d connections", srv.peak.Load())
	}
	var now state
	must.Do(t, json.Unmarshal([]byte(s.want(0, "status", "--json", id)), &now))
	if got := fmt.Sprintf("%+v", now.bounds); got != "{PerHost:3 Rate:104857600 Hours:00-24}" {
		t.Errorf("got %s", got)
	}
	for _, args := range [][]string{{"cap", "--hours", "6"}, {"cap", "--hours", "06-25"}, {"cap", "--limit-rate", "much"},
		{"cap", "--per-host", "-1"}, {"cap", "--priority", "1"}, {"delete"}, {"resume", "nojob"}, {"add", "--hours=x", srv.list(t, 1)}, {"add", "--priority=x", srv.list(t, 1)}} {
		if _, errs, code := s.do(args[0], args[1:]...); code != 2 || strings.Count(errs, "\n") != 1 {
			t.Errorf("%v: exit code %d: %s", args, code, errs)
		}
	}
	if jobs := must.Get(s.worker("counts").jobsNow(t.Context()))(t); len(jobs) != 1 {
		t.Errorf("%d jobs", len(jobs))
	}
}

// TestHours has a host that may not be asked at first, and later may.
func TestHours(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		hours string
		at    int
		open  bool
	}{
		{"", 3, true}, {"20-06", 19, false}, {"20-06", 20, true}, {"20-06", 0, true}, {"20-06", 5, true}, {"20-06", 6, false},
		{"09-17", 8, false}, {"09-17", 9, true}, {"09-17", 17, false}, {"00-24", 23, true},
	} {
		if got := (bounds{Hours: tt.hours}).open(time.Date(2026, 1, 1, tt.at, 59, 59, 0, time.Local)); got != tt.open {
			t.Errorf("%s at %d: %v", tt.hours, tt.at, got)
		}
	}
	s, srv := newStand(t), newFTP(t, 3, 9, testserver.Options{})
	later := (time.Now().Hour() + 12) % 24
	id := s.want(0, "add", "--hours", fmt.Sprintf("%d-%d", later, (later+1)%24), srv.list(t, 3))
	s.starts("w", t.TempDir(), "", 1)
	w := s.worker("looks")
	eventually(t, "the queue", func() bool { return len(w.queued.names()) == 1 && len(w.hosts.names()) == 1 && w.caps.whole() })
	if got := w.queues(); len(got) != 0 {
		t.Errorf("the host is asked: %+v", got)
	}
	s.want(0, "cap", id, "--hours", "00-24")
	if got := facts(s.want(0, "wait", "--json")); got != "done 3 3 0 0" {
		t.Error(got)
	}
}

// TestRate has files of 300 KB in all, from a host with a rate of 100 KB a second, for two workers.
func TestRate(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	tree := make(map[string]string)
	var list []string
	for i := range 6 {
		tree[fmt.Sprintf("/d/big%d", i)] = strings.Repeat("x", 50_000)
	}
	srv := newFTP(t, 0, 9, testserver.Options{Tree: tree})
	for name := range tree {
		list = append(list, srv.URL(name))
	}
	s.want(0, "add", "--limit-rate", "100K", srv.list(t, 0, list...))
	begun := time.Now()
	for _, name := range []string{"a", "b"} {
		s.starts(name, t.TempDir(), "", 2)
	}
	s.want(0, "wait")
	if took := time.Since(begun); took < 2*time.Second {
		t.Errorf("300,000 bytes took %v", took)
	}
}

// TestDelete deletes a job that is done, and one that was cancelled while a worker had a file. Nothing of them may be
// left.
func TestDelete(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	srv, open := holding(t, 9)
	defer open()
	id := s.want(0, "add", "--per-host", "1", srv.list(t, 9))
	s.starts("w", t.TempDir(), "", 1)
	eventually(t, "a transfer", func() bool { return srv.files.Load() == 1 })
	s.want(2, "delete", id)
	s.want(0, "cancel", id)
	s.want(0, "delete", id)
	open()
	w := s.worker("looks")
	eventually(t, "the lane is done", func() bool { return w.slotsInUse(t) == 0 })
	other := newFTP(t, 2, 9, testserver.Options{})
	done := s.want(0, "add", "--expire", "1ns", other.list(t, 2))
	s.want(0, "wait", done)
	kept := s.want(0, "add", other.list(t, 2)) // this add removes the expired job
	s.want(0, "wait", kept)
	s.want(2, "status", done)
	s.want(0, "delete", kept)
	admin := s.admin()
	for _, stream := range []jetstream.Stream{admin.work, admin.results} {
		if info := must.Get(stream.Info(t.Context()))(t); info.State.Msgs != 0 || stream == admin.work && info.State.Consumers != 0 {
			t.Errorf("%s has %d messages and %d consumers", info.Config.Name, info.State.Msgs, info.State.Consumers)
		}
	}
	for _, kv := range []jetstream.KeyValue{w.jobs, w.fleet.queues, w.attempts} {
		if all := must.Get(readAll(t.Context(), admin, kv, jetstream.AllKeys))(t); len(all) != 0 {
			t.Errorf("%s has %v", kv.Bucket(), all)
		}
	}
}

// TestForgetTwice forgets a queue of which another has just forgotten the same, as the server does beside add and delete.
func TestForgetTwice(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	id := s.want(0, "add", newFTP(t, 1, 9, testserver.Options{}).list(t, 1))
	admin := s.admin()
	for key, e := range must.Get(readAll(t.Context(), admin, admin.queues, "*."+id))(t) {
		must.Do(t, admin.forget(t.Context(), key, e.rev))
		must.Do(t, admin.forget(t.Context(), key, e.rev))
	}
	must.Do(t, admin.remove(t.Context(), id))
	s.want(2, "status", id)
}

// TestRetire retires the queue of a job that is done. A retry must still find its files.
func TestRetire(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	var there atomic.Bool
	srv := newFTP(t, 3, 9, testserver.Options{Fault: func(c *testserver.Conn) testserver.Action {
		if c.Verb == "RETR" && !there.Load() {
			return testserver.Sequence(testserver.Reply("550 No such file"))
		}
		return nil
	}})
	id := s.want(0, "add", srv.list(t, 3))
	s.starts("w", t.TempDir(), "", 1)
	s.want(19, "wait", id)
	w := s.worker("looks")
	eventually(t, "no queue", func() bool { return w.queued.whole() && len(w.queued.names()) == 0 })
	there.Store(true)
	s.want(0, "retry", id)
	if got := facts(s.want(0, "wait", "--json", id)); got != "done 3 3 0 0" {
		t.Error(got)
	}
}

// TestRetireBusy retires queues: one of a job that is over, one of a job that is not, and one that was added again
// between two steps, whose consumer must exist.
func TestRetireBusy(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	f := s.admin()
	for id, state := range map[string]string{"over": "ready", "adding": "adding", "cancelled": "cancelled"} {
		j := &job{ID: id, State: state}
		must.Get(f.jobs.Create(t.Context(), j.ID, j.text()))(t)
		must.Do(t, f.meet(t.Context(), j, "h:21"))
		must.Do(t, f.send(t.Context(), &chunk{Job: j.ID, ID: "1", Host: "h:21"}))
	}
	must.Do(t, f.retire(t.Context(), make(map[string]*sum)))
	left := must.Get(readAll(t.Context(), f, f.queues, jetstream.AllKeys))(t)
	if _, ok := left[hostKey("h:21")+".adding"]; !ok || len(left) != 1 {
		t.Errorf("the queues are %v", left)
	}
	if info := must.Get(f.work.Info(t.Context()))(t); info.State.Msgs != 2 || info.State.Consumers != 1 {
		t.Errorf("%d chunks and %d consumers", info.State.Msgs, info.State.Consumers)
	}
	key := hostKey("h:21") + ".over"
	rev := must.Get(f.queues.PutString(t.Context(), key, "h:21"))(t)
	again := *f
	again.queues = &readding{KeyValue: f.queues, f: f}
	must.Do(t, again.forget(t.Context(), key, rev))
	must.Get(f.work.Consumer(t.Context(), consumerName(key)))(t)
}

// readding adds a queue again after it was removed.
type readding struct {
	jetstream.KeyValue
	f *fleet
}

func (r *readding) Purge(ctx context.Context, key string, o ...jetstream.KVDeleteOpt) error {
	err := r.KeyValue.Purge(ctx, key, o...)
	_, perr := r.f.queues.PutString(ctx, key, "h:21")
	return cmp.Or(err, perr, r.f.createConsumer(ctx, key))
}
