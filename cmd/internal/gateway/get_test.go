package gateway_test

import (
	"bufio"
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ftpfetch/cmd/internal/gateway"
	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/network/proxy"
	"example.com/ftpfetch/internal/network/proxy/proxytest"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/timing"
	"example.com/ftpfetch/urlparse"
)

// speaking returns a kit whose proxy calls speak for each connection. The Source uses GET at once.
func speaking(t *testing.T, speak func(net.Conn)) *kit {
	p := must.Get(proxy.Parse("http://proxy.test"))(t)
	s := gateway.New(&ftpexec.Client{}, p, func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go speak(far)
		return near, nil
	})
	s.Always = true
	return &kit{Source: s}
}

// TestEnds checks which bodies count as complete.
func TestEnds(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for _, tt := range []ending{
		{"length", ok + "Content-Length: 8\r\n\r\ncontents", "contents", nil, false},
		{"empty", ok + "Content-Length: 0\r\n\r\n", "", nil, false},
		{"chunks", ok + "Transfer-Encoding: chunked\r\n\r\n8\r\ncontents\r\n0\r\n\r\n", "contents", nil, false},
		{"chunks of Apache", ok + "Server: Apache/2.4.71 (Debian)\r\nTransfer-Encoding: chunked\r\n\r\n8\r\ncontents\r\n0\r\n\r\n", "", ftpexec.ErrProtocol, false},
		{"length from Apache", ok + "Server: Apache/2.4.71 (Debian)\r\nContent-Length: 8\r\n\r\ncontents", "contents", nil, false},
		{"no chunk", ok + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "", nil, false},
		{"HTTP/1.0 with a length", "HTTP/1.0 200 OK\r\nContent-Length: 8\r\n\r\ncontents", "contents", nil, false},
		{"compressed on the server by its name.gz", ok + "Content-Encoding: gzip\r\nContent-Length: 8\r\n\r\ncontents", "contents", nil, false},
		{"compressed on the server by its name.tar.Z", ok + "Content-Encoding: x-compress\r\nContent-Length: 8\r\n\r\ncontents", "contents", nil, false},
		{"no encoding", ok + "Content-Encoding: identity\r\nContent-Length: 8\r\n\r\ncontents", "contents", nil, false},
		{"compressed by the proxy", ok + "Content-Encoding: gzip\r\nContent-Length: 8\r\n\r\ncontents", "", ftpexec.ErrProtocol, false},
		{"compressed by the proxy, chunked", ok + "Content-Encoding: deflate\r\nTransfer-Encoding: chunked\r\n\r\n8\r\ncontents\r\n0\r\n\r\n", "", ftpexec.ErrProtocol, false},
		{"compressed twice by its name.gz", ok + "Content-Encoding: gzip, gzip\r\nContent-Length: 8\r\n\r\ncontents", "", ftpexec.ErrProtocol, false},
		{"an encoding without a name", ok + "Content-Encoding: hidden\r\nContent-Length: 8\r\n\r\ncontents", "", ftpexec.ErrProtocol, false},
		{"more than announced", ok + "Content-Length: 7\r\n\r\ncontents", "content", ftpexec.ErrProtocol, false},
		{"more than nothing", ok + "Content-Length: 0\r\n\r\ncontents", "", ftpexec.ErrProtocol, false},
		{"more than announced, HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 7\r\n\r\ncontents", "content", ftpexec.ErrProtocol, false},
		{"more than nothing, HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\ncontents", "", ftpexec.ErrProtocol, false},
		{"more than announced, and the end", ok + "Connection: close\r\nContent-Length: 7\r\n\r\ncontents", "content", ftpexec.ErrProtocol, false},
		{"more than announced, in chunks", ok + "Content-Length: 7\r\nTransfer-Encoding: chunked\r\n\r\n8\r\ncontents\r\n0\r\n\r\n", "contents", ftpexec.ErrProtocol, false},
		{"less than announced, in chunks", ok + "Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n8\r\ncontents\r\n0\r\n\r\n", "contents", ftpexec.ErrTruncated, true},
		{"as announced, in chunks", ok + "Content-Length: 8\r\nTransfer-Encoding: chunked\r\n\r\n8\r\ncontents\r\n0\r\n\r\n", "contents", nil, false},
		{"more after the last chunk", ok + "Transfer-Encoding: chunked\r\n\r\n8\r\ncontents\r\n0\r\n\r\nmore", "contents", nil, false},
		{"more than announced after 100 Continue", "HTTP/1.1 100 Continue\r\n\r\n" + ok + "Content-Length: 7\r\n\r\ncontents", "content", ftpexec.ErrProtocol, false},
		{"after 100 Continue", "HTTP/1.1 100 Continue\r\n\r\n" + ok + "Content-Length: 8\r\n\r\ncontents", "contents", nil, false},
		{"cut", ok + "Content-Length: 9\r\n\r\ncontents", "contents", ftpexec.ErrTruncated, true},
		{"cut before the first byte", ok + "Content-Length: 9\r\n\r\n", "", ftpexec.ErrTruncated, true},
		{"cut in a chunk", ok + "Transfer-Encoding: chunked\r\n\r\n9\r\ncontents", "contents", ftpexec.ErrTruncated, true},
		{"cut between chunks", ok + "Transfer-Encoding: chunked\r\n\r\n8\r\ncontents\r\n", "contents", ftpexec.ErrTruncated, true},
		{"cut in the last chunk", ok + "Transfer-Encoding: chunked\r\n\r\n8\r\ncontents\r\n0\r\n", "contents", ftpexec.ErrLost, true},
		{"malformed chunk", ok + "Transfer-Encoding: chunked\r\n\r\n8\r\ncontents\r\nhidden\r\n", "contents", ftpexec.ErrLost, true},
		{"no end", ok + "\r\ncontents", "", ftpexec.ErrProtocol, false},
		{"no end, HTTP/1.0", "HTTP/1.0 200 OK\r\n\r\ncontents", "", ftpexec.ErrProtocol, false},
		{"listing", ok + "Content-Type: text/html; charset=utf-8\r\nContent-Length: 8\r\n\r\ncontents", "", ftpexec.ErrNotFound, false},
		{"page of squid", ok + "X-Squid-Error: ERR_DIR_LISTING 0\r\nContent-Length: 8\r\n\r\ncontents", "", ftpexec.ErrNotFound, false},
		{"HTML by its name", ok + "Content-Type: text/html\r\nContent-Length: 8\r\n\r\ncontents", "contents", nil, false},
		{"file in HTML", ok + "Content-Type: text/html\r\nLast-Modified: Thu, 04 Mar 2021 05:06:07 GMT\r\nContent-Length: 8\r\n\r\ncontents", "contents", nil, false},
		{"no answer", "", "", ftpexec.ErrLost, true},
		{"half a header", "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n", "", ftpexec.ErrLost, true},
		{"not HTTP", "220 hidden\r\n\r\n", "", proxy.ErrRefused, false}, // not about one file, and not shown
		{"not HTTP: status", "HTTP/1.1 2000 hidden\r\n\r\n", "", proxy.ErrRefused, false},
		{"not HTTP: length", ok + "Content-Length: hidden\r\n\r\n", "", proxy.ErrRefused, false},
		{"not HTTP: long", ok + "X: " + strings.Repeat("hidden", 1<<14), "", proxy.ErrRefused, false},
	} {
		t.Run(tt.name, tt.check)
	}
}

