package gateway_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/proxy/proxytest"
	"example.com/ftpfetch/urlparse"
)

// TestEnds checks which bodies count as complete.
func TestEnds(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	tests := []struct {
		name, answer string
		text         string
		want         error
		temporary    bool
	}{
		{"length", ok + "Content-Length: 8\r\n\r\ncontents", "contents", nil, false},
		{"empty", ok + "Content-Length: 0\r\n\r\n", "", nil, false},
		{"chunks", ok + "Transfer-Encoding: chunked\r\n\r\n8\r\ncontents\r\n0\r\n\r\n", "contents", nil, false},
		{"no chunk", ok + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "", nil, false},
		{"HTTP/1.0 with a length", "HTTP/1.0 200 OK\r\nContent-Length: 8\r\n\r\ncontents", "contents", nil, false},
		{"compressed on the server", ok + "Content-Encoding: gzip\r\nContent-Length: 8\r\n\r\ncontents", "contents", nil, false},
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
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k := newKit(t, proxytest.Options{}, answering(tt.answer))
			url := "ftp://h/f"
			if strings.Contains(tt.name, "by its name") {
				url += ".HTML"
			}
			text, _, err := k.read(t, url, 0)
			var e *ftpexec.Error
			if text != tt.text || !errors.Is(err, tt.want) || tt.want == nil && err != nil {
				t.Errorf("got %q, %v, want %q, %v", text, err, tt.text, tt.want)
			}
			if errors.As(err, &e) && e.Temporary() != tt.temporary || err != nil && strings.Contains(err.Error(), "hidden") {
				t.Errorf("got %v, temporary %v", err, e.Temporary())
			}
		})
	}
}

// TestNotHTTP checks that an answer that is not HTTP is no refusal of one file, and not shown.
func TestNotHTTP(t *testing.T) {
	for _, answer := range []string{"220 hidden\r\n\r\n", "HTTP/1.1 2000 hidden\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: hidden\r\n\r\n", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("hidden", 1<<14)} {
		k := newKit(t, proxytest.Options{}, answering(answer))
		_, _, err := k.read(t, "ftp://h/f", 0)
		var e *ftpexec.Error
		if !errors.As(err, &e) || e.Stage != "connect" || e.Temporary() || strings.Contains(err.Error(), "hidden") || !strings.Contains(err.Error(), "not HTTP") {
			t.Errorf("%.30q: got %v", answer, err)
		}
	}
}

func TestStat(t *testing.T) {
	noHead := func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		serving("contents")(w, r)
	}
	blindHead := func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodHead {
			w.WriteHeader(http.StatusNotFound)
		}
	}
	tests := []struct {
		name  string
		serve http.HandlerFunc
		size  int64
		want  error
	}{
		{"HEAD", serving("contents"), 8, nil},
		{"no HEAD", noHead, 8, nil},
		{"HEAD that tells nothing", blindHead, 0, ftpexec.ErrNotFound},
		{"not found", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }, 0, ftpexec.ErrNotFound},
		{"chunks", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Last-Modified", modified.Format(http.TimeFormat))
			w.(http.Flusher).Flush()
		}, -1, nil},
	}
	for _, tt := range tests {
		k := newKit(t, proxytest.Options{}, tt.serve)
		info, err := k.Stat(t.Context(), urlOf(t, "ftp://h/f"))
		if !errors.Is(err, tt.want) || tt.want == nil && (err != nil || info.Size != tt.size || !info.ModTime.Equal(modified)) {
			t.Errorf("%s: got %+v, %v, want %d, %v", tt.name, info, err, tt.size, tt.want)
		}
	}
}

// TestStatAll asks for three files after a refused CONNECT, and ends after a failure that is no refusal of CONNECT.
func TestStatAll(t *testing.T) {
	urls := []*urlparse.URL{urlOf(t, "ftp://h/f"), urlOf(t, "ftp://h/none"), urlOf(t, "ftp://h/g")}
	for status, answers := range map[int]int{403: 3, 500: 1} {
		k := newKit(t, proxytest.Options{Status: status}, func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.RequestURI, "none") {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			serving("contents")(w, r)
		})
		for range 2 {
			n := 0
			for info, err := range k.StatAll(t.Context(), urls) {
				if missing := n == 1; answers == 3 && (missing != errors.Is(err, ftpexec.ErrNotFound) || !missing && (err != nil || info.Size != 8)) {
					t.Errorf("file %d: got %+v, %v", n, info, err)
				}
				n++
			}
			if n != answers {
				t.Errorf("CONNECT is refused with %d: %d answers, want %d", status, n, answers)
			}
		}
		if got := len(k.proxy.Targets()); status == 403 && got != 1 {
			t.Errorf("%d times CONNECT, want 1", got)
		}
	}
}

// stalling sends the first half of a file and then nothing, until the client hangs up.
func stalling(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Length", "8")
	_, _ = w.Write([]byte("cont"))
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

// TestUnreachable checks that a proxy that is not there is no answer of the server.
func TestUnreachable(t *testing.T) {
	k := newKit(t, proxytest.Options{}, serving(""))
	k.through(t, "http://[::1]:1")
	k.Always = true
	_, _, err := k.read(t, "ftp://h/f", 0)
	var e *ftpexec.Error
	if !errors.Is(err, ftpexec.ErrConnect) || !errors.As(err, &e) || e.Stage != "connect" || !strings.Contains(err.Error(), "proxy http://[::1]:1") {
		t.Errorf("got %v, want ErrConnect that names the proxy", err)
	}
}

var errEnough = errors.New("enough")

// TestCancel ends the context while the header or the body is on its way.
func TestCancel(t *testing.T) {
	for _, header := range []bool{false, true} {
		ctx, cancel := context.WithCancelCause(t.Context())
		k := newKit(t, proxytest.Options{}, func(w http.ResponseWriter, r *http.Request) {
			if header {
				cancel(errEnough)
				<-r.Context().Done()
			}
			stalling(w, r)
		})
		k.Always = true
		r, err := k.Do(ctx, &ftpexec.Request{URL: urlOf(t, "ftp://h/f")})
		if !header && err == nil {
			buf := make([]byte, 8)
			if _, err = r.Body.Read(buf); err != nil {
				t.Fatal(err)
			}
			cancel(errEnough)
			_, err = r.Body.Read(buf)
			r.Body.Close()
		}
		if !errors.Is(err, errEnough) {
			t.Errorf("got %v, want the context's cause", err)
		}
	}
}

// TestCloseInRead closes the body while it is read.
func TestCloseInRead(t *testing.T) {
	k := newKit(t, proxytest.Options{}, stalling)
	r, err := k.Do(t.Context(), &ftpexec.Request{URL: urlOf(t, "ftp://h/f")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Body.Read(make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := r.Body.Read(make([]byte, 8))
		done <- err
	}()
	r.Body.Close()
	if err := <-done; err == nil {
		t.Error("a Read of a closed body succeeds")
	}
}
