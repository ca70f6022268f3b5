package main

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"example.com/ftpfetch/internal/testkit/must"
)

// TestBoard requests everything that the board has, and what it must refuse.
func TestBoard(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	stop, at, err := s.hub.servePage("127.0.0.1:0")
	must.Do(t, err)
	defer stop()
	get := func(path string, change func(*http.Request)) (*http.Response, string) {
		t.Helper()
		r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, at+path, nil))(t)
		if change != nil {
			change(r)
		}
		a := must.Get(http.DefaultTransport.RoundTrip(r))(t)
		defer a.Body.Close()
		if strings.HasPrefix(path, "events") {
			line := must.Get(bufio.NewReader(a.Body).ReadString('\n'))(t)
			return a, line
		}
		return a, string(must.Get(io.ReadAll(a.Body))(t))
	}
	events := func() (states []*state) {
		t.Helper()
		_, line := get("events", nil)
		data, _ := strings.CutPrefix(line, "data: ")
		must.Do(t, json.Unmarshal([]byte(data), &states))
		return states
	}
	if got := events(); len(got) != 0 {
		t.Errorf("without a job: %v", got)
	}
	srv, _ := strict(t, 4, nil)
	id := s.want(0, "add", "--per-host", "3", mine(t, srv, 5))
	s.starts("me", t.TempDir(), "right", 1)
	s.want(78, "wait", id)
	var got []*state
	eventually(t, "the job is done", func() bool { got = events(); return len(got) == 1 && got[0].State == "done" })
	if got[0].Complete != 4 || got[0].Failed != 1 || len(got[0].Fleet) != 1 || got[0].Fleet[0].Name != "me" || got[0].Fleet[0].Lanes != 1 {
		t.Errorf("got %+v", got[0])
	}
	for path, want := range map[string]string{
		"":             `<table id="jobs">`,
		"page.js":      "EventSource",
		"page.css":     "table",
		"report/" + id: `"status":"failed"`,
		"metrics":      fmt.Sprintf("ftpfetch_fleet_files{job=%q,outcome=\"complete\"} 4\n", id),
	} {
		a, text := get(path, nil)
		if a.StatusCode != 200 || !strings.Contains(text, want) || !strings.Contains(a.Header.Get("Content-Security-Policy"), "default-src 'self'") {
			t.Errorf("%q: %s: %s", path, a.Status, text)
		}
		if a, text := get(path, func(r *http.Request) { r.Host = "evil.example" }); a.StatusCode != 401 || strings.Contains(text, want) {
			t.Errorf("%q by another name: %s", path, a.Status)
		}
		if a, _ := get(path, func(r *http.Request) { r.Method = http.MethodPost }); a.StatusCode != 405 {
			t.Errorf("POST %q: %s", path, a.Status)
		}
	}
	wellFormed(t, func() string { _, text := get("metrics", nil); return text }())
	for _, path := range []string{"report/none", "report/", "nothing"} {
		if a, _ := get(path, nil); a.StatusCode != 404 {
			t.Errorf("%q: %s", path, a.Status)
		}
	}
	if _, text := get("report/"+id, nil); strings.Count(text, "\n") != 5 || strings.Contains(text, `"item"`) {
		t.Errorf("the report is %s", text)
	}
	if _, _, err := s.hub.servePage(strings.TrimSuffix(strings.TrimPrefix(at, "http://"), "/")); err == nil {
		t.Error("two boards have one address")
	}
}

// wellFormed checks that metrics have the format of Prometheus, and that none but those of hosts is missing.
func wellFormed(t *testing.T, text string) {
	t.Helper()
	if problems, err := promlint.New(strings.NewReader(text)).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("%v: %v in\n%s", err, problems, text)
	}
	for _, name := range []string{"files", "bytes", "workers", "bytes_per_second"} {
		if !strings.Contains(text, "# TYPE ftpfetch_fleet_"+name+" gauge\n") {
			t.Errorf("no %s in\n%s", name, text)
		}
	}
}

// TestBoardFar has a board that other machines can reach.
func TestBoardFar(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	stop, at, err := s.hub.servePage("0.0.0.0:0")
	must.Do(t, err)
	defer stop()
	at = strings.Replace(at, "[::]", "127.0.0.1", 1)
	at = strings.Replace(at, "0.0.0.0", "127.0.0.1", 1)
	client := &http.Transport{TLSClientConfig: must.Get(pin(s.hub.join.Certificate))(t)}
	client.TLSClientConfig.VerifyConnection = func(c tls.ConnectionState) error {
		return must.Get(pin(s.hub.join.Certificate))(t).VerifyConnection(c)
	}
	for name, tt := range map[string]struct {
		change func(*http.Request)
		code   int
	}{
		"nothing":         {func(*http.Request) {}, 401},
		"another token":   {func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") }, 401},
		"a password":      {func(r *http.Request) { r.SetBasicAuth("", "x") }, 401},
		"as a bearer":     {func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+s.hub.join.Token) }, 401},
		"as a password":   {func(r *http.Request) { r.SetBasicAuth("me", s.hub.join.Token) }, 200},
		"in the address":  {func(r *http.Request) { r.URL.RawQuery = "token=" + s.hub.join.Token }, 401},
		"half the token":  {func(r *http.Request) { r.SetBasicAuth("", s.hub.join.Token[:32]) }, 401},
		"an empty bearer": {func(r *http.Request) { r.Header.Set("Authorization", "Bearer ") }, 401},
	} {
		t.Run(name, func(t *testing.T) {
			r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, at+"metrics", nil))(t)
			tt.change(r)
			a := must.Get(client.RoundTrip(r))(t)
			a.Body.Close()
			if a.StatusCode != tt.code {
				t.Errorf("%s", a.Status)
			}
		})
	}
	client.CloseIdleConnections()
}
