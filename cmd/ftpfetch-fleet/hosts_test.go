package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// inForce returns what status says that is in force at the only host.
func (s *stand) inForce() string {
	s.Helper()
	var now state
	must.Do(s.T, json.NewDecoder(strings.NewReader(s.want(0, "status", "--json"))).Decode(&now))
	if len(now.Hosts) != 1 {
		s.Fatalf("the hosts are %+v", now.Hosts)
	}
	h := now.Hosts[0]
	return fmt.Sprint(h.PerHost, " ", h.Rate, " ", h.Hours, " ", h.By)
}

// TestLimitsStay runs commands about a host that has limits. Only flags that were given may change one.
func TestLimitsStay(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	srv := newFTP(t, 3, 99, testserver.Options{})
	list := srv.list(t, 3, srv.URL("/d/none"))
	failed := s.want(0, "add", list)
	_, end := s.starts("w", t.TempDir(), "", 1)
	s.want(78, "wait", failed)
	end()
	first := s.want(0, "add", "--per-host", "11", "--limit-rate", "5M", list)
	second := ""
	for _, tt := range []struct{ args, want string }{
		{"", "11 5242880  add FIRST"},
		{"add", "11 5242880  add FIRST"},
		{"retry " + failed, "11 5242880  add FIRST"},
		{"add --priority 3", "11 5242880  add FIRST"},
		{"cap FIRST --per-host 3", "3 5242880  cap FIRST"},
		{"add --hours 00-24", "3 5242880 00-24 add SECOND"},
		{"pause FIRST", "3 5242880 00-24 add SECOND"},
		{"cap FIRST --limit-rate 6M", "3 6291456 00-24 cap FIRST"},
		{"add --per-host 1", "1 6291456 00-24 add SECOND"},
	} {
		if args := strings.Fields(strings.ReplaceAll(tt.args, "FIRST", first)); len(args) > 0 && args[0] == "add" {
			second = s.want(0, "add", append(args[1:], list)...)
		} else if len(args) > 0 {
			s.want(0, args[0], args[1:]...)
		}
		want := strings.NewReplacer("FIRST", first, "SECOND", second).Replace(tt.want)
		if got := s.inForce(); got != want {
			t.Errorf("after %q: %s, want %s", tt.args, got, want)
		}
	}
	if got := s.want(0, "status", second); !strings.Contains(got, "in force: --per-host 1 --limit-rate 6291456 --hours 00-24, since add "+second+" at ") {
		t.Errorf("status: %s", got)
	}
}

// TestShut has a host that refuses every connection with 421. status, the page and the metrics must say so, and the
// files must fail after the time of --give-up.
func TestShut(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	srv := newFTP(t, 20, 0, testserver.Options{})
	srv.linger.Store(0)
	id := s.want(0, "add", "--per-host", "2", "--give-up", "8s", srv.list(t, 20))
	for _, name := range []string{"a", "b"} {
		s.starts(name, t.TempDir(), "", 2)
	}
	eventually(t, "status says why", func() bool {
		got := s.want(0, "status", id)
		return strings.Contains(got, srv.Addr()+": refuses: ") && strings.Contains(got, "421") &&
			strings.Contains(got, ", since ") && strings.Contains(got, "its files fail at ")
	})
	answer := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:1/metrics", nil)
	s.hub.board.handler(true).ServeHTTP(answer, r)
	want := fmt.Sprintf("ftpfetch_fleet_host_state{egress=\"\",host=%q,state=\"refuses\"} 1\n", srv.Addr())
	other := strings.ReplaceAll(want, `egress=""`, `egress="e"`)
	if got := answer.Body.String(); !strings.Contains(got, want) && !strings.Contains(got, other) {
		t.Errorf("the metrics are %s", got)
	}
	out, _, code := s.do("wait", id, "--json")
	if facts(out) != fmt.Sprintf("done 20 0 20 %d", code) || code == 0 {
		t.Errorf("exit code %d: %s", code, out)
	}
	if got := s.want(0, "report", id); strings.Count(got, "let nobody in for 8s") != 20 || !strings.Contains(got, "421") {
		t.Errorf("the report is %s", got)
	}
}