// ending is an answer of a proxy, and what becomes of its body.
type ending struct {
	name, answer string
	text         string
	want         error
	temporary    bool
}

// check reads the body.
func (e ending) check(t *testing.T) {
	k := speaking(t, func(conn net.Conn) {
		defer conn.Close()
		_, _ = http.ReadRequest(bufio.NewReader(conn))
		_, _ = io.WriteString(conn, e.answer)
	})
	url := "ftp://h/f"
	if _, name, ok := strings.Cut(e.name, "by its name."); ok {
		url += "." + name
	}
	if e.name == "HTML by its name" {
		url += ".HTML"
	}
	text, _, err := k.read(t, url)
	var failed *ftpexec.Error
	if text != e.text || !errors.Is(err, e.want) || e.want == nil && err != nil {
		t.Errorf("got %q, %v, want %q, %v", text, err, e.text, e.want)
	}
	if errors.As(err, &failed) && ftpexec.Retryable(failed) != e.temporary || err != nil && strings.Contains(err.Error(), "hidden") {
		t.Errorf("got %v, temporary %v", err, ftpexec.Retryable(failed))
	}
	if strings.HasPrefix(e.name, "not HTTP") && (failed.Stage != "connect" || !strings.Contains(err.Error(), "not HTTP")) {
		t.Errorf("got %v in stage %q", err, failed.Stage)
	}
}

