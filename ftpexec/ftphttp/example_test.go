package ftphttp_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path"
	"strings"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/ftpexec/ftphttp"
	"example.com/ftpfetch/testserver"
)

func ExampleTransport() {
	s, err := testserver.Start(&testserver.Options{Tree: map[string]string{"/pub/motd": "hello\n"}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	ftp := &ftphttp.Transport{Client: &ftpexec.Client{}}
	defer ftp.CloseIdleConnections()
	t := &http.Transport{}
	t.RegisterProtocol("ftp", ftp)
	c := &http.Client{Transport: t}

	req, err := http.NewRequest(http.MethodGet, s.URL("/pub/motd"), nil)
	if err != nil {
		log.Fatal(err)
	}
	req.Header.Set("Range", "bytes=2-")
	r, err := c.Do(req)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Body.Close()
	fmt.Println(r.Status, r.Header.Get("Content-Range"))
	if _, err := io.Copy(os.Stdout, r.Body); err != nil { // nil only if every byte came and the server confirmed it
		log.Fatal(err)
	}
	// Output:
	// 206 Partial Content bytes 2-5/6
	// llo
}

// A reverse proxy in front of one directory. docs/http.md says why each line of Rewrite is there.
func ExampleTransport_reverseProxy() {
	s, err := testserver.Start(&testserver.Options{Tree: map[string]string{"/pub/motd": "hello", "/secret": "secret"}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	ftp := &ftphttp.Transport{Client: &ftpexec.Client{MaxConns: 8, MaxIdle: 8}}
	defer ftp.CloseIdleConnections()
	proxy := &httputil.ReverseProxy{Transport: ftp, Rewrite: func(r *httputil.ProxyRequest) {
		to := &url.URL{Scheme: "ftp", Host: s.Addr(), Path: "/pub" + path.Clean("/"+r.In.URL.Path)} // a login would be to.User
		if strings.HasSuffix(r.In.URL.Path, "/") && !strings.HasSuffix(to.Path, "/") {
			to.Path += "/"
		}
		to.RawPath = strings.ReplaceAll(to.EscapedPath(), ";", "%3B")
		r.Out.URL = to
		r.Out.Header.Del("Authorization")
	}}
	web := httptest.NewServer(proxy)
	defer web.Close()

	for _, path := range []string{"/motd", "/../secret", "/%2Fsecret", "/motd;type=d", "/motd?x"} {
		r, err := http.Get(web.URL + path)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(path, r.Status)
		r.Body.Close()
	}
	// Output:
	// /motd 200 OK
	// /../secret 404 Not Found
	// /%2Fsecret 404 Not Found
	// /motd;type=d 404 Not Found
	// /motd?x 200 OK
}
