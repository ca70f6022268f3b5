package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/ftpfetch/cmd/internal/gateway"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/network/proxy"
	"example.com/ftpfetch/internal/network/proxy/proxytest"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/urlparse"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var modified = time.Date(2021, 3, 4, 5, 6, 7, 0, time.UTC)

// kit is a Source with a proxy that refuses CONNECT.
type kit struct {
	*gateway.Source
	proxy *proxytest.Proxy

	mu       sync.Mutex
	requests []*http.Request
	trace    []string
}

// newKit starts a proxy that serves requests with serve.
func newKit(t *testing.T, o proxytest.Options, serve http.HandlerFunc) *kit {
	t.Helper()
	k := &kit{}
	o.Refuse, o.Serve = true, func(w http.ResponseWriter, r *http.Request) {
		k.mu.Lock()
		k.requests = append(k.requests, r.Clone(t.Context()))
		k.mu.Unlock()
		serve(w, r)
	}
	k.proxy = proxytest.NewHTTP(t, &o)
	k.through(t, k.proxy.URL())
	return k
}

// through gives k a new Source, which has not learned anything about the proxy.
func (k *kit) through(t *testing.T, via string) {
	t.Helper()
	p := must.Get(proxy.Parse(via))(t)
	c := &ftpexec.Client{Proxy: func(string) proxy.DialFunc { return p.Dialer(nil) }}
	traced := func(line string) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.trace = append(k.trace, line)
	}
	c.Trace = &ftpexec.Trace{
		Command: func(e ftpexec.CommandInfo) { traced(map[bool]string{false: "> ", true: ">> "}[e.Joined] + e.Text) },
		Reply: func(e ftpexec.ReplyInfo) {
			for _, line := range e.Lines {
				traced("< " + line)
			}
		},
		Note: func(e ftpexec.NoteInfo) { traced("* " + e.Text) },
	}
	k.Source = gateway.New(c, p, nil)
	t.Cleanup(k.CloseIdleConnections)
}

// asked returns the requests so far, as "GET ftp://...".
func (k *kit) asked() (list []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range k.requests {
		list = append(list, r.Method+" "+r.RequestURI)
	}
	return list
}

func urlOf(t *testing.T, text string) *urlparse.URL {
	t.Helper()
	return must.Get(urlparse.Parse(text))(t)
}

// read opens a file and reads it to its end.
func (k *kit) read(t *testing.T, url string) (string, *ftpexec.Response, error) {
	t.Helper()
	r, err := k.Do(t.Context(), &ftpexec.Request{URL: urlOf(t, url)})
	if err != nil {
		return "", nil, err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	return string(text), r, err
}

// serving serves contents as the file of every URL, with HEAD and Range.
func serving(contents string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		http.ServeContent(w, r, "", modified, strings.NewReader(contents))
	}
}

// TestRequests checks the requests to a proxy: bytes are encoded, the type is set, and neither the URL nor the trace
// shows the login.
func TestRequests(t *testing.T) {
	for _, tt := range []struct{ url, want, host string }{
		{"ftp://h/f", "ftp://h/f;type=i", "h"},
		{"ftp://h:2121/a/b.txt;type=i", "ftp://h:2121/a/b.txt;type=i", "h:2121"},
		{"ftp://h/%2Fetc/motd", "ftp://h/%2Fetc/motd;type=i", "h"},
		{"ftp://h/a%2Fb", "ftp://h/a%2Fb;type=i", "h"},
		{"ftp://h/caf%E9%20%3Btype=a%23%25%3F~", "ftp://h/caf%E9%20%3Btype%3Da%23%25%3F%7E;type=i", "h"},
		{"ftp://[::1]:2121/f", "ftp://[::1]:2121/f;type=i", "[::1]:2121"},
		{"ftp://anonymous:hidden@h/f", "ftp://h/f;type=i", "h"},
		{"ftp://me:hidden@h/f", "ftp://h/f;type=i", "h"},
		{"ftp://h/./../f", "ftp://h/./../f;type=i", "h"},
	} {
		k := newKit(t, proxytest.Options{}, serving("contents"))
		k.Always = true
		text, a, err := k.read(t, tt.url)
		if err != nil || text != "contents" || a.Size != 8 || !a.ModTime.Equal(modified) {
			t.Fatalf("%s: got %q, %+v, %v", tt.url, text, a, err)
		}
		r := k.requests[0]
		login := ""
		if strings.Contains(tt.url, "me:") {
			login = "Basic bWU6aGlkZGVu"
		}
		if r.RequestURI != tt.want || r.Host != tt.host || r.Header.Get("Authorization") != login || r.Header.Get("Cache-Control") != "no-cache" || r.Header.Get("Accept-Encoding") != "" {
			t.Errorf("%s: got %s of %s, %q", tt.url, r.RequestURI, r.Host, r.Header)
		}
		trace := []string{"> GET " + tt.want, ">> Authorization: ********", "< HTTP 200 OK"}
		if login == "" {
			trace = slices.Delete(trace, 1, 2)
		}
		if len(k.proxy.Targets()) > 0 || !slices.Equal(k.trace, trace) {
			t.Errorf("%s: CONNECT for %q, and the dialogue is %q, want %q", tt.url, k.proxy.Targets(), k.trace, trace)
		}
	}
}

