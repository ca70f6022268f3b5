package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/ftpexec/ftpfs"
	"example.com/ftpfetch/testserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var contents = strings.Repeat("0123456789abcdef", 1<<14)

var tree = map[string]string{"/secret": "SECRET", "/pub/f": contents, "/pub/sub/g.txt": "g", "/pub/sub/a b": "odd"}

func start(t *testing.T, fault func(*testserver.Conn) testserver.Action) (s *testserver.Server, host string) {
	s = testserver.New(t, &testserver.Options{Tree: tree, Fault: fault, ModTime: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)})
	c := &ftpexec.Client{MaxConns: 8, MaxIdle: 8}
	h, err := handler(t.Context(), c, s.URL("/pub/"))
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(h)
	t.Cleanup(func() { web.Close(); c.CloseIdleConnections() })
	return s, web.Listener.Addr().String()
}

// get sends a GET for a path exactly as it is written, because package net/http would clean it. Each field is "Name:
// value".
func get(t *testing.T, host, path string, fields ...string) (*http.Response, string) {
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	lines := append([]string{"GET " + path + " HTTP/1.1", "Host: h", "Connection: close"}, fields...)
	io.WriteString(conn, strings.Join(lines, "\r\n")+"\r\n\r\n")
	r, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		text = append(text, err.Error()...)
	}
	return r, string(text)
}

// TestAnswers checks that pages, files, ranges and conditions work as on any file server.
func TestAnswers(t *testing.T) {
	_, host := start(t, nil)
	for _, tt := range []struct {
		path, field string
		status      int
		text        string
	}{
		{"/", "", 200, `<a href="sub/">`},
		{"/sub/", "", 200, `<a href="a%20b">`},
		{"/sub", "", 301, ""},
		{"/sub/a%20b", "", 200, "odd"},
		{"/f", "Range: bytes=16-19", 206, "0123"},
		{"/f", "If-Modified-Since: Fri, 02 Jan 2026 03:04:05 GMT", 304, ""},
		{"/f", "If-Unmodified-Since: Thu, 01 Jan 2026 03:04:05 GMT", 412, ""},
		{"/none", "", 404, ""},
	} {
		r, text := get(t, host, tt.path, tt.field+"\r\nAccept: */*")
		if r.StatusCode != tt.status || !strings.Contains(text, tt.text) {
			t.Errorf("%s %s: %s %.80q", tt.path, tt.field, r.Status, text)
		}
	}
}

// TestPaths checks that no path leads out of the directory, however it is written.
func TestPaths(t *testing.T) {
	s, host := start(t, nil)
	for _, path := range []string{"/../secret", "/..%2Fsecret", "/%2e%2e/secret", "/%2Fsecret", "//secret", "/sub/../../secret", "/sub%2F..%2F..%2Fsecret", "/%2Fpub%2Ff;type=a/../../../secret", "/..;type=d"} {
		if r, text := get(t, host, path, "Accept: */*"); r.StatusCode == http.StatusOK || strings.Contains(text, "SECRET") {
			t.Errorf("%s: %s %.80q", path, r.Status, text)
		}
	}
	for _, c := range s.Commands() {
		_, arg, _ := strings.Cut(c, " ")
		if slices.Contains(strings.Split(arg, "/"), "..") || strings.HasSuffix(arg, "/secret") {
			t.Errorf("sent %s", c)
		}
	}
}

// TestClients checks that twenty concurrent clients share eight connections, and that each gets the whole file.
func TestClients(t *testing.T) {
	s, host := start(t, nil)
	var clients sync.WaitGroup
	for range 20 {
		clients.Go(func() {
			if r, text := get(t, host, "/f", "Accept: */*"); text != contents {
				t.Errorf("%s, %d bytes", r.Status, len(text))
			}
		})
	}
	clients.Wait()
	if n := s.Connections(); n > 8 {
		t.Errorf("%d connections", n)
	}
}

// TestFails checks that no client takes a transfer that fails after the last byte for a whole file.
func TestFails(t *testing.T) {
	_, host := start(t, func(c *testserver.Conn) testserver.Action {
		if c.Verb == "RETR" {
			return testserver.ReplaceReply(testserver.Reply("451 Disk error"))
		}
		return nil
	})
	if r, text := get(t, host, "/f", "Accept: */*"); r.StatusCode == http.StatusOK && !strings.HasSuffix(text, "unexpected EOF") {
		t.Errorf("%s, %d bytes that look whole", r.Status, len(text))
	}
}

// TestFS checks that the file system passes the tests of the standard library.
func TestFS(t *testing.T) {
	s, _ := start(t, nil)
	var c ftpexec.Client
	defer c.CloseIdleConnections()
	fsys, err := ftpfs.Open(t.Context(), &c, s.URL("/pub/"))
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(fsys, "f", "sub/g.txt", "sub/a b"); err != nil {
		t.Error(err)
	}
}

// TestServe checks that serve ends when its context does.
func TestServe(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: tree})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := serve(ctx, s.URL("/pub/"), "127.0.0.1:0"); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{s.URL("/pub/f"), "http://h/", ""} {
		if err := serve(t.Context(), bad, "127.0.0.1:0"); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
}
