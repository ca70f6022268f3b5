package ftpexec_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/interop/ftptest"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// stamp is the modification time of the files in these tests.
var stamp = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// registered returns an http.Client whose Transport has t for FTP.
func registered(t testing.TB, ftp *ftpexec.Transport) *http.Client {
	t.Helper()
	transport := &http.Transport{}
	for _, scheme := range []string{"ftp", "ftps", "ftpes"} {
		transport.RegisterProtocol(scheme, ftp)
	}
	t.Cleanup(ftp.CloseIdleConnections)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Transport: transport, Jar: jar}
}

// exchanged is what came back for a request.
type exchanged struct {
	*http.Response
	contents string
	err      error // of reading the body
}

// request sends a request with fields of the form "Name: value".
func request(t testing.TB, c *http.Client, method, url string, fields ...string) exchanged {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range fields {
		name, value, _ := strings.Cut(field, ": ")
		req.Header.Add(name, value)
	}
	r, err := c.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	defer r.Body.Close()
	contents, err := io.ReadAll(r.Body)
	return exchanged{r, string(contents), err}
}

// shown returns the status, the fields that are there, and the contents.
func (e exchanged) shown(fields ...string) string {
	lines := []string{e.Status}
	for _, name := range fields {
		if value := strings.Join(e.Header.Values(name), " and "); value != "" {
			lines = append(lines, name+": "+value)
		}
	}
	return strings.Join(append(lines, e.contents), "\n")
}

var described = []string{"Content-Type", "Content-Length", "Content-Range", "Content-Encoding", "Accept-Ranges", "Last-Modified", "Etag"}

func TestTransportFile(t *testing.T) {
	s := testserver.New(t, &testserver.Options{ModTime: stamp, Tree: map[string]string{
		"/pub/motd.html": "hello\n", "/pub/raw": "", "/pub/a.tar.pdf": "gzip", "/pub/what?": "query", "/pub/two words": "space",
	}})
	const described200 = "Accept-Ranges: bytes\nLast-Modified: Fri, 02 Jan 2026 03:04:05 GMT\nEtag: "
	tests := []struct{ path, want string }{
		{"/pub/motd.html", "200 OK\nContent-Type: text/html; charset=utf-8\nContent-Length: 6\n" + described200 + "W/\"6-695735a5\"\nhello\n"},
		{"/pub/raw", "200 OK\nContent-Type: application/octet-stream\nContent-Length: 0\n" + described200 + "W/\"0-695735a5\"\n"},
		{"/pub/a.tar.pdf", "200 OK\nContent-Type: application/pdf\nContent-Length: 4\n" + described200 + "W/\"4-695735a5\"\ngzip"},
		{"/pub/what?", "200 OK\nContent-Type: application/octet-stream\nContent-Length: 5\n" + described200 + "W/\"5-695735a5\"\nquery"},
		{"/pub/two%20words", "200 OK\nContent-Type: application/octet-stream\nContent-Length: 5\n" + described200 + "W/\"5-695735a5\"\nspace"},
		{"/pub/motd.html;type=a", "200 OK\nContent-Type: text/html; charset=utf-8\nLast-Modified: Fri, 02 Jan 2026 03:04:05 GMT\n" + localText("hello\n")},
	}
	c := registered(t, &ftpexec.Transport{})
	for _, tt := range tests {
		got := request(t, c, "GET", s.URL(tt.path))
		if got.err != nil || got.shown(described...) != tt.want {
			t.Errorf("GET %s: got %q, %v, want %q", tt.path, got.shown(described...), got.err, tt.want)
		}
		if got.Request == nil || got.Request.URL.String() != s.URL(tt.path) || got.Proto != "HTTP/1.0" || got.ProtoMajor != 1 || got.ProtoMinor != 0 {
			t.Errorf("GET %s: got %v over %s", tt.path, got.Request, got.Proto)
		}
		if date, err := http.ParseTime(got.Header.Get("Date")); err != nil || time.Since(date) > time.Hour {
			t.Errorf("GET %s: Date %v, %v", tt.path, date, err)
		}
		length := int64(-1)
		if !strings.Contains(tt.path, ";") {
			length = int64(len(got.contents))
		}
		head := request(t, c, "HEAD", s.URL(tt.path))
		want := strings.TrimSuffix(tt.want, got.contents)
		if head.shown(described...) != want {
			t.Errorf("HEAD %s: got %q, want %q", tt.path, head.shown(described...), want)
		}
		if got.ContentLength != length || head.ContentLength != length {
			t.Errorf("%s: ContentLength %d and %d, want %d", tt.path, got.ContentLength, head.ContentLength, length)
		}
	}
}