// TestVia checks the errors of a wrong login for the proxy and of a missing proxy.
func TestVia(t *testing.T) {
	k := newKit(t, proxytest.Options{User: "me", Password: "proxypw"}, serving("contents"))
	for via, want := range map[string]error{
		k.proxy.URLAs("me:proxypw"): nil, k.proxy.URLAs("me:wrong"): proxy.ErrRefused, k.proxy.URL(): proxy.ErrRefused, "http://[::1]:1": ftpexec.ErrConnect,
	} {
		k.through(t, via)
		k.Always = true
		_, _, err := k.read(t, "ftp://h/f")
		var e *ftpexec.Error
		if !errors.Is(err, want) || want == ftpexec.ErrConnect && (!errors.As(err, &e) || e.Stage != "connect" || !strings.Contains(err.Error(), "proxy "+via)) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	if all := strings.Join(k.trace, "\n"); strings.Contains(all, "bWU6") || strings.Contains(all, "proxypw") {
		t.Errorf("the dialogue shows the proxy's password: %s", all)
	}
}

// TestStatuses checks the error for each status, for a GET at once and for a GET after a refused CONNECT.
func TestStatuses(t *testing.T) {
	for _, tt := range []struct {
		status    []int
		want      error
		stage     string
		temporary bool
		refused   bool // CONNECT was refused, and GET does not help
	}{
		{[]int{204, 206, 418}, ftpexec.ErrProtocol, "transfer", false, false},
		{[]int{301, 302}, ftpexec.ErrRefused, "transfer", false, false},
		{[]int{400, 405, 407, 501}, proxy.ErrRefused, "connect", false, true},
		{[]int{401}, ftpexec.ErrLogin, "login", false, false},
		{[]int{403}, ftpexec.ErrRefused, "transfer", false, true},
		{[]int{404, 410}, ftpexec.ErrNotFound, "transfer", false, false},
		{[]int{408, 504}, ftpexec.ErrTimeout, "transfer", true, false},
		{[]int{429}, ftpexec.ErrTooMany, "transfer", true, false},
		{[]int{500, 502, 503}, ftpexec.ErrConnect, "transfer", true, false},
	} {
		for i := range 2 * len(tt.status) {
			status, always := tt.status[i/2], i%2 == 0
			k := newKit(t, proxytest.Options{}, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "http://elsewhere.test/")
				w.WriteHeader(status)
			})
			k.Always = always
			want, stage := tt.want, tt.stage
			switch {
			case !always && tt.refused:
				want, stage = proxy.ErrRefused, "connect"
			case !always && status >= 500: // the server counts as not reached
				stage = "connect"
			}
			_, _, err := k.read(t, "ftp://h/f")
			var e *ftpexec.Error
			if !errors.Is(err, want) || !errors.As(err, &e) || string(e.Stage) != stage || ftpexec.Retryable(e) != tt.temporary || len(k.asked()) != 1 {
				t.Errorf("%d: got %+v, want %v in stage %q; the proxy is asked for %q", status, err, want, stage, k.asked())
			}
		}
	}
}

// TestNotByGet checks which URLs are not requested from a proxy, and the errors.
func TestNotByGet(t *testing.T) {
	for _, tt := range []struct {
		url      string
		always   error  // the error with Always; nil: the Source uses GET
		auto     error  // the error after a refused CONNECT
		contains string // text in the error
	}{
		{"ftp://h/f;type=a", gateway.ErrFilesOnly, gateway.ErrFilesOnly, "without ;type=a"},
		{"ftp://h/d/", gateway.ErrFilesOnly, ftpexec.ErrIsDirectory, ""},
		{"ftp://h/d;type=d", gateway.ErrFilesOnly, ftpexec.ErrIsDirectory, ""},
		{"ftp://h//etc/f", gateway.ErrFilesOnly, gateway.ErrFilesOnly, "%2F for the root"},
		{"ftp://me:hidden@h/f", nil, gateway.ErrWithheld, "user and password"},
		{"ftp://me@h/f", ftpexec.ErrNoCredentials, gateway.ErrWithheld, ""},
		{"ftp://a%3Ahidden:x@h/f", ftpexec.ErrLogin, gateway.ErrWithheld, ""},
		{"ftps://h/f", proxy.ErrRefused, proxy.ErrRefused, "refuses to connect"},
		{"ftpes://h/f", proxy.ErrRefused, proxy.ErrRefused, "refuses to connect"},
	} {
		for always, want := range map[bool]error{true: tt.always, false: tt.auto} {
			k := newKit(t, proxytest.Options{}, serving("contents"))
			k.Always = always
			for range 2 { // the second time, the Source knows that the proxy refuses CONNECT
				_, _, err := k.read(t, tt.url)
				text, got := fmt.Sprint(err), k.asked()
				byProxy := always || want == ftpexec.ErrIsDirectory || errors.Is(err, proxy.ErrRefused)
				if !errors.Is(err, want) || !byProxy || err != nil && !strings.Contains(text, tt.contains) || strings.Contains(text, "hidden") || want != nil && len(got) > 0 {
					t.Errorf("%s: got %v, want %v with %q; the proxy is asked for %q", tt.url, err, want, tt.contains, got)
				}
			}
		}
	}
}