// TestEndsLate is TestEnds for a proxy that sends the rest of its answer late.
func TestEndsLate(t *testing.T) {
	const more = "the proxy sends more than the 7 bytes that it announced"
	for _, tt := range []struct{ answer, late, want string }{
		{"HTTP/1.0 200 OK\r\nContent-Length: 7\r\n\r\ncontent", "s", more},
		{"HTTP/1.0 200 OK\r\nContent-Length: 7\r\n\r\n", "contents", more},
		{"HTTP/1.0 200 OK\r\nContent-Length: 7\r\n\r\ncontent", "s and more", more},
		{"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 7\r\n\r\ncontent", "s", more},
		{"HTTP/1.0 200 OK\r\nContent-Length: 7\r\n\r\ncontent", "", ""},
		{"HTTP/1.0 200 OK\r\nContent-Length: 7\r\n\r\n", "content", ""},
		{"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 7\r\n\r\nc", "ontent", ""},
		{"HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\nContent-Length: 7\r\n\r\n7\r\ncont", "ent\r\n0\r\n\r\n", ""},
	} {
		k := speaking(t, func(conn net.Conn) {
			defer conn.Close()
			_, _ = http.ReadRequest(bufio.NewReader(conn))
			_, _ = io.WriteString(conn, tt.answer)
			_, _ = io.WriteString(conn, tt.late)
		})
		text, _, err := k.read(t, "ftp://h/f")
		if text != "content" || tt.want == "" && err != nil || tt.want != "" && !strings.Contains(fmt.Sprint(err), tt.want) {
			t.Errorf("%q, %q: got %q, %v", tt.answer, tt.late, text, err)
		}
	}
}

// TestStaysOpen checks that a proxy that keeps the connection of its last answer open is waited for only for a second,
// and one that says that it will not at all.
func TestStaysOpen(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"HTTP/1.0 200 OK\r\n": time.Second, "HTTP/1.1 200 OK\r\nConnection: close\r\n": time.Second, "HTTP/1.1 200 OK\r\n": 0,
		"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n": 0, "HTTP/1.0 200 OK\r\nProxy-Connection: Keep-Alive\r\n": 0,
	} {
		synctest.Test(t, func(t *testing.T) {
			done := make(chan struct{})
			k := speaking(t, func(conn net.Conn) {
				defer close(done)
				slowly(conn, header+"Content-Length: 8\r\n\r\ncontents", 0, 0)
			})
			begun := time.Now()
			text, _, err := k.read(t, "ftp://h/f")
			if took := time.Since(begun); text != "contents" || err != nil || took != want {
				t.Errorf("%q: got %q, %v after %v, want %v", header, text, err, took, want)
			}
			k.CloseIdleConnections()
			<-done
		})
	}
}

