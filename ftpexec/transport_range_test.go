package ftpexec_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

// Every range of a small file. HEAD ignores Range.
func TestTransportRange(t *testing.T) {
	files := map[string]string{"/empty": "", "/one": "a", "/f": "abcdef"}
	s := testserver.New(t, &testserver.Options{ModTime: stamp, Tree: files})
	c := registered(t, &ftpexec.Transport{})
	for path, file := range files {
		n := len(file)
		check := func(spec string, first, last int) {
			want := fmt.Sprintf("206 Partial Content\nContent-Length: %d\nContent-Range: bytes %d-%d/%d\nAccept-Ranges: bytes\n", min(last, n-1)-first+1, first, min(last, n-1), n)
			whole := fmt.Sprintf("200 OK\nContent-Length: %d\nAccept-Ranges: bytes\n", n)
			contents := file
			switch {
			case n == 0 || last < first && first < n: // nothing to ask for, or malformed: ignored (RFC 9110 section 14.2)
				want = whole
			case first >= n: // malformed or not
				contents = "invalid range: failed to overlap\n"
				want = fmt.Sprintf("416 Requested Range Not Satisfiable\nContent-Length: %d\nContent-Range: bytes */%d\n", len(contents), n)
			default:
				contents = file[first : min(last, n-1)+1]
			}
			if got := request(t, c, "GET", s.URL(path), "Range: "+spec); got.err != nil || got.shown("Content-Length", "Content-Range", "Accept-Ranges") != want+contents {
				t.Errorf("%s of %d bytes: got %q, %v, want %q", spec, n, got.shown("Content-Length", "Content-Range", "Accept-Ranges"), got.err, want+contents)
			}
			if got := request(t, c, "HEAD", s.URL(path), "Range: "+spec); got.shown("Content-Length", "Content-Range", "Accept-Ranges") != whole { // RFC 9110 section 14.2
				t.Errorf("HEAD, %s of %d bytes: got %q, want %q", spec, n, got.shown("Content-Length", "Content-Range", "Accept-Ranges"), whole)
			}
		}
		for first := range n + 2 {
			for last := range n + 2 {
				check(fmt.Sprintf("bytes=%d-%d", first, last), first, last)
			}
			check(fmt.Sprintf("bytes=%d-", first), first, max(first, n-1))
			if first > 0 {
				check(fmt.Sprintf("bytes=-%d", first), max(0, n-first), n-1)
			}
		}
		for _, ignored := range []string{"bytes=0-0,2-3", "bytes=0-0, ", "bytes=-0", "bytes=-", "bytes=", "bytes", "lines=0-0", "bytes=a-b", "bytes=1", "bytes=-1-2",
			"bytes=0x0-1", "bytes=99999999999999999999-", "bytes=0-99999999999999999999", "bytes=-99999999999999999999", "0-0"} {
			check(ignored, 0, -1)
		}
	}
}