// TestOtherRefusals checks that the Source uses GET only after a refusal of CONNECT and not after other failures, and
// never with TLS or TryTLS.
func TestOtherRefusals(t *testing.T) {
	for status, fetches := range map[int]bool{400: false, 401: false, 403: true, 404: false, 405: true, 407: false, 429: false, 500: false, 501: false, 502: false, 503: false, 504: false} {
		for _, tls := range []bool{false, true} {
			k := newKit(t, proxytest.Options{Status: status}, serving("contents"))
			k.TryTLS = tls
			_, _, err := k.read(t, "ftp://h/f")
			byGet := fetches && !tls
			if got := k.asked(); (len(got) == 1) != byGet || (err == nil) != byGet || !byGet && !errors.Is(err, proxy.ErrRefused) {
				t.Errorf("%d, with TLS %v: got %v, and the proxy is asked for %q", status, tls, err, got)
			}
		}
	}
}

// TestNeverByGet checks that the Source does not use GET for listings, digests and the rest of a file.
func TestNeverByGet(t *testing.T) {
	k := newKit(t, proxytest.Options{}, serving("contents"))
	f, d := urlOf(t, "ftp://h/f"), urlOf(t, "ftp://h/d/")
	for range 2 {
		for _, entries := range []iter.Seq2[ftpexec.Entry, error]{k.List(t.Context(), d), k.Entries(t.Context(), d)} {
			for _, err := range entries {
				if !errors.Is(err, proxy.ErrRefused) {
					t.Errorf("a listing: got %v", err)
				}
			}
		}
		_, unsupported := k.Hash(t.Context(), f, "sha256")
		_, noRestart := k.Do(t.Context(), &ftpexec.Request{URL: f, Offset: 3})
		if !errors.Is(unsupported, errors.ErrUnsupported) || !errors.Is(noRestart, ftpexec.ErrNoRestart) || len(k.asked()) > 0 {
			t.Errorf("got %v and %v, and the proxy is asked for %q", unsupported, noRestart, k.asked())
		}
	}
}

// TestAdmitted checks that each request is admitted until its file has arrived or is given up.
func TestAdmitted(t *testing.T) {
	for name, tt := range map[string]struct {
		serve http.HandlerFunc
		call  func(*kit) error
	}{
		"a file": {serving("contents"), func(k *kit) error { _, _, err := k.read(t, "ftp://h/f"); return err }},
		"a part of a file": {serving(strings.Repeat("x", 1<<20)), func(k *kit) error {
			r, err := k.Do(t.Context(), &ftpexec.Request{URL: urlOf(t, "ftp://h/f")})
			if err == nil {
				r.Body.Close()
			}
			return err
		}},
		"Stat": {serving("contents"), func(k *kit) error { _, err := k.Stat(t.Context(), urlOf(t, "ftp://h/f")); return err }},
		"Stat by GET": {func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodHead {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			serving("contents")(w, r)
		}, func(k *kit) error { _, err := k.Stat(t.Context(), urlOf(t, "ftp://h/f")); return err }},
		"a refusal": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, func(k *kit) error {
			if _, _, err := k.read(t, "ftp://h/f"); !errors.Is(err, ftpexec.ErrNotFound) {
				return fmt.Errorf("got %w", err)
			}
			return nil
		}},
	} {
		k := newKit(t, proxytest.Options{}, tt.serve)
		one, most, calls := make(chan struct{}, 1), 0, 0
		k.Always, k.Admit = true, func(context.Context, string) (func(), error) {
			one <- struct{}{}
			calls++
			most = max(most, len(one))
			return func() { <-one }, nil
		}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if err := tt.call(k); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		all.Wait()
		if calls < 4 || most != 1 || len(one) != 0 {
			t.Errorf("%s: admitted %d times, %d at once; %d stay", name, calls, most, len(one))
		}
	}
}
