package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/testkit/must"
)

// metrics returns what /metrics shows.
func (s *stand) metrics() string {
	s.Helper()
	s.hub.board.mu.Lock()
	s.hub.board.states, s.hub.board.at = nil, s.hub.board.at.Add(-glance)
	s.hub.board.mu.Unlock()
	answer := httptest.NewRecorder()
	s.hub.board.handler(true).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "http://127.0.0.1:1/metrics", nil))
	return answer.Body.String()
}

// TestMetrics reads the metrics without a job, and of a job whose failed file was retried.
func TestMetrics(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	got := s.metrics()
	for _, want := range []string{"\nftpfetch_fleet_workers 0\n", "\ngo_build_info{", "\nftpfetch_fleet_state_bytes ", "\nftpfetch_fleet_state_free_bytes "} {
		if !strings.Contains("\n"+got, want) {
			t.Errorf("without a job there is no %q in\n%s", want, got)
		}
	}
	srv, _ := strict(t, 4, nil)
	id := s.want(0, "add", mine(t, srv, 5))
	s.starts("w", t.TempDir(), "right", 1)
	s.want(78, "wait", id)
	s.want(0, "retry", id)
	s.want(78, "wait", id)
	failures := `ftpfetch_fleet_failures_total{code="78",host="` + srv.Addr() + `",job="` + id + `"} 1`
	retries := `ftpfetch_fleet_retries_total{job="` + id + `"} 1`
	eventually(t, "the counters", func() bool {
		got = s.metrics()
		return strings.Contains(got, failures) && strings.Contains(got, retries) && strings.Contains(got, "ftpfetch_fleet_received_bytes_total{")
	})
	wellFormed(t, got)
}

// TestTold reads the log of a server: who has added, changed and cancelled what, and where.
func TestTold(t *testing.T) {
	t.Parallel()
	said := new(saying)
	h := must.Get(startHub(filepath.Join(t.TempDir(), "state"), "127.0.0.1:0", "", func(f string, args ...any) { fmt.Fprintf(said, f+"\n", args...) }))(t)
	defer h.stop()
	s := &stand{T: t, hub: h, file: filepath.Join(t.TempDir(), "join")}
	must.Do(t, h.join.write(s.file))
	list := filepath.Join(t.TempDir(), "list")
	must.Do(t, os.WriteFile(list, []byte("ftp://h/f\n"), 0o600))
	id := s.want(0, "add", "--per-host", "2", list)
	s.want(0, "cap", id, "--limit-rate", "5M")
	s.want(0, "status")
	s.want(0, "cancel", id)
	s.want(0, "delete", id)
	for _, want := range []string{"add " + id + " from " + list + " --per-host 2, by ", "cap " + id + " --limit-rate 5M, by ", "cancel " + id + ", by ", "delete " + id + ", by "} {
		eventually(t, want, func() bool { return strings.Contains(said.String(), want) })
	}
	for line := range strings.Lines(said.String()) {
		if !strings.Contains(line, "(127.0.0.1), with the role add") {
			t.Errorf("the log has %s", line)
		}
	}
	if out := s.want(0, "--version"); !strings.HasPrefix(out, "ftpfetch-fleet ") || !strings.Contains(out, "built by go") {
		t.Errorf("the version is %s", out)
	}
}