// TestAnnounced fetches a file in chunks whose size HEAD has told before. If the two differ, HEAD is asked again,
// because the file may have changed.
func TestAnnounced(t *testing.T) {
	for _, tt := range []struct {
		sizes []int // that HEAD tells; -1 for none, -2 for 404, -3 for 405
		want  string
		asked int // requests, without the first
	}{
		{[]int{8}, "", 1},
		{[]int{-1}, "", 1},
		{[]int{9}, "transfer incomplete: the proxy sends 8 of the 9 bytes that it announced", 2},
		{[]int{7}, "the proxy sends more than the 7 bytes that it announced", 2},
		{[]int{0}, "the proxy sends more than the 0 bytes that it announced", 2},
		{[]int{9, 8}, "", 2}, // it has changed since
		{[]int{8, 9}, "", 1},
		{[]int{9, 10}, "8 of the 10 bytes", 2},
		{[]int{9, -1}, "", 3}, // HEAD tells nothing, and GET neither
		{[]int{9, -3}, "", 3},
		{[]int{9, -2}, "not found", 2},
	} {
		heads := 0
		k := newKit(t, proxytest.Options{}, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				w.(http.Flusher).Flush() // the length is not known
				_, _ = io.WriteString(w, "contents")
				return
			}
			size := tt.sizes[min(heads, len(tt.sizes)-1)]
			heads++
			switch {
			case size >= 0:
				w.Header().Set("Content-Length", strconv.Itoa(size))
			case size < -1:
				w.WriteHeader(402 - size)
			}
		})
		k.Always = true
		must.Get(k.Stat(t.Context(), urlOf(t, "ftp://h/f")))(t)
		before := len(k.asked())
		text, _, err := k.read(t, "ftp://h/f")
		if text != "contents" || tt.want == "" && err != nil || tt.want != "" && !strings.Contains(fmt.Sprint(err), tt.want) {
			t.Errorf("HEAD tells %v: got %q, %v, want %q", tt.sizes, text, err, tt.want)
		}
		if n := len(k.asked()) - before; n != tt.asked {
			t.Errorf("HEAD tells %v: %d requests, want %d", tt.sizes, n, tt.asked)
		}
	}
}

// TestEmptyAmongOthers reads the body of an empty file after its connection has served another one.
func TestEmptyAmongOthers(t *testing.T) {
	conns := 0
	k := speaking(t, func(conn net.Conn) {
		defer conn.Close()
		conns++
		r := bufio.NewReader(conn)
		for _, text := range []string{"", "contents"} {
			_, _ = http.ReadRequest(r)
			_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
		}
	})
	r := must.Get(k.Do(t.Context(), &ftpexec.Request{URL: urlOf(t, "ftp://h/empty")}))(t)
	defer r.Body.Close()
	text, _, err := k.read(t, "ftp://h/f")
	none, nerr := io.ReadAll(r.Body)
	if text != "contents" || err != nil || len(none) != 0 || nerr != nil || conns != 1 {
		t.Errorf("%d connections: got %q, %v, then %q, %v", conns, text, err, none, nerr)
	}
}

func TestStat(t *testing.T) {
	// by answers HEAD and GET differently.
	by := func(head, get http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			map[string]http.HandlerFunc{http.MethodHead: head, http.MethodGet: get}[r.Method](w, r)
		}
	}
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	for _, tt := range []struct {
		name  string
		serve http.HandlerFunc
		size  int64
		want  error
	}{
		{"HEAD", serving("contents"), 8, nil},
		{"no HEAD", by(status(405), serving("contents")), 8, nil},
		{"HEAD that tells nothing", by(status(200), status(404)), 0, ftpexec.ErrNotFound},
		{"not found", status(404), 0, ftpexec.ErrNotFound},
		{"chunks", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Last-Modified", modified.Format(http.TimeFormat))
			w.(http.Flusher).Flush()
		}, -1, nil},
	} {
		k := newKit(t, proxytest.Options{}, tt.serve)
		info, err := k.Stat(t.Context(), urlOf(t, "ftp://h/f"))
		if !errors.Is(err, tt.want) || tt.want == nil && (err != nil || info.Size != tt.size || !info.ModTime.Equal(modified)) {
			t.Errorf("%s: got %+v, %v, want %d, %v", tt.name, info, err, tt.size, tt.want)
		}
	}
}

