package ftphttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stamp is the modification time of the files in these tests.
var stamp = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

const stamped = "Fri, 02 Jan 2026 03:04:05 GMT"

// registered returns an http.Client that retrieves FTP URLs with c.
func registered(t testing.TB, c *ftpexec.Client) *http.Client {
	transport := &http.Transport{}
	for _, scheme := range []string{"ftp", "ftps", "ftpes"} {
		transport.RegisterProtocol(scheme, &Transport{Client: c})
	}
	t.Cleanup(func() { transport.CloseIdleConnections(); c.CloseIdleConnections() })
	return &http.Client{Transport: transport}
}

// exchanged is what came back for a request.
type exchanged struct {
	*http.Response
	contents string
	err      error // of the request, or of reading the body
}

// request sends a request with fields of the form "Name: value".
func request(ctx context.Context, c *http.Client, method, url string, fields ...string) (e exchanged) {
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return exchanged{new(http.Response), "", err}
	}
	for _, field := range fields {
		name, value, _ := strings.Cut(field, ": ")
		req.Header.Add(name, value)
	}
	r, err := c.Do(req)
	if err != nil {
		return exchanged{new(http.Response), "", err}
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
			lines = append(lines, value)
		}
	}
	return strings.Join(append(lines, e.contents), "|")
}

// What GET and HEAD say about files and directories.
func TestAnswers(t *testing.T) {
	s := testserver.New(t, &testserver.Options{ModTime: stamp, Tree: map[string]string{
		"/pub/motd.html": "hello", "/pub/raw": "", "/pub/a.tar.pdf": "gzip", "/pub/what?": "query", "/pub/two [words]": "space", "/pub/d/a": "", "/pub/d/b&c": "", "/empty/": "",
	}})
	const text, octets = "text/plain; charset=utf-8", "application/octet-stream"
	known := func(kind, contents string) string {
		return fmt.Sprintf("200 OK|%s|%d|bytes|%s|%s", kind, len(contents), stamped, contents)
	}
	tests := []struct{ path, want string }{
		{"/pub/motd.html", known("text/html; charset=utf-8", "hello")},
		{"/pub/raw", known(octets, "")},
		{"/pub/a.tar.pdf", known("application/pdf", "gzip")},
		{"/pub/what?", known(octets, "query")},
		{"/pub/two [words]", known(octets, "space")},
		{"/pub/two%20%5bwords%5D", known(octets, "space")},
		{"/pub/motd.html;type=a", "200 OK|text/html; charset=utf-8|" + stamped + "|hello"},
		{"/pub/d/", "200 OK|" + text + "|6|a\nb&c\n"},
		{"/pub/d;type=d", "200 OK|" + text + "|6|a\nb&c\n"},
		{"/empty/", "200 OK|" + text + "|0|"},
		{"/pub/none", "404 Not Found|" + text},
		{"/pub/d", "404 Not Found|" + text},
		{"/pub/none/", "404 Not Found|" + text},
		{"/pub/raw/", "404 Not Found|" + text},
	}
	c := registered(t, &ftpexec.Client{})
	for _, tt := range tests {
		get := request(t.Context(), c, "GET", s.URL(tt.path))
		transfers := s.DataConnections()
		head := request(t.Context(), c, "HEAD", s.URL(tt.path), "Range: bytes=1-")
		if s.DataConnections() > transfers || s.Connections() > 1 {
			t.Errorf("HEAD %s: %d transfers, %d connections", tt.path, s.DataConnections()-transfers, s.Connections())
		}
		if got := get.shown("Content-Type", "Content-Length", "Accept-Ranges", "Last-Modified"); get.err != nil || !strings.HasPrefix(got, tt.want) || get.StatusCode == 200 && got != tt.want {
			t.Errorf("GET %s: got %q, %v, want %q", tt.path, got, get.err, tt.want)
		}
		date, err := http.ParseTime(get.Header.Get("Date"))
		known := get.Header.Get("Content-Length") != ""
		if err != nil || time.Since(date) > time.Hour || get.Proto != "HTTP/1.0" || known != (get.ContentLength == int64(len(get.contents))) || known == (get.ContentLength < 0) {
			t.Errorf("GET %s: %v, %s, %d bytes of %d", tt.path, get.Header, get.Proto, get.ContentLength, len(get.contents))
		}
		if head.Status != get.Status || head.contents != "" || head.Header.Get("Content-Type") != get.Header.Get("Content-Type") ||
			strings.Contains(tt.want, "bytes") && head.ContentLength != get.ContentLength {
			t.Errorf("HEAD %s: got %q of %d bytes, GET got %q", tt.path, head.shown("Content-Type"), head.ContentLength, get.shown())
		}
	}
}

