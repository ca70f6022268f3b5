package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// TestStatus has failed files, and a worker that leaves the host. status must say how many files failed, where and why.
func TestStatus(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	srv, _ := strict(t, 20, nil)
	name := mine(t, srv, 22) // two of them do not exist
	id := s.want(0, "add", "--per-host", "2", name)
	broken, end := s.starts("broken", t.TempDir(), "wrong", 1)
	eventually(t, "the worker leaves", func() bool { return strings.Contains(broken.String(), "leaves") })
	eventually(t, "status has the cause", func() bool {
		return strings.Contains(s.want(0, "status", id), "  broken: ftp://me@"+srv.Addr()+"/")
	})
	s.starts("whole", t.TempDir(), "right", 1)
	s.want(78, "wait", id)
	got := s.want(0, "status", id)
	if !strings.Contains(got, "\n  2 failed: exit code 78, "+srv.Addr()+" on whole") {
		t.Errorf("got %s", got)
	}
	var told state
	must.Do(t, json.Unmarshal([]byte(s.want(0, "status", "--json", id)), &told))
	if told.By["78 "+srv.Addr()+" whole"] != 2 || told.Left != 0 || len(told.By) != 1 {
		t.Errorf("got %+v", told)
	}
	end()
}

func TestLeft(t *testing.T) {
	for _, tt := range []struct {
		s    state
		want int64
		text string
	}{
		{state{}, 0, "0 of 0 files"},
		{state{job: job{Files: 10, Chunks: 1, Size: -1}}, -1, "10 files, 0 B, 0 files/s"},
		{state{job: job{Files: 10, Chunks: 1, Size: -1}, tally: tally{Ended: 4}, PerSec: 2}, 3, "3s left"},
		{state{job: job{Files: 10, Chunks: 1, Size: 1000}, tally: tally{Bytes: 400}, PerSec: 2, Rate: 10}, 60, "1m0s left"},
		{state{job: job{Files: 10, Chunks: 1, Size: 1000}, tally: tally{Bytes: 2000}, Rate: 10}, 0, "0s left"},
		{state{job: job{Files: 1 << 62, Chunks: 1}, PerSec: 0.01}, 1e9, " left"},
	} {
		tt.s.Left = tt.s.left()
		if tt.s.Left != tt.want || !strings.Contains(tt.s.text(), tt.text) {
			t.Errorf("%+v: %d: %s", tt.s, tt.s.Left, tt.s.text())
		}
	}
}

// TestPace does a hundred files a second, then one in ten seconds, as when only a slow host is left.
func TestPace(t *testing.T) {
	var p pace
	now := time.Now()
	var files int64
	var perSec float64
	at := func(more int64) {
		files += more
		_, perSec = p.add(now, 1000*files, files)
		now = now.Add(beat)
	}
	at(0)
	if perSec != 0 {
		t.Errorf("at the beginning %g files a second", perSec)
	}
	for range 10 {
		at(400)
	}
	if perSec != 100 {
		t.Errorf("%g files a second, want 100", perSec)
	}
	for range 5 {
		at(2)
	}
	if rate, _ := p.add(now, 1000*(files+2), files+2); perSec != 0.5 || rate != 500 {
		t.Errorf("%g files and %g bytes a second, want 0.5 and 500", perSec, rate)
	}
}

// TestDetails has more kinds of failures than a terminal has lines.
func TestDetails(t *testing.T) {
	s := state{Troubles: []string{"w: why"}}
	s.By = make(map[string]int64)
	for i := range 30 {
		s.By[fmt.Sprintf("%d h:21 w%d", i, i)] = int64(100 + i)
	}
	lines := s.details()
	if len(lines) != mostDetails+2 || lines[0] != "129 failed: exit code 29, h:21 on w29" || !strings.Contains(lines[mostDetails], "10 such") {
		t.Errorf("got %q", lines)
	}
}

// TestLog reads the log that a worker writes for programs.
func TestLog(t *testing.T) {
	t.Parallel()
	s, srv := newStand(t), newFTP(t, 3, 9, testserver.Options{})
	id := s.want(0, "add", srv.list(t, 3, srv.URL("/d/none")))
	ctx, stop := context.WithCancel(t.Context())
	var said bytes.Buffer
	var all sync.WaitGroup
	all.Go(func() {
		args := []string{"work", "--join", s.file, "-d", t.TempDir(), "-j", "1", "--json", "--name", "me"}
		execute(ctx, args, &command{err: &said})
	})
	s.want(78, "wait", id)
	stop()
	all.Wait()
	found := false
	for line := range strings.Lines(said.String()) {
		var m map[string]any
		must.Do(t, json.Unmarshal([]byte(line), &m))
		if m["msg"] == "a file has failed" {
			found = m["job"] == id && m["host"] == srv.Addr() && m["file"] == "none" && m["worker"] == "me" && m["chunk"] != "" &&
				strings.Contains(fmt.Sprint(m["cause"]), "not found")
		}
	}
	if !found {
		t.Errorf("the log is %s", said.String())
	}
}

// TestOwnCaps has ceilings of another egress. A worker must not receive them.
func TestOwnCaps(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	w := s.worker("w")
	for _, key := range []string{"there.h.0", "here.h.0"} {
		must.Get(w.fleet.caps.Put(t.Context(), key, []byte("{}")))(t)
	}
	eventually(t, "its own", func() bool { return len(w.caps.names()) > 0 })
	if got := w.caps.names(); len(got) != 1 || got[0] != "here.h.0" {
		t.Errorf("got %q", got)
	}
}
