package ftpexec_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

// gateway returns an HTTP server that fetches what it is asked for from the FTP server at base.
func gateway(t *testing.T, base string) (address string, c *http.Client) {
	t.Helper()
	target, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	ftp := &ftpexec.Transport{}
	g := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: ftp, FlushInterval: -1,
		ErrorLog: log.New(io.Discard, "", 0),
	})
	t.Cleanup(func() { g.Close(); ftp.CloseIdleConnections() })
	return g.URL, g.Client()
}

// An httputil.ReverseProxy with a Transport is a gateway from HTTP to FTP.
func TestTransportGateway(t *testing.T) {
	s := testserver.New(t, &testserver.Options{ModTime: stamp, Users: map[string]string{"anonymous": "none", "user": "hunter2"},
		Tree: map[string]string{"/d/f.html": "contents", "/d/a b": "space", "/what?x=1": "query", "/a%2Fb": "percent"}})
	address, c := gateway(t, s.URL(""))
	const login = "Authorization: Basic dXNlcjpodW50ZXIy"
	tests := []struct {
		method, path, fields, want string
	}{
		{"GET", "/d/f.html", "", "401 Unauthorized\nWww-Authenticate: Basic realm=\"" + s.Addr() + "\"\n"},
		{"GET", "/d/f.html", "Authorization: Basic dXNlcjp3cm9uZw==", "401 Unauthorized\nWww-Authenticate: Basic realm=\"" + s.Addr() + "\"\n"},
		{"GET", "/d/f.html", login, "200 OK\nContent-Length: 8\ncontents"},
		{"HEAD", "/d/f.html", login, "200 OK\nContent-Length: 8\n"},
		{"GET", "/d/f.html", login + "|Range: bytes=2-4", "206 Partial Content\nContent-Length: 3\nContent-Range: bytes 2-4/8\nnte"},
		{"HEAD", "/d/f.html", login + "|Range: bytes=2-4", "200 OK\nContent-Length: 8\n"},
		{"GET", "/d/f.html", login + "|If-None-Match: W/\"8-695735a5\"", "304 Not Modified\n"},
		{"GET", "/d/f.html", login + "|Range: bytes=8-", "416 Requested Range Not Satisfiable\nContent-Length: 33\nContent-Range: bytes */8\ninvalid range: failed to overlap\n"},
		{"GET", "/d/a%20b", login, "200 OK\nContent-Length: 5\nspace"},
		{"GET", "/what?x=1", login, "200 OK\nContent-Length: 5\nquery"},
		{"GET", "/a%252Fb", login, "200 OK\nContent-Length: 7\npercent"},
		{"POST", "/d/f.html", login, "405 Method Not Allowed\nContent-Length: 31\nan FTP URL allows GET and HEAD\n"},
	}
	for _, tt := range tests {
		fields := strings.Split(tt.fields, "|")
		if tt.fields == "" {
			fields = nil
		}
		got := request(t, c, tt.method, address+tt.path, fields...)
		shown := got.shown("Www-Authenticate", "Content-Length", "Content-Range")
		if got.StatusCode == 401 {
			shown = got.Status + "\nWww-Authenticate: " + got.Header.Get("Www-Authenticate") + "\n"
		}
		if shown != tt.want || got.err != nil || strings.Contains(got.contents, "hunter2") {
			t.Errorf("%s %s %s: got %q, %v, want %q", tt.method, tt.path, tt.fields, shown, got.err, tt.want)
		}
	}
}

// What arrives short from the FTP server arrives short from the gateway, and is never taken for whole.
func TestTransportGatewayTruncated(t *testing.T) {
	for _, server := range []testserver.Step{
		testserver.Honest("contents").With("RETR", testserver.Transfer("con")...),
		testserver.Honest("contents").With("SIZE", testserver.Reply("502 What?")).With("RETR",
			testserver.Reply("150 Go"), testserver.SendData("con"), testserver.CloseData(), testserver.Reply("426 Broken")),
	} {
		s := testserver.NewScript(t, server)
		address, c := gateway(t, s.URL(""))
		if got := request(t, c, "GET", address+"/d/f"); got.contents != "con" || got.err == nil {
			t.Errorf("got %q, %v, want an error", got.contents, got.err)
		}
	}
}