// The order and the rules are those of RFC 9110 section 13.2.2.
func TestTransportConditions(t *testing.T) {
	s := testserver.New(t, &testserver.Options{ModTime: stamp, Tree: map[string]string{"/f": "abcdef"}})
	c := registered(t, &ftpexec.Transport{})
	const (
		tag    = `W/"6-695735a5"`
		strong = `"6-695735a5"`
		before = "Fri, 02 Jan 2026 03:04:04 GMT"
		then   = "Fri, 02 Jan 2026 03:04:05 GMT"
		after  = "Fri, 02 Jan 2026 03:04:06 GMT"
		some   = "Range: bytes=1-2"
	)
	tests := []struct {
		fields string // separated by "|"
		want   int
	}{
		{"If-None-Match: " + tag, 304}, {"If-None-Match: " + strong, 304}, {"If-None-Match: *", 304}, {`If-None-Match: "x", ` + tag, 304},
		{`If-None-Match: "x"`, 200}, {`If-None-Match: "x"|If-Modified-Since: ` + after, 200}, {"If-None-Match: " + tag + "|If-Modified-Since: " + before, 304},
		{"If-Modified-Since: " + before, 200}, {"If-Modified-Since: " + then, 304}, {"If-Modified-Since: " + after, 304}, {"If-Modified-Since: yesterday", 200},
		{"If-Match: *", 200}, {"If-Match: " + tag, 412}, {"If-Match: " + strong, 412}, {`If-Match: "x"`, 412},
		{"If-Unmodified-Since: " + before, 412}, {"If-Unmodified-Since: " + then, 200}, {"If-Unmodified-Since: " + after, 200}, {"If-Unmodified-Since: soon", 200},
		{"If-Match: *|If-Unmodified-Since: " + before, 200}, {"If-Match: *|If-None-Match: " + tag, 304},
		{some, 206}, {some + "|If-Range: " + then, 206}, {some + "|If-Range: " + before, 200}, {some + "|If-Range: " + after, 200},
		{some + "|If-Range: " + tag, 200}, {some + "|If-Range: " + strong, 200}, {some + `|If-Range: "x"`, 200}, {"If-Range: " + then, 200},
		{some + "|If-Match: " + tag, 412}, {some + "|If-None-Match: " + tag, 304}, {some + "|If-Unmodified-Since: " + before, 412},
		{"Range: bytes=9-|If-None-Match: " + tag, 304}, {"Range: bytes=9-|If-Range: " + before, 200},
	}
	contents := map[int]string{200: "abcdef", 206: "bc"}
	for _, method := range []string{"GET", "HEAD"} {
		for _, tt := range tests {
			got := request(t, c, method, s.URL("/f"), strings.Split(tt.fields, "|")...)
			status, want := tt.want, contents[tt.want]
			if method == "HEAD" {
				want = ""
				if status == 206 {
					status = 200
				}
			}
			if got.StatusCode != status || got.contents != want || got.err != nil {
				t.Errorf("%s with %s: got %q, %v, want %d", method, tt.fields, got.shown(), got.err, tt.want)
			}
			if tt.want == 304 && (got.Header.Get("ETag") != tag || got.Header.Get("Content-Length") != "") {
				t.Errorf("%s with %s: got %v", method, tt.fields, got.Header)
			}
		}
	}
}

