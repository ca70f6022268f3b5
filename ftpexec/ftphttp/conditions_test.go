package ftphttp

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

// GET and HEAD obey the preconditions of a request (RFC 9110 section 13.2.2), in their order, and start no transfer for
// an answer without contents.
func TestConditions(t *testing.T) {
	before := stamp.Add(-time.Second).Format(http.TimeFormat)
	after := stamp.Add(time.Second).Format(http.TimeFormat)
	s := testserver.New(t, &testserver.Options{ModTime: stamp, Tree: map[string]string{"/f": "abcdef", "/d/a": ""}})
	c := registered(t, &ftpexec.Client{})
	for _, tt := range []struct {
		fields string // separated by "|"
		status int
	}{
		{"If-Match: *", 200}, {`If-Match: "a"`, 412}, {`If-Match: W/"a", "b"`, 412}, {`If-Match: "a"|If-Modified-Since: ` + stamped, 412},
		{"If-Unmodified-Since: " + before, 412}, {"If-Unmodified-Since: " + stamped, 200}, {"If-Unmodified-Since: " + after, 200},
		{"If-Unmodified-Since: yesterday", 200}, {"If-Match: *|If-Unmodified-Since: " + before, 200},
		{"If-None-Match: *", 304}, {`If-None-Match: "a"`, 200}, {`If-None-Match: "a"|If-Modified-Since: ` + stamped, 200},
		{"If-Modified-Since: " + before, 200}, {"If-Modified-Since: " + stamped, 304}, {"If-Modified-Since: " + after, 304},
		{"If-Modified-Since: yesterday", 200}, {"If-Modified-Since: " + stamp.Format(time.RFC850), 304},
		{"If-Unmodified-Since: " + before + "|If-Modified-Since: " + stamped, 412},
		{"Range: bytes=1-2|If-Unmodified-Since: " + before, 412}, {"Range: bytes=9-|If-Unmodified-Since: " + before, 412},
		{"Range: bytes=1-2|If-Unmodified-Since: " + stamped, 206}, {"Range: bytes=9-|If-Unmodified-Since: " + stamped, 416},
		{"Range: bytes=1-2|If-Unmodified-Since: yesterday", 200}, {"Range: bytes=1-2|If-Modified-Since: " + stamped, 304},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			transfers := s.DataConnections()
			got := request(t.Context(), c, method, s.URL("/f"), strings.Split(tt.fields, "|")...)
			want := tt.status
			if method == "HEAD" && (want == 206 || want == 416) { // HEAD has no ranges
				want = 200
			}
			if got.err != nil || got.StatusCode != want || got.StatusCode < 400 && got.Header.Get("Last-Modified") != stamped {
				t.Errorf("%s %q: got %q, %v, %v, want %d", method, tt.fields, got.shown(), got.Header, got.err, want)
			}
			if (want == 304 || want == 412) && s.DataConnections() != transfers {
				t.Errorf("%s %q: a transfer", method, tt.fields)
			}
			if want == 304 && (got.contents != "" || got.Header.Get("Content-Length")+got.Header.Get("Content-Type") != "") {
				t.Errorf("%s %q: got %q, %v", method, tt.fields, got.contents, got.Header)
			}
		}
	}
	for path, want := range map[string]int{"/d/": 304, "/none": 404, "/none/": 404} {
		if got := request(t.Context(), c, "GET", s.URL(path), "If-None-Match: *", "If-Modified-Since: "+stamped); got.StatusCode != want || got.err != nil {
			t.Errorf("%s: got %q, %v, want %d", path, got.shown(), got.err, want)
		}
	}
	if n := s.Connections(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// A request with If-Unmodified-Since never gets the rest of a file that has changed, whether the file changes before
// the request or between the two commands about it, or the server does not give its time.
func TestConditionsOfChangedFile(t *testing.T) {
	const old, changed = "213 20260102030405", "213 20260102030406"
	for _, tt := range []struct{ first, second, want string }{
		{old, old, "206 Partial Content|cdef"}, {changed, changed, "412 "}, {old, changed, "412 "}, {"502 Unknown", "502 Unknown", "200 OK|abcdef"},
		{"502 Unknown", changed, "412 "},
	} {
		honest := testserver.Honest("abcdef").With("MDTM", testserver.Reply(tt.second)).With("#1 MDTM", testserver.Reply(tt.first)).With("REST", testserver.Reply("350 Go"))
		transfer := testserver.Sequence(testserver.Reply("150 Go"), testserver.Data("cdef", testserver.Closed), testserver.Reply("226 Done"))
		s := testserver.New(t, nil, honest, testserver.OnConn(1, testserver.On("#1 RETR", testserver.Transfer("f")), testserver.On("#2 RETR", transfer)))
		got := request(t.Context(), registered(t, &ftpexec.Client{MaxIdle: 1}), "GET", s.URL("/f"), "Range: bytes=2-", "If-Unmodified-Since: "+stamped)
		if !strings.HasPrefix(got.shown(), tt.want) || got.err != nil {
			t.Errorf("%s and %s: got %q, %v, want %q", tt.first, tt.second, got.shown(), got.err, tt.want)
		}
	}
}

// HEAD and GET agree about a directory whose URL does not end in a slash, whatever the server says about its time.
func TestHeadOfDirectory(t *testing.T) {
	s := testserver.New(t, &testserver.Options{ModTime: stamp, Tree: map[string]string{"/d/a": "", "/d/e/b": ""}})
	c := registered(t, &ftpexec.Client{})
	for _, path := range []string{"/d", "/d/e", "/d/e;type=a"} {
		get := request(t.Context(), c, "GET", s.URL(path))
		head := request(t.Context(), c, "HEAD", s.URL(path))
		if get.StatusCode != 404 || head.StatusCode != 404 || get.err != nil || head.err != nil {
			t.Errorf("%s: GET %s, %v, HEAD %s, %v", path, get.Status, get.err, head.Status, head.err)
		}
	}
	unsized := testserver.Honest("contents").With("SIZE", testserver.Reply("502 Unknown"))
	for reply, want := range map[string]string{"550 Not a directory": "200 OK", "250 Done": "404 Not Found", "421 Busy": "200 OK"} {
		s := testserver.New(t, nil, unsized.With("CWD f", testserver.Reply(reply)))
		if got := request(t.Context(), registered(t, &ftpexec.Client{}), "HEAD", s.URL("/f")); got.Status != want || got.err != nil {
			t.Errorf("%s: got %s, %v, want %s", reply, got.Status, got.err, want)
		}
	}
}