// Every range of a small file, and Range fields that are not ranges.
func TestRange(t *testing.T) {
	files := map[string]string{"/empty": "", "/one": "a", "/f": "abcdef"}
	s := testserver.New(t, &testserver.Options{ModTime: stamp, Tree: files})
	c := registered(t, &ftpexec.Client{})
	for path, file := range files {
		n := len(file)
		check := func(spec string, first, last int) {
			end := min(last, n-1) + 1
			want := fmt.Sprintf("200 OK|%d|%s", n, file)
			switch {
			case n == 0 || last < first: // nothing to ask for, or malformed: ignored (RFC 9110 section 14.2)
			case first >= n:
				said := fmt.Sprintf("the file has %d byte%s\n", n, map[bool]string{n > 1: "s"}[true])
				want = fmt.Sprintf("416 Requested Range Not Satisfiable|%d|bytes */%d|%s", len(said), n, said)
			default:
				want = fmt.Sprintf("206 Partial Content|%d|bytes %d-%d/%d|%s", end-first, first, end-1, n, file[first:end])
			}
			if got := request(t.Context(), c, "GET", s.URL(path), "Range: "+spec); got.err != nil || got.shown("Content-Length", "Content-Range") != want {
				t.Errorf("%s of %d bytes: got %q, %v, want %q", spec, n, got.shown("Content-Length", "Content-Range"), got.err, want)
			}
		}
		for first := range n + 2 {
			for last := range n + 2 {
				check(fmt.Sprintf("bytes=%d-%d", first, last), first, last)
			}
			check(fmt.Sprintf("bytes=%d-", first), first, n+1)
			if first > 0 {
				check(fmt.Sprintf("bytes=-%d", first), max(0, n-first), n-1)
			}
		}
		check("bytes=0-999999999999999999", 0, n)
		for _, ignored := range []string{"bytes=0-0,2-3", "bytes=-0", "bytes=-", "bytes=", "lines=0-0", "bytes=a-b", "bytes=1", "bytes=-1-2", "0-0"} {
			check(ignored, 0, -1)
		}
	}
	if got := request(t.Context(), c, "GET", s.URL("/f;type=a"), "Range: bytes=9-"); got.shown() != "200 OK|abcdef" {
		t.Errorf("ASCII: got %q", got.shown())
	}
}

// If the server does not give a size, changes it or does not begin at the offset, the file comes whole. No connection
// is left over, because there may be only one.
func TestWholeInstead(t *testing.T) {
	const contents = "contents"
	no, unknown := testserver.Reply("550 No"), testserver.Reply("502 What?")
	honest := testserver.Honest(contents)
	restarts := honest.With("REST", testserver.Reply("350 Go"))
	from := func(i int) testserver.Action { return testserver.Transfer(contents[i:]) }
	then := func(verb string, actions ...testserver.Action) testserver.Step {
		return testserver.On("#1 "+verb, actions...)
	}
	for _, tt := range []struct {
		name, field string
		server      []testserver.Step
		want        string // status, Content-Range, contents
	}{
		{"no size", "bytes=2-", []testserver.Step{restarts.With("SIZE", unknown), testserver.OnConn(1, then("RETR", from(2)))}, "200 OK|contents"},
		{"no size", "bytes=-2", []testserver.Step{honest.With("SIZE", unknown)}, "200 OK|contents"},
		{"neither size nor time", "bytes=-2", []testserver.Step{honest.With("MDTM", no).With("SIZE", no)}, "200 OK|contents"},
		{"gone", "bytes=2-", []testserver.Step{restarts.With("MDTM", no).With("SIZE", no).With("RETR", no)}, "404 Not Found|"},
		{"gone", "bytes=-2", []testserver.Step{restarts.With("MDTM", no).With("SIZE", no).With("RETR", no)}, "404 Not Found|"},
		{"no REST", "bytes=2-", []testserver.Step{honest}, "200 OK|contents"},
		{"no REST beyond the end", "bytes=8-", []testserver.Step{honest}, "416 Requested Range Not Satisfiable|bytes */"},
		{"RETR beyond the end", "bytes=9-", []testserver.Step{restarts, testserver.OnConn(1, then("RETR", testserver.Reply("554 Beyond")))}, "416 Requested Range Not Satisfiable|bytes */"},
		{"REST", "bytes=2-", []testserver.Step{restarts.With("RETR", from(2)).With("#1 RETR", from(7))}, "206 Partial Content|bytes 2-7/8|ntents"},
		{"grows", "bytes=-3", []testserver.Step{restarts.With("RETR", from(2)).With("#1 RETR", from(7)), testserver.OnConn(1, then("SIZE", testserver.Reply("213 5")))}, "206 Partial Content|bytes 2-4/8|nte"},
		{"shrinks", "bytes=-3", []testserver.Step{testserver.Honest("con").With("REST", testserver.Reply("350 Go")), testserver.OnConn(1, then("SIZE", testserver.Reply("213 8")))}, "416 Requested Range Not Satisfiable|bytes */"},
	} {
		s := testserver.New(t, nil, tt.server...)
		c := registered(t, &ftpexec.Client{MaxIdle: -1, MaxConns: 1})
		if got := request(t.Context(), c, "GET", s.URL("/d/f"), "Range: "+tt.field); !strings.HasPrefix(got.shown("Content-Range"), tt.want) || got.err != nil {
			t.Errorf("%s, %s: got %q, %v, want %q", tt.name, tt.field, got.shown("Content-Range"), got.err, tt.want)
		}
		request(t.Context(), c, "HEAD", s.URL("/d/f"))
	}
}