// What the server does not tell is not used: the file comes whole then.
func TestTransportUnknown(t *testing.T) {
	const contents = "contents"
	no := testserver.Reply("550 No")
	unknown := testserver.Reply("502 What?")
	announced := []testserver.Action{testserver.Reply("150 Here is f (8 bytes)"), testserver.SendData(contents), testserver.CloseData(), testserver.Reply("226 Done")}
	restarts := testserver.Honest(contents).With("REST", testserver.Reply("350 Go")).With("RETR", testserver.Transfer(contents[2:])...)
	grows := testserver.OnConn(1, testserver.OnNth(1, "SIZE", testserver.Reply("213 5")))
	tests := []struct {
		name   string
		server []testserver.Step
		fields string
		want   string // status, Content-Length, Accept-Ranges
	}{
		{"no size", []testserver.Step{testserver.Honest(contents).With("SIZE", unknown)}, "Range: bytes=2-", "200  "},
		{"no size, then announced", []testserver.Step{testserver.Honest(contents).With("SIZE", unknown).With("RETR", announced...)}, "Range: bytes=2-", "200 8 bytes"},
		{"no time", []testserver.Step{testserver.Honest(contents).With("MDTM", unknown)}, "If-Modified-Since: Tue, 01 Jan 2075 00:00:00 GMT", "200 8 bytes"},
		{"neither", []testserver.Step{testserver.Honest(contents).With("MDTM", unknown).With("SIZE", unknown)}, "If-None-Match: W/\"8-0\"", "200  "},
		{"neither, 550", []testserver.Step{testserver.Honest(contents).With("MDTM", no).With("SIZE", no)}, "Range: bytes=2-", "200  "},
		{"neither, 550, any", []testserver.Step{testserver.Honest(contents).With("MDTM", no).With("SIZE", no)}, "If-Match: *", "200  "},
		{"gone", []testserver.Step{testserver.Honest(contents).With("MDTM", no).With("SIZE", no).With("RETR", no)}, "If-None-Match: *", "404"},
		{"gone", []testserver.Step{testserver.Honest(contents).With("MDTM", no).With("SIZE", no).With("RETR", no)}, "If-Match: \"x\"", "404"},
		{"no REST", []testserver.Step{testserver.Honest(contents)}, "Range: bytes=2-", "200 8 bytes"},
		{"REST", []testserver.Step{restarts}, "Range: bytes=2-", "206 6 bytes"},
		{"grows", []testserver.Step{testserver.Honest(contents).With("REST", testserver.Reply("350 Go")), grows}, "Range: bytes=-3", "200 8 bytes"},
		{"shrinks", []testserver.Step{testserver.Honest("con").With("REST", testserver.Reply("350 Go")), testserver.OnNth(1, "SIZE", testserver.Reply("213 8"))}, "Range: bytes=5-", "416 33 "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k := &closings{network: ftptest.NewNetwork()}
			s := k.network.NewScript(t, tt.server...)
			c := registered(t, &ftpexec.Transport{Client: &ftpexec.Client{MaxIdle: -1, Dial: k.dial}})
			got := request(t, c, "GET", s.URL("/d/f"), tt.fields)
			shown := fmt.Sprintf("%d %s %s", got.StatusCode, got.Header.Get("Content-Length"), got.Header.Get("Accept-Ranges"))
			if n := k.open.Load(); n != 0 {
				t.Errorf("%d connections are open", n)
			}
			if told := got.Header.Get("ETag") != ""; told != (shown == tt.want && strings.Contains(shown, "bytes") && tt.name != "no time") {
				t.Errorf("got %v", got.Header)
			}
			if !strings.HasPrefix(shown, tt.want) || got.err != nil || got.StatusCode == 200 && got.contents != contents {
				t.Errorf("got %q, %q, %v, want %q", shown, got.contents, got.err, tt.want)
			}
			if (got.ContentLength < 0) != (got.Header.Get("Content-Length") == "") {
				t.Errorf("ContentLength %d, %v", got.ContentLength, got.Header)
			}
		})
	}
}

// A transfer that ends early, at whatever byte, is an error of the last Read. A part of a file that does not reach its end
// needs only its own bytes.
func TestTransportTruncated(t *testing.T) {
	const contents = "contents"
	for _, r := range []struct {
		field       string
		first, last int
	}{{"", 0, 7}, {"Range: bytes=2-", 2, 7}, {"Range: bytes=-3", 5, 7}, {"Range: bytes=2-5", 2, 5}, {"Range: bytes=0-0", 0, 0}} {
		for n := range len(contents) - r.first + 1 {
			for _, final := range []string{"226 Done", "426 Broken", ""} {
				end := testserver.Reply(final)
				if final == "" {
					end = testserver.CloseConn()
				}
				s := testserver.NewScript(t, testserver.Honest(contents).With("REST", testserver.Reply("350 Go")), testserver.On("RETR",
					testserver.Reply("150 Go"), testserver.SendData(contents[r.first:r.first+n]), testserver.CloseData(), end))
				fields := []string{}
				if r.field != "" {
					fields = append(fields, r.field)
				}
				got := request(t, registered(t, &ftpexec.Transport{}), "GET", s.URL("/d/f"), fields...)
				want := contents[r.first:min(r.first+n, r.last+1)]
				whole := len(want) == r.last-r.first+1 && (r.last < 7 || final == "226 Done")
				if got.contents != want || (got.err == nil) != whole || got.err != nil && !errors.As(got.err, new(*ftpexec.Error)) {
					t.Errorf("%q, %d bytes, %q: got %q, %v, want %q and an error: %t", r.field, n, final, got.contents, got.err, want, !whole)
				}
				if got.ContentLength != int64(r.last-r.first+1) || r.field != "" && got.StatusCode != http.StatusPartialContent {
					t.Errorf("%q: got %s with %d bytes", r.field, got.Status, got.ContentLength)
				}
				s.Close()
			}
		}
	}
}