// TestHostStates has what status says of a host in each state.
func TestHostStates(t *testing.T) {
	refuses := fellow{trouble: trouble{Host: "h", State: "refuses", Why: "421 no"}}
	left := fellow{trouble: trouble{Host: "h", State: "left", Why: "530 no"}, left: 2}
	for _, tt := range []struct {
		s       hostState
		t       fellow
		workers int
		want    string
	}{
		{hostState{Slots: 2}, fellow{}, 1, "in use"},
		{hostState{}, fellow{}, 1, "waits: no worker has begun"},
		{hostState{}, fellow{}, 0, "waits: there is no worker"},
		{hostState{}, refuses, 3, "refuses: 421 no"},
		{hostState{Slots: 1}, refuses, 3, "refuses: 421 no"},
		{hostState{}, left, 3, "waits: 530 no"},
		{hostState{}, left, 2, "left: 530 no"},
	} {
		tt.s.Host = "h:21"
		tt.s.judge(tt.t, tt.workers, giveUp)
		if got := tt.s.line(); !strings.HasPrefix(got, "h:21: "+tt.want) || tt.s.State != "in use" && tt.s.Next == "" {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}

// TestTroubles has what two workers know of hosts. One that leaves a host as two users is still one worker.
func TestTroubles(t *testing.T) {
	type known struct {
		left, refused []string // keys
		served        string   // a host
	}
	for _, tt := range []struct {
		a, b  known
		state string // of the host h
		left  int    // how many workers leave it
		seen  int    // how many troubles the worker a has
	}{
		{known{}, known{}, "", 0, 0},
		{known{left: []string{"h"}}, known{}, "left", 1, 1},
		{known{left: []string{"h u", "h v"}}, known{}, "left", 1, 1},
		{known{left: []string{"h", "h u"}}, known{left: []string{"h v"}}, "left", 2, 1},
		{known{left: []string{"h u"}, served: "h"}, known{}, "", 0, 1},
		{known{left: []string{"h u"}, served: "g"}, known{}, "left", 1, 1},
		{known{left: []string{"h u"}, served: "h"}, known{refused: []string{"h"}}, "refuses", 0, 1},
		{known{left: []string{"g u", "g v"}}, known{refused: []string{"h"}}, "refuses", 0, 1},
	} {
		presences := make(map[string]presence)
		for name, k := range map[string]known{"a": tt.a, "b": tt.b} {
			g := newGates()
			for _, key := range k.left {
				g.left[key] = departure{ftpexec.ErrLogin, time.Now()}
			}
			for _, key := range k.refused {
				g.refused[key] = departure{ftpexec.ErrTooMany, time.Now()}
			}
			g.served[k.served] = true
			p := presence{}
			g.says(&p)
			presences[name] = p
		}
		got := troubles(presences)["h"]
		if got.State != tt.state || got.left != tt.left || len(presences["a"].Troubles) != tt.seen {
			t.Errorf("%+v and %+v: %+v, %+v", tt.a, tt.b, got, presences["a"].Troubles)
		}
	}
}

// TestDeadly has a chunk whose workers are killed each time when they have begun a file. After three, its files must
// fail with that reason, and retry must take them again.
func TestDeadly(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	srv, open := holding(t, 2)
	defer open()
	id := s.want(0, "add", "--per-host", "1", srv.list(t, 2))
	chunks := must.Get(s.admin().work.Info(t.Context()))(t).State.Msgs
	killed := 0
	for done := false; !done; {
		before := srv.files.Load()
		w := process(t, "work", "--join", s.file, "-d", filepath.Join(t.TempDir(), "d"), "-j", "1", "--egress", "e")
		eventually(t, "a file, or the end", func() bool {
			done = strings.Contains(s.want(0, "status", id), ", done")
			return done || srv.files.Load() > before
		})
		if !done {
			kill(w)
			killed++
		}
	}
	if killed != mostDeaths*int(chunks) {
		t.Errorf("%d workers were killed with %d chunks", killed, chunks)
	}
	if got := s.want(0, "report", id); strings.Count(got, errDeadly.Error()) != 2 {
		t.Errorf("the report is %s", got)
	}
	open()
	s.starts("whole", t.TempDir(), "", 1)
	s.want(0, "retry", id)
	s.want(0, "wait", id)
	if all := must.Get(readAll(t.Context(), s.admin(), s.admin().attempts, ">"))(t); len(all) != 0 {
		t.Errorf("left over: %v", all)
	}
}
