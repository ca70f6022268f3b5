package gateway_test

import (
	"errors"
	"io"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/gateway"
	"example.com/ftpfetch/internal/proxy"
	"example.com/ftpfetch/internal/proxy/proxytest"
	"example.com/ftpfetch/urlparse"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var modified = time.Date(2021, 3, 4, 5, 6, 7, 0, time.UTC)

// kit is a Source that reaches servers only through a proxy, which refuses CONNECT.
type kit struct {
	*gateway.Source
	proxy *proxytest.Proxy

	mu       sync.Mutex
	requests []*http.Request
	trace    []string
	notices  int
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

// through makes a new Source, which knows nothing about the proxy yet.
func (k *kit) through(t *testing.T, via string) {
	t.Helper()
	p, err := proxy.Parse(via)
	if err != nil {
		t.Fatal(err)
	}
	c := &ftpexec.Client{Proxy: func(string) proxy.DialFunc { return p.Dialer(nil) }}
	c.Trace = func(e ftpexec.Event) {
		k.mu.Lock()
		defer k.mu.Unlock()
		if e.Server == "" {
			t.Errorf("an event without a server: %v", e)
		}
		k.trace = append(k.trace, string(e.Mark)+" "+e.Text)
	}
	k.Source = gateway.New(c, p, nil)
	k.Notice = func() { k.notices++ }
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
	u, err := urlparse.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// read opens a file and reads it to its end.
func (k *kit) read(t *testing.T, url string, offset int64) (string, *ftpexec.Response, error) {
	t.Helper()
	r, err := k.Do(t.Context(), &ftpexec.Request{URL: urlOf(t, url), Offset: offset})
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

// answering answers every request with text and hangs up.
func answering(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		_, _ = rw.WriteString(text)
		_ = rw.Flush()
	}
}

func TestGet(t *testing.T) {
	k := newKit(t, proxytest.Options{}, serving("contents"))
	for range 3 {
		text, r, err := k.read(t, "ftp://h/f", 0)
		if err != nil || text != "contents" || r.Size != 8 || !r.ModTime.Equal(modified) || r.Offset != 0 {
			t.Fatalf("got %q, %+v, %v", text, r, err)
		}
	}
	if got := k.proxy.Targets(); !slices.Equal(got, []string{"h:21"}) {
		t.Errorf("CONNECT for %q, want one for h:21", got)
	}
	if k.notices != 1 {
		t.Errorf("%d notices, want 1", k.notices)
	}
}

// TestRequests checks what a proxy is asked for: every byte encoded, the type, and no login in the URL.
func TestRequests(t *testing.T) {
	tests := []struct{ url, want, host string }{
		{"ftp://h/f", "ftp://h/f;type=i", "h"},
		{"ftp://h:2121/a/b.txt;type=i", "ftp://h:2121/a/b.txt;type=i", "h:2121"},
		{"ftp://h/%2Fetc/motd", "ftp://h/%2Fetc/motd;type=i", "h"},
		{"ftp://h/a%2Fb", "ftp://h/a%2Fb;type=i", "h"},
		{"ftp://h/caf%E9%20%3Btype=a%23%25%3F~", "ftp://h/caf%E9%20%3Btype%3Da%23%25%3F%7E;type=i", "h"},
		{"ftp://[::1]:2121/f", "ftp://[::1]:2121/f;type=i", "[::1]:2121"},
		{"ftp://anonymous:hidden@h/f", "ftp://h/f;type=i", "h"},
		{"ftp://me:hidden@h/f", "ftp://h/f;type=i", "h"},
		{"ftp://h/./../f", "ftp://h/./../f;type=i", "h"},
	}
	for _, tt := range tests {
		k := newKit(t, proxytest.Options{}, serving("contents"))
		k.Always = true
		if _, _, err := k.read(t, tt.url, 0); err != nil {
			t.Errorf("%s: %v", tt.url, err)
			continue
		}
		r := k.requests[0]
		login := ""
		if strings.Contains(tt.url, "me:") {
			login = "Basic bWU6aGlkZGVu"
		}
		if r.RequestURI != tt.want || r.Host != tt.host || r.Header.Get("Authorization") != login || r.Header.Get("Cache-Control") != "no-cache" || r.Header.Get("Accept-Encoding") != "" {
			t.Errorf("%s: got %s of %s, %q", tt.url, r.RequestURI, r.Host, r.Header)
		}
		if len(k.proxy.Targets()) > 0 {
			t.Errorf("%s: CONNECT is tried", tt.url)
		}
	}
}

func TestProxyLogin(t *testing.T) {
	k := newKit(t, proxytest.Options{User: "me", Password: "proxypw"}, serving("contents"))
	for via, want := range map[string]error{k.proxy.URLAs("me:proxypw"): nil, k.proxy.URLAs("me:wrong"): proxy.ErrRefused, k.proxy.URL(): proxy.ErrRefused} {
		k.through(t, via)
		k.Always = true
		if _, _, err := k.read(t, "ftp://h/f", 0); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	if all := strings.Join(k.trace, "\n"); strings.Contains(all, "bWU6") {
		t.Errorf("the trace is %s", all)
	}
}

// TestStatuses checks what each answer means, to the first GET and to one after a refused CONNECT.
func TestStatuses(t *testing.T) {
	tests := []struct {
		status    int
		want      error
		stage     string
		temporary bool
		refused   bool // CONNECT was refused, and GET was no help
	}{
		{204, ftpexec.ErrProtocol, "transfer", false, false},
		{206, ftpexec.ErrProtocol, "transfer", false, false},
		{301, ftpexec.ErrRefused, "transfer", false, false},
		{302, ftpexec.ErrRefused, "transfer", false, false},
		{400, proxy.ErrRefused, "connect", false, true},
		{401, ftpexec.ErrLogin, "login", false, false},
		{403, ftpexec.ErrRefused, "transfer", false, true},
		{404, ftpexec.ErrNotFound, "transfer", false, false},
		{405, proxy.ErrRefused, "connect", false, true},
		{407, proxy.ErrRefused, "connect", false, true},
		{408, ftpexec.ErrTimeout, "transfer", true, false},
		{410, ftpexec.ErrNotFound, "transfer", false, false},
		{418, ftpexec.ErrProtocol, "transfer", false, false},
		{429, ftpexec.ErrTooMany, "transfer", true, false},
		{500, ftpexec.ErrConnect, "transfer", true, false},
		{501, proxy.ErrRefused, "connect", false, true},
		{502, ftpexec.ErrConnect, "transfer", true, false},
		{503, ftpexec.ErrConnect, "transfer", true, false},
		{504, ftpexec.ErrTimeout, "transfer", true, false},
	}
	for _, tt := range tests {
		for _, always := range []bool{true, false} {
			k := newKit(t, proxytest.Options{}, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "http://elsewhere.test/")
				w.WriteHeader(tt.status)
			})
			k.Always = always
			want, stage := tt.want, tt.stage
			switch {
			case !always && tt.refused:
				want, stage = proxy.ErrRefused, "connect"
			case !always && tt.status >= 500: // as if the server had not been reached
				stage = "connect"
			}
			_, _, err := k.read(t, "ftp://h/f", 0)
			var e *ftpexec.Error
			if !errors.Is(err, want) || !errors.As(err, &e) || e.Stage != stage || e.Temporary() != tt.temporary {
				t.Errorf("%d: got %+v, want %v in stage %q", tt.status, err, want, stage)
			}
			if got := k.asked(); len(got) != 1 {
				t.Errorf("%d: the proxy is asked for %q", tt.status, got)
			}
		}
	}
}

// TestNotByGet checks what a proxy is not asked for, and what the error says.
func TestNotByGet(t *testing.T) {
	tests := []struct {
		url      string
		always   error  // with Always; nil: it goes by GET
		auto     error  // after CONNECT was refused
		contains string // in the error
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
	}
	for _, tt := range tests {
		for always, want := range map[bool]error{true: tt.always, false: tt.auto} {
			k := newKit(t, proxytest.Options{}, serving("contents"))
			k.Always = always
			for range 2 { // the second time the proxy is known to refuse CONNECT
				_, _, err := k.read(t, tt.url, 0)
				if !errors.Is(err, want) || err != nil && (!strings.Contains(err.Error(), tt.contains) || strings.Contains(err.Error(), "hidden")) {
					t.Errorf("%s: got %v, want %v with %q", tt.url, err, want, tt.contains)
				}
				if !always && !errors.Is(err, proxy.ErrRefused) && want != ftpexec.ErrIsDirectory {
					t.Errorf("%s: got %v, want ErrRefused of the proxy too", tt.url, err)
				}
			}
			if got := k.asked(); want != nil && len(got) > 0 {
				t.Errorf("%s: the proxy is asked for %q", tt.url, got)
			}
		}
	}
}

// TestOtherRefusals checks that only a proxy that refuses CONNECT, and nothing else, is asked for files; and that GET
// does not take the place of TLS that was asked for, even if only tried.
func TestOtherRefusals(t *testing.T) {
	ask := func(what string, o proxytest.Options, tryTLS bool, want int) {
		k := newKit(t, o, serving("contents"))
		k.TryTLS = tryTLS
		_, _, err := k.read(t, "ftp://h/f", 0)
		if got := k.asked(); len(got) != want || want == 0 && !errors.Is(err, proxy.ErrRefused) || want == 1 && err != nil {
			t.Errorf("%s: got %v, and the proxy is asked for %q", what, err, got)
		}
	}
	ask("with TLS", proxytest.Options{}, true, 0)
	ask("without its login", proxytest.Options{User: "me", Password: "proxypw"}, false, 0)
	for status, want := range map[int]int{400: 0, 401: 0, 403: 1, 404: 0, 405: 1, 429: 0, 500: 0, 501: 0, 502: 0, 503: 0, 504: 0} {
		ask(strconv.Itoa(status), proxytest.Options{Status: status}, false, want)
	}
}

// TestNeverByGet checks that the proxy is not asked for listings, digests and the rest of a file.
func TestNeverByGet(t *testing.T) {
	k := newKit(t, proxytest.Options{}, serving("contents"))
	for range 2 {
		for _, entries := range []iter.Seq2[ftpexec.Entry, error]{k.List(t.Context(), urlOf(t, "ftp://h/d/")), k.Entries(t.Context(), urlOf(t, "ftp://h/d/"))} {
			for _, err := range entries {
				if !errors.Is(err, proxy.ErrRefused) {
					t.Errorf("a listing: got %v", err)
				}
			}
		}
		if _, err := k.Hash(t.Context(), urlOf(t, "ftp://h/f"), "sha256"); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("got %v, want ErrUnsupported", err)
		}
		if _, _, err := k.read(t, "ftp://h/f", 3); !errors.Is(err, ftpexec.ErrNoRestart) {
			t.Errorf("got %v, want ErrNoRestart", err)
		}
	}
	if got := k.asked(); len(got) > 0 {
		t.Errorf("the proxy is asked for %q", got)
	}
}

// TestTrace checks the lines of the dialogue.
func TestTrace(t *testing.T) {
	k := newKit(t, proxytest.Options{}, serving("contents"))
	k.Always = true
	if _, _, err := k.read(t, "ftp://me:hidden@h/f", 0); err != nil {
		t.Fatal(err)
	}
	want := []string{"> GET ftp://h/f;type=i", "> Authorization: ********", "< HTTP 200 OK"}
	if !slices.Equal(k.trace, want) {
		t.Errorf("got %q, want %q", k.trace, want)
	}
}
