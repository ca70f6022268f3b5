package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/ftpexec/ftpfs"
	"example.com/ftpfetch/testserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// contents is a file so long that it takes several reads.
var contents = strings.Repeat("0123456789abcdef", 20000)

// serveTree starts an FTP server and a gateway to its /pub/, and returns the server and the address of the gateway.
// /secret is above the gateway's directory.
func serveTree(t *testing.T, fault func(*testserver.Conn) testserver.Action) (s *testserver.Server, address string) {
	s = testserver.New(t, &testserver.Options{Fault: fault, ModTime: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Tree: map[string]string{
		"/secret": "secret", "/pub/big": contents, "/pub/small.txt": "small", "/pub/index.html": "<p>own page", "/pub/a?b#c%20d": "odd", "/pub/sub/<b>": "deep", "/pub/empty": "",
	}})
	c := &ftpexec.Client{MaxConns: 8, MaxIdle: 8}
	fsys, err := ftpfs.Open(t.Context(), c, s.URL("/pub/"))
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(gateway(fsys))
	t.Cleanup(func() { web.Close(); c.CloseIdleConnections() })
	return s, web.URL
}

// get sends a GET with fields of the form "Name: value", and returns the response and its contents.
func get(t *testing.T, url string, fields ...string) (*http.Response, string, error) {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range fields {
		if name, value, ok := strings.Cut(field, ": "); ok {
			req.Header.Set(name, value)
		}
	}
	r, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	return r, string(text), err
}

var cell = regexp.MustCompile(`(?m)^<tr><td><a href="(.*?)">(.*?)</a><td>(.*?)<td>(.*?)$`)

// TestPage checks that a page lists names, sizes and times in the requested order, and that its links lead to the
// files.
func TestPage(t *testing.T) {
	_, address := serveTree(t, nil)
	for query, first := range map[string]string{"": "a?b#c%20d", "name": "a?b#c%20d", "size": "big", "time": "sub/", "other": "a?b#c%20d"} {
		_, text, err := get(t, address+"/?"+query)
		rows := cell.FindAllStringSubmatch(text, -1)
		if err != nil || len(rows) != 6 || rows[0][2] != first {
			t.Fatalf("?%s: %q, %v", query, rows, err)
		}
		shown := fmt.Sprint(rows)
		for _, want := range []string{"big 320000 2026-01-02 03:04", "small.txt 5 2026-01-02 03:04", "sub/ ", "empty 0 2026"} {
			if !strings.Contains(shown, want) {
				t.Errorf("?%s: no %q in %s", query, want, shown)
			}
		}
		if r, text, err := get(t, address+strings.TrimPrefix(rows[0][1], ".")); query == "name" && (text != "odd" || err != nil) {
			t.Errorf("%s: %s %q, %v", rows[0][1], r.Status, text, err)
		}
	}
	if _, text, _ := get(t, address+"/sub/"); !strings.Contains(text, "&lt;b&gt;") || strings.Contains(text, "<b>") || !strings.Contains(text, `"../"`) {
		t.Errorf("/sub/: %s", text)
	}
	if r, _, _ := get(t, address+"/sub"); r.StatusCode != 302 || r.Header.Get("Location") != "./sub/" {
		t.Errorf("/sub: %s, %v", r.Status, r.Header)
	}
}

// TestFiles checks that files are sent whole or in part, and are not sent again if they have not changed.
func TestFiles(t *testing.T) {
	_, address := serveTree(t, nil)
	const modified = "Fri, 02 Jan 2026 03:04:05 GMT"
	for _, tt := range []struct {
		path, fields string
		status       int
		want         string
	}{
		{"/big", "", 200, contents}, {"/big", "Range: bytes=16-31", 206, contents[16:32]}, {"/big", "Range: bytes=-4", 206, "cdef"},
		{"/big", "Range: bytes=300000-|If-Range: " + modified, 206, contents[300000:]}, {"/big", "Range: bytes=1-|If-Range: Fri, 02 Jan 2026 03:04:06 GMT", 200, contents},
		{"/big", "Range: bytes=1-|If-Unmodified-Since: Fri, 02 Jan 2026 03:04:04 GMT", 412, ""}, {"/big", "Range: bytes=999999-", 416, "invalid range"},
		{"/big", "If-Modified-Since: " + modified, 304, ""}, {"/small.txt", "", 200, "small"}, {"/empty", "", 200, ""}, {"/index.html", "", 200, "<p>own page"},
		{"/sub/%3Cb%3E", "", 200, "deep"}, {"/none", "", 404, "open none"}, {"/none/", "", 404, "open none"}, {"/sub/..", "", 404, ""},
		{"/../secret", "", 404, ""}, {"/..%2Fsecret", "", 404, ""}, {"/%2E%2E/secret", "", 404, ""}, {"/%2Fsecret", "", 404, ""}, {"/sub%2F%3Cb%3E", "", 200, "deep"},
		{"/secret", "", 404, ""}, {"/sub/%00", "", 404, ""}, {"/sub/a%0D%0ADELE%20b", "", 404, ""},
	} {
		r, text, err := get(t, address+tt.path, strings.Split(tt.fields, "|")...)
		if r.StatusCode != tt.status || !strings.HasPrefix(text, tt.want) || tt.status < 300 && text != tt.want || err != nil || strings.Contains(text, "secret ") {
			t.Errorf("%s, %s: got %s, %d bytes, %v, want %d and %d bytes", tt.path, tt.fields, r.Status, len(text), err, tt.status, len(tt.want))
		}
		if tt.status == 200 && (r.Header.Get("Last-Modified") != modified || r.Header.Get("Content-Security-Policy") != "sandbox" || r.ContentLength != int64(len(tt.want))) {
			t.Errorf("%s: %v", tt.path, r.Header)
		}
	}
}

// TestManyClients checks that twenty concurrent clients get the same bytes, over at most eight connections.
func TestManyClients(t *testing.T) {
	s, address := serveTree(t, nil)
	var clients sync.WaitGroup
	for range 20 {
		clients.Go(func() {
			if r, text, err := get(t, address+"/big"); text != contents || err != nil {
				t.Errorf("%s, %d bytes, %v", r.Status, len(text), err)
			}
		})
	}
	clients.Wait()
	if n := s.Connections(); n > 8 {
		t.Errorf("%d connections", n)
	}
}

// TestFailures checks that no client takes a failed transfer for a whole file, whether the size is known or not.
func TestFailures(t *testing.T) {
	for _, unknown := range []string{"", "SIZE MLST"} {
		_, address := serveTree(t, func(c *testserver.Conn) testserver.Action {
			switch {
			case c.Verb == "RETR":
				return testserver.ReplaceReply(testserver.Reply("451 Disk error"))
			case c.Verb == "MLSD" && unknown != "":
				return testserver.Reply("500 Unknown")
			case c.Verb != "" && strings.Contains(unknown, c.Verb):
				return testserver.Reply("500 Unknown")
			}
			return nil
		})
		if r, text, err := get(t, address+"/big"); err == nil && r.StatusCode == 200 {
			t.Errorf("without %q: %s, %d bytes, no error", unknown, r.Status, len(text))
		}
	}
	_, address := serveTree(t, func(c *testserver.Conn) testserver.Action { return testserver.Reply("421 Busy") })
	if r, _, _ := get(t, address+"/big"); r.StatusCode != http.StatusBadGateway {
		t.Errorf("a server that is busy: %s", r.Status)
	}
}