// A transfer that ends early, at whatever byte, is an error of the last Read, which withholds the last byte. A part of
// a file that does not reach its end needs only its own bytes.
func TestTruncated(t *testing.T) {
	const contents = "contents"
	for _, r := range []struct {
		field       string
		first, last int
	}{{"", 0, 7}, {"bytes=2-", 2, 7}, {"bytes=-3", 5, 7}, {"bytes=2-5", 2, 5}, {"bytes=0-0", 0, 0}} {
		for n := range len(contents) - r.first + 1 {
			for _, final := range []string{"226 Done", "426 Broken", ""} {
				end := testserver.Reply(final)
				if final == "" {
					end = testserver.EndControl(testserver.Closed)
				}
				script := testserver.Honest(contents).With("REST", testserver.Reply("350 Go")).With("RETR",
					testserver.Reply("150 Go"), testserver.Data(contents[r.first:r.first+n], testserver.Closed), end)
				if r.first > 0 { // the proof that it begins where it is told to
					script = script.With("#1 RETR", testserver.Transfer(contents[7:]))
				}
				s := testserver.New(t, nil, script)
				got := request(t.Context(), registered(t, &ftpexec.Client{}), "GET", s.URL("/d/f"), "Range: "+r.field)
				want := contents[r.first:min(r.first+n, r.last+1)]
				whole := len(want) == r.last-r.first+1
				if whole && r.last == 7 && final != "226 Done" { // the last byte waits for the reply
					want = want[:len(want)-1]
					whole = false
				}
				if got.contents != want || (got.err == nil) != whole || got.err != nil && !errors.As(got.err, new(*ftpexec.Error)) || got.ContentLength != int64(r.last-r.first+1) {
					t.Errorf("%q, %d bytes, %q: got %q, %v, want %q and an error: %t", r.field, n, final, got.contents, got.err, want, !whole)
				}
				s.Close()
			}
		}
	}
}

// RoundTrip closes the body of every request and changes nothing else of it. It takes a whole file to a file as
// Client.Do does.
func TestRoundTrip(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": "contents"}})
	c := &ftpexec.Client{}
	defer c.CloseIdleConnections()
	for _, tt := range []struct {
		method, url string
		status      int // 0: an error
	}{
		{"GET", s.URL("/f"), 200}, {"", s.URL("/f"), 200}, {"HEAD", s.URL("/f"), 200}, {"POST", s.URL("/f"), 405}, {"OPTIONS", s.URL("/"), 405}, {"get", s.URL("/f"), 405},
		{"GET", s.URL("/f#x"), 0}, {"GET", "ftp://127.0.0.1:1/f", 0}, {"GET", "http://h/f", 0}, {"GET", "ftp:f", 0},
	} {
		u := must.Get(url.Parse(tt.url))(t)
		body := &closing{Reader: strings.NewReader("body")}
		req := (&http.Request{Method: tt.method, URL: u, Body: body, Header: http.Header{"Range": {"bytes=x"}}}).WithContext(t.Context())
		before := fmt.Sprint(req.Header, req.URL, req.Method)
		r, err := (&Transport{Client: c}).RoundTrip(req)
		if fmt.Sprint(req.Header, req.URL, req.Method) != before || !body.closed {
			t.Errorf("the request was changed: %v, or its body is open", req)
		}
		switch {
		case err != nil:
			if r != nil || tt.status != 0 || !errors.As(err, new(*ftpexec.Error)) && !errors.As(err, new(*urlparse.Error)) {
				t.Errorf("%s %s: got %v, %v (%T), want status %d", tt.method, tt.url, r, err, err, tt.status)
			}
			continue
		case r.StatusCode != tt.status || r.Request != req || (r.StatusCode == 405) != (r.Header.Get("Allow") == "GET, HEAD"):
			t.Errorf("%s %s: got %s, %v, want %d", tt.method, tt.url, r.Status, r.Header, tt.status)
		}
		if _, copies := r.Body.(io.WriterTo); !copies {
			t.Errorf("%s %s: the body is a %T", tt.method, tt.url, r.Body)
		}
		r.Body.Close()
	}
}

type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error { c.closed = true; return nil }