// TestStatAll asks about three files after a refused CONNECT. Any other failure must end StatAll.
func TestStatAll(t *testing.T) {
	urls := []*urlparse.URL{urlOf(t, "ftp://h/f"), urlOf(t, "ftp://h/none"), urlOf(t, "ftp://h/g")}
	for status, want := range map[int]string{403: "f 8, none -1, g 8, f 8, none -1, g 8, ", 500: "f -1, f -1, "} {
		k := newKit(t, proxytest.Options{Status: status}, func(w http.ResponseWriter, r *http.Request) {
			if !strings.Contains(r.RequestURI, "none") {
				serving("contents")(w, r)
			} else {
				w.WriteHeader(http.StatusNotFound)
			}
		})
		got := ""
		for i := range 2 {
			n := 0
			for info, err := range k.StatAll(t.Context(), urls) {
				if err != nil {
					info.Size = -1
				}
				got += fmt.Sprintf("%s %d, ", urls[n].Name, info.Size)
				n++
			}
			if tunnels := len(k.proxy.Targets()); got != want[:len(want)/(2-i)] || status == 403 && tunnels != 1 {
				t.Errorf("CONNECT is refused with %d, %d times: got %q, want %q", status, tunnels, got, want)
			}
		}
	}
}

// TestStatAllErrors checks that each URL gets an entry or an error that names it, even after the end of the context and
// for another server.
func TestStatAllErrors(t *testing.T) {
	k := newKit(t, proxytest.Options{}, serving("contents"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	urls := []*urlparse.URL{urlOf(t, "ftp://h/f"), urlOf(t, "ftp://other/f"), urlOf(t, "ftps://h/f"), nil, urlOf(t, "ftp://h/g"), urlOf(t, "ftp://h/h"), urlOf(t, "ftp://h/i")}
	var got []string
	for e, err := range k.StatAll(ctx, urls) {
		if failed, ok := errors.AsType[*ftpexec.Error](err); ok {
			got = append(got, "error "+failed.URL)
		} else {
			got = append(got, e.URL.String())
		}
		if len(got) == 5 {
			cancel()
		}
	}
	want := []string{"ftp://h/f", "error ftp://other/f", "error ftps://h/f", "error ", "ftp://h/g", "error ftp://h/h"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	got = nil
	for _, err := range k.StatAll(ctx, urls[4:]) {
		if failed, ok := errors.AsType[*ftpexec.Error](err); ok && errors.Is(err, context.Canceled) {
			got = append(got, failed.URL)
		}
	}
	if !slices.Equal(got, []string{"ftp://h/g"}) {
		t.Errorf("after the end of the context: errors for %q", got)
	}
}

// TestInterrupted ends the context while the client waits for the header or the body, or closes the body while it is
// being read.
func TestInterrupted(t *testing.T) {
	enough := errors.New("enough")
	for _, when := range []string{"header", "body", "close"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		k := newKit(t, proxytest.Options{}, func(w http.ResponseWriter, r *http.Request) {
			if when == "header" {
				cancel(enough)
			} else {
				w.Header().Set("Content-Length", "8")
				_, _ = w.Write([]byte("cont"))
				w.(http.Flusher).Flush()
			}
			<-r.Context().Done()
		})
		k.Always = true
		r, err := k.Do(ctx, &ftpexec.Request{URL: urlOf(t, "ftp://h/f")})
		if err == nil {
			buf := make([]byte, 8)
			must.Get(r.Body.Read(buf))(t)
			go func() {
				if when == "body" {
					cancel(enough)
				}
				r.Body.Close()
			}()
			_, err = r.Body.Read(buf)
			r.Body.Close()
		}
		if cancel(nil); err == nil || when != "close" && !errors.Is(err, enough) {
			t.Errorf("%s: got %v", when, err)
		}
	}
}

// slowly answers a request on conn with header and n bytes, each after a pause, and waits until the client closes the
// connection.
func slowly(conn net.Conn, header string, n int, pause time.Duration) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	_, _ = http.ReadRequest(r)
	_, _ = io.WriteString(conn, header)
	for range n {
		<-time.After(pause)
		if _, err := io.WriteString(conn, "x"); err != nil {
			return
		}
	}
	_, _ = io.Copy(io.Discard, r)
}

// TestWaits checks how long a proxy may take to send the header and each byte, and that too low a rate is an error.
func TestWaits(t *testing.T) {
	const header = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"
	for _, tt := range []struct {
		name, header string
		n            int
		pause        time.Duration
		want         string // the error; "" for none
		at           time.Duration
		rate         int64
	}{
		{"no header", "", 0, 0, "no answer in time", time.Minute, 0},
		{"a header that stops", header[:17], 0, 0, "no answer in time", time.Minute, 0},
		{"no byte", header, 0, 0, "timed out: no data for 1m0s", time.Minute, 0},
		{"no byte after some", header, 1, 30 * time.Second, "timed out: no data for 1m0s", 90 * time.Second, 0},
		{"slow, without a least rate", header, 100, 59 * time.Second, "", 5900 * time.Second, -1},
		{"slow", header, 100, 59 * time.Second, "fewer than 17 bytes per second", 708 * time.Second, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			done := make(chan struct{})
			k := speaking(t, func(conn net.Conn) {
				defer close(done)
				slowly(conn, tt.header, tt.n, tt.pause)
			})
			defer func() {
				k.CloseIdleConnections()
				<-done
			}()
			k.MinRate = tt.rate
			begun, n := time.Now(), int64(0)
			r, err := k.Do(t.Context(), &ftpexec.Request{URL: urlOf(t, "ftp://h/f")})
			if err == nil {
				n, err = io.Copy(io.Discard, r.Body)
				r.Body.Close()
			}
			var e *ftpexec.Error
			late := errors.Is(err, ftpexec.ErrTimeout) && errors.As(err, &e) && ftpexec.Retryable(e) && strings.Contains(err.Error(), tt.want)
			if tt.want == "" && (err != nil || n != 100) || tt.want != "" && !late {
				t.Errorf("%s: got %d bytes, %v, want %q", tt.name, n, err, tt.want)
			}
			if took := time.Since(begun); took != tt.at {
				t.Errorf("%s: after %v, want %v", tt.name, took, tt.at)
			}
		})
	}
}

// TestDownload saves a file whose first transfer is cut off, over one connection and over several, in one run and in
// two. A list of digests beside the file verifies it, although other lists are missing.
func TestDownload(t *testing.T) {
	// The file is longer than the buffers between proxy and disk, so that the start of a cut file arrives.
	large := strings.Repeat("01234567", 1<<18)
	sum := fmt.Sprintf("%x  f\n", md5.Sum([]byte(large)))
	for segments, most := range map[int]int{1: 2, 4: 1} { // other connections take over from one that was cut off
		for runs := 1; runs <= most; runs++ {
			cut := false
			k := newKit(t, proxytest.Options{}, func(w http.ResponseWriter, r *http.Request) {
				switch {
				case strings.HasSuffix(r.RequestURI, "/f.md5;type=i"):
					serving(sum)(w, r)
				case !strings.HasSuffix(r.RequestURI, "/f;type=i"):
					w.WriteHeader(http.StatusNotFound)
				case r.Method == http.MethodGet && !cut:
					cut = true
					w.Header().Set("Content-Length", "2097152")
					_, _ = w.Write([]byte(large[:1<<20]))
				default:
					serving(large)(w, r)
				}
			})
			path := filepath.Join(t.TempDir(), "f")
			o := &download.Options{Retries: 3 - 2*runs, Verify: true, Segments: segments}
			timing.Wait = func(context.Context, time.Duration) error { return nil }
			if runs == 2 {
				if _, err := download.File(t.Context(), k, urlOf(t, "ftp://h/f"), path, o); !errors.Is(err, ftpexec.ErrTruncated) {
					t.Fatalf("got %v, want ErrTruncated", err)
				}
			}
			r, err := download.File(t.Context(), k, urlOf(t, "ftp://h/f"), path, o)
			got, rerr := os.ReadFile(path)
			if err != nil || rerr != nil || string(got) != large || !strings.Contains(r.Verified, "f.md5") {
				t.Errorf("%d segments, %d runs: got %+v, %v, %v, %d bytes", segments, runs, r, err, rerr, len(got))
			}
		}
	}
}