// A GET takes the same commands as Client.Do, in the same flights, and keeps its connection for the next one. HEAD opens no
// data connection.
func TestTransportWire(t *testing.T) {
	tree := map[string]string{"/a/b/f": "contents", "/a/b/g": "more"}
	start := func() *testserver.Server { return testserver.New(t, &testserver.Options{Tree: tree}) }
	one, two := start(), start()
	ftp := &ftpexec.Transport{}
	c := registered(t, ftp)
	var plain ftpexec.Client
	defer plain.CloseIdleConnections()
	for _, path := range []string{"/a/b/f", "/a/b/g"} {
		if got := request(t, c, "GET", one.URL(path)).contents; got != tree[path] {
			t.Errorf("got %q, want %q", got, tree[path])
		}
		if _, err := read(t.Context(), &plain, parse(t, two.URL(path))); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := fmt.Sprint(one.Flights()), fmt.Sprint(two.Flights()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, s := range []*testserver.Server{one, two} {
		if s.Connections() != 1 || s.DataConnections() != 2 {
			t.Errorf("%d connections and %d for data", s.Connections(), s.DataConnections())
		}
	}
	one.ResetCommands()
	request(t, c, "HEAD", one.URL("/a/b/f"))
	request(t, c, "GET", one.URL("/a/b/f"), "If-Modified-Since: Tue, 01 Jan 2075 00:00:00 GMT")
	if one.Connections() != 0 || one.DataConnections() != 0 || len(one.Flights()) != 2 {
		t.Errorf("HEAD and 304: got %v, want two flights and no connection", one.Flights())
	}
	one.ResetCommands()
	if got := request(t, c, "GET", one.URL("/a/b/f"), "Range: bytes=5-"); got.contents != "nts" {
		t.Errorf("got %s", got.shown())
	}
	if got, want := one.Commands(), "SIZE f,MDTM f,EPSV,SIZE f,MDTM f,REST 5,RETR f"; strings.Join(slices.DeleteFunc(got, isCWD), ",") != want || one.Connections() != 0 {
		t.Errorf("a range that reaches the end: got %q, want %s", got, want)
	}
	request(t, c, "GET", one.URL("/a/b/f"), "Range: bytes=5-6")
	one.ResetCommands()
	request(t, c, "GET", one.URL("/a/b/f"))
	if got := one.Connections(); got != 1 {
		t.Errorf("after a range that does not reach the end: %d new connections, want 1", got)
	}
	c.CloseIdleConnections() // an http.Transport does not pass it on
	request(t, c, "GET", one.URL("/a/b/f"))
	if got := one.Connections(); got != 1 {
		t.Errorf("%d connections, want 1", got)
	}
	(&http.Client{Transport: ftp}).CloseIdleConnections()
	request(t, c, "GET", one.URL("/a/b/f"))
	if got := one.Connections(); got != 2 {
		t.Errorf("after CloseIdleConnections: %d connections, want 2", got)
	}
}

// The schemes say how TLS begins, and the Client which authorities count.
func TestTransportTLS(t *testing.T) {
	for _, mode := range []testserver.TLSMode{testserver.TLSRequired, testserver.TLSImplicit} {
		s := testserver.New(t, &testserver.Options{TLS: mode, Tree: map[string]string{"/d/f": "contents"}})
		trusting := &ftpexec.Client{TLSConfig: &tls.Config{RootCAs: s.RootCAs()}}
		if got := request(t, registered(t, &ftpexec.Transport{Client: trusting}), "GET", s.URL("/d/f"), "Range: bytes=6-"); got.contents != "ts" || got.err != nil {
			t.Errorf("%s: got %q, %v", s.URL("/d/f"), got.shown(), got.err)
		}
		r, err := registered(t, &ftpexec.Transport{}).Get(s.URL("/d/f"))
		if !errors.Is(err, ftpexec.ErrTLS) {
			t.Errorf("an authority that is not trusted: got %v, %v", r, err)
		}
		plain := "ftp" + s.URL("/d/f")[strings.Index(s.URL(""), ":"):]
		if mode == testserver.TLSRequired {
			if got := request(t, registered(t, &ftpexec.Transport{}), "GET", plain); got.StatusCode != 403 {
				t.Errorf("%s: got %q", plain, got.shown())
			}
		}
	}
}

// The Body of a whole file goes to a file as that of a Client does. A part ends the transfer with its last byte.
func TestTransportBody(t *testing.T) {
	tests := []struct {
		field, sent, want string
		whole             bool
	}{
		{"", "contents", "contents", true},
		{"bytes=2-", "ntents", "ntents", true},
		{"bytes=2-4", "ntents", "nte", false},
	}
	for _, tt := range tests {
		k := &closings{network: ftptest.NewNetwork()}
		s := k.network.NewScript(t, testserver.Honest("contents").With("REST", testserver.Reply("350 Go")).With("RETR", testserver.Transfer(tt.sent)...))
		req, err := http.NewRequestWithContext(t.Context(), "GET", s.URL("/d/f"), nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Range", tt.field)
		r, err := registered(t, &ftpexec.Transport{Client: &ftpexec.Client{MaxIdle: -1, Dial: k.dial}}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := r.Body.(io.WriterTo); ok != tt.whole {
			t.Errorf("%q: io.WriterTo: %t", tt.field, ok)
		}
		var got []byte
		for one := make([]byte, 1); err == nil; {
			var n int
			n, err = r.Body.Read(one)
			got = append(got, one[:n]...)
		}
		n, again := r.Body.Read(make([]byte, 1))
		if string(got) != tt.want || err != io.EOF || n != 0 || again != io.EOF {
			t.Errorf("%q: got %q, %v, then %d, %v", tt.field, got, err, n, again)
		}
		if n := k.open.Load(); n != 0 {
			t.Errorf("%q: at the end %d connections are open", tt.field, n)
		}
		if err := r.Body.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Without idle connections, what is asked first and the transfer still share one.
func TestTransportOneConnection(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/d/f": "contents"}})
	c := registered(t, &ftpexec.Transport{Client: &ftpexec.Client{MaxIdle: -1}})
	for _, fields := range [][]string{nil, {"Range: bytes=2-4"}, {"Range: bytes=-1"}} {
		s.ResetCommands()
		if got := request(t, c, "GET", s.URL("/d/f"), fields...); got.err != nil || s.Connections() != 1 {
			t.Errorf("%q: got %q, %v over %d connections, want 1", fields, got.shown(), got.err, s.Connections())
		}
	}
}

func isCWD(line string) bool {
	return strings.HasPrefix(line, "CWD ") || strings.HasPrefix(line, "TYPE ")
}

// Other methods are refused without a connection. Every request's body is closed, and no request is changed.
func TestTransportRequest(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": "contents", "/d/": ""}})
	ftp := &ftpexec.Transport{}
	defer ftp.CloseIdleConnections()
	tests := []struct {
		method, url string
		status      int // 0: an error
	}{
		{"GET", s.URL("/f"), 200}, {"", s.URL("/f"), 200}, {"HEAD", s.URL("/f"), 200}, {"GET", s.URL("/d/"), 200}, {"GET", s.URL("/none"), 404},
		{"HEAD", s.URL("/none"), 404}, {"POST", s.URL("/f"), 405}, {"PUT", s.URL("/f"), 405}, {"DELETE", s.URL("/f"), 405}, {"OPTIONS", s.URL("/"), 405},
		{"get", s.URL("/f"), 405}, {"GET", s.URL("/f#x"), 0}, {"GET", "ftp://127.0.0.1:1/f", 0}, {"GET", "http://h/f", 0}, {"GET", "ftp:f", 0},
	}
	for _, tt := range tests {
		t.Run(tt.method+" "+tt.url, func(t *testing.T) {
			u, err := url.Parse(tt.url)
			if err != nil {
				t.Fatal(err)
			}
			body := &closing{Reader: strings.NewReader("body")}
			req := (&http.Request{Method: tt.method, URL: u, Body: body, Header: http.Header{"Range": {"bytes=x"}, "If-Match": {"*"}}}).WithContext(t.Context())
			before := req.Clone(t.Context())
			r, err := ftp.RoundTrip(req)
			if (r == nil) == (err == nil) {
				t.Fatalf("got %v and %v", r, err)
			}
			if fmt.Sprint(req.Header, req.URL, req.Method) != fmt.Sprint(before.Header, before.URL, before.Method) {
				t.Errorf("the request was changed: %v", req)
			}
			if !body.closed {
				t.Error("the request's body is open")
			}
			if err != nil {
				if tt.status != 0 || !errors.As(err, new(*ftpexec.Error)) && !errors.As(err, new(*urlparse.Error)) {
					t.Errorf("got %v (%T), want status %d", err, err, tt.status)
				}
				return
			}
			defer r.Body.Close()
			if r.StatusCode != tt.status || r.Request != req || (r.StatusCode == 405) != (r.Header.Get("Allow") == "GET, HEAD") {
				t.Errorf("got %s, %v, want %d", r.Status, r.Header, tt.status)
			}
			if _, err := io.ReadAll(r.Body); err != nil {
				t.Error(err)
			}
		})
	}
}

type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error { c.closed = true; return nil }

// An http.Client carries an Authorization over a redirect within one host. It must not reach the FTP server, whoever
// put it there.
func TestTransportRedirect(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": "contents"}, Users: map[string]string{"me": "mine"}})
	for user, url := range map[string]string{"anonymous": s.URL("/f"), "me": s.URLAs("me:mine", "/f")} {
		web := httptest.NewServer(http.RedirectHandler(url, http.StatusFound))
		defer web.Close()
		for _, login := range []string{"", "me:mine@", "web:secret@"} {
			for _, fields := range [][]string{nil, {"Authorization: Basic d2ViOnNlY3JldA=="}, {"Authorization: Basic bWU6bWluZQ=="}} {
				c := registered(t, &ftpexec.Transport{})
				s.ResetCommands()
				got := request(t, c, "GET", strings.Replace(web.URL, "://", "://"+login, 1), fields...)
				if sent := s.Commands(); got.contents != "contents" || !slices.Contains(sent, "USER "+user) {
					t.Errorf("from %q with %q to %s: %s %q, commands %q", login, fields, url, got.Status, got.contents, sent)
				}
			}
		}
	}
}

// Any number of goroutines share a Transport, whether they read bodies, close them or give up.
func TestTransportConcurrent(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/d/f": strings.Repeat("contents", 1<<12), "/d/g": "g"}})
	c := registered(t, &ftpexec.Transport{Client: &ftpexec.Client{MaxIdle: 4}})
	var running sync.WaitGroup
	for i := range 16 {
		running.Go(func() {
			for j := range 4 {
				ctx, cancel := context.WithCancel(t.Context())
				req, err := http.NewRequestWithContext(ctx, "GET", s.URL([]string{"/d/f", "/d/g", "/d/", "/d/none"}[(i+j)%4]), nil)
				if err != nil {
					t.Error(err)
				}
				if i%5 == 0 {
					req.Header.Set("Range", "bytes=-3")
				}
				r, err := c.Do(req)
				switch {
				case err != nil:
					t.Error(err)
				case i%3 == 0:
					r.Body.Close()
				case i%3 == 1:
					cancel()
					io.Copy(io.Discard, r.Body)
					r.Body.Close()
				default:
					if _, err := io.Copy(io.Discard, r.Body); err != nil {
						t.Error(err)
					}
					r.Body.Close()
				}
				cancel()
			}
		})
	}
	running.Wait()
}