// An http.Client carries an Authorization over a redirect within one host. It must not reach the FTP server, whoever
// put it there.
func TestRedirect(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": "contents"}, Users: map[string]string{"me": "mine"}})
	for user, url := range map[string]string{"anonymous": s.URL("/f"), "me": s.URL("me:mine@/f")} {
		web := httptest.NewServer(http.RedirectHandler(url, http.StatusFound))
		defer web.Close()
		for _, login := range []string{"", "me:mine@", "web:secret@"} {
			for _, fields := range [][]string{nil, {"Authorization: Basic d2ViOnNlY3JldA=="}, {"Authorization: Basic bWU6bWluZQ=="}} {
				s.ResetCommands()
				got := request(t.Context(), registered(t, &ftpexec.Client{}), "GET", strings.Replace(web.URL, "://", "://"+login, 1), fields...)
				if sent := s.Commands(); got.contents != "contents" || !slices.Contains(sent, "USER "+user) {
					t.Errorf("from %q with %q to %s: %s %q, commands %q", login, fields, url, got.Status, got.contents, sent)
				}
			}
		}
	}
}

// exchanges are requests with the commands of each.
var exchanges = []struct {
	method, path, field string
	verbs               []string
}{
	{"GET", "/d/f", "", []string{"", "USER", "PASS", "CWD", "TYPE", "SIZE", "MDTM", "EPSV", "RETR"}},
	{"GET", "/d/f", "bytes=2-3", []string{"", "USER", "PASS", "CWD", "TYPE", "SIZE", "MDTM", "EPSV", "REST", "RETR"}},
	{"HEAD", "/d/f", "", []string{"", "USER", "PASS", "CWD", "TYPE", "SIZE", "MDTM"}},
	{"GET", "/d/", "", []string{"", "USER", "PASS", "CWD", "TYPE", "EPSV", "NLST"}},
}

// A refusal at any command is a response. A connection that ends or hangs there is an error; the context ends a hang.
func TestEveryCommand(t *testing.T) {
	replies := []string{"421 Leaving", "450 Busy", "530 Not you", "550 No", "550 Permission denied"}
	login, other, fallback := []int{503, 401, 401, 401, 401}, []int{503, 503, 401, 403, 403}, []int{503, 200, 200, 200, 200}
	want := map[string][]int{
		"": {503, 503, 401, 502, 502}, "USER": login, "PASS": login, "CWD": {503, 503, 401, 404, 403}, "TYPE": other,
		"SIZE": fallback, "MDTM": fallback, "EPSV": fallback, "REST": fallback, "RETR": other, "NLST": {503, 404, 401, 404, 403},
	}
	synctest.Test(t, func(t *testing.T) {
		for _, x := range exchanges {
			for _, verb := range x.verbs {
				check := func(what string, action testserver.Action, status int, cause error) {
					honest := testserver.Honest("contents").With("REST", testserver.Reply("350 Go")).With("CWD f", testserver.Reply("550 No"))
					steps := []testserver.Step{honest, testserver.On(verb, action)}
					if verb != "" {
						steps = []testserver.Step{steps[0].With(verb, action)}
					}
					network := ftptest.NewNetwork()
					s := network.NewScript(t, steps...)
					defer s.Close()
					c := &ftpexec.Client{Dial: network.Dial}
					defer c.CloseIdleConnections()
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					if cause == context.Canceled {
						time.AfterFunc(time.Second, cancel)
					}
					got := request(ctx, registered(t, c), x.method, s.URL("user:hunter2@"+x.path), "Range: "+x.field)
					if got.StatusCode == http.StatusPartialContent {
						got.StatusCode = http.StatusOK
					}
					if err := got.err; got.StatusCode != status || !errors.Is(err, cause) && !(cause == ftpexec.ErrLost && errors.Is(err, ftpexec.ErrConnect)) ||
						err != nil && !errors.As(err, new(*ftpexec.Error)) || strings.Contains(fmt.Sprint(got.Header, got.contents, err), "hunter2") {
						t.Errorf("%s %s %s, %s at %s: got %s, %v (%[6]T), want %d, %v", x.method, x.path, x.field, what, verb, got.Status, err, status, cause)
					}
				}
				for i, reply := range replies {
					check(reply, testserver.Reply(reply), want[verb][i], nil)
				}
				lost, cause := 0, error(ftpexec.ErrLost)
				if verb == "EPSV" { // PASV follows
					lost, cause = 200, nil
				}
				check("closed", testserver.EndControl(testserver.Closed), lost, cause)
				check("reset", testserver.EndControl(testserver.Reset), lost, cause)
				check("silent", testserver.EndControl(testserver.Stalled), 0, ftpexec.ErrTimeout)
				check("cancelled", testserver.EndControl(testserver.Stalled), 0, context.Canceled)
			}
		}
	})
}
