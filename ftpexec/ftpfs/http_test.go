package ftpfs_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/ftpexec/ftpfs"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// net/http serves a directory on an FTP server: pages, ranges, conditions, and nothing above the directory.
func ExampleFS_http() {
	s, err := testserver.Start(&testserver.Options{Tree: map[string]string{"/pub/motd.txt": "hello", "/secret": "secret"}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	c := &ftpexec.Client{MaxConns: 8, MaxIdle: 8}
	defer c.CloseIdleConnections()
	fsys, err := ftpfs.Open(context.Background(), c, s.URL("/pub/"))
	if err != nil {
		log.Fatal(err)
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.FileServerFS(fsys.WithContext(r.Context())).ServeHTTP(w, r) // a client that leaves ends the transfer
	}))
	defer web.Close()

	for _, path := range []string{"/motd.txt", "/../secret", "/%2Fsecret"} {
		r, err := http.Get(web.URL + path)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(path, r.Status)
		r.Body.Close()
	}
	// Output:
	// /motd.txt 200 OK
	// /../secret 404 Not Found
	// /%2Fsecret 404 Not Found
}

// Whatever the path of a request looks like, net/http serves nothing above the directory, and ranges of one file take one
// connection.
func TestFSOverHTTP(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/pub/motd.txt": "hello", "/pub/d/f.txt": "deep", "/secret": "secret"}})
	web := httptest.NewServer(http.FileServerFS(openFS(t, new(ftpexec.Client), s.URL("/pub/"))))
	defer web.Close()
	get := func(path, part string) (int, string) {
		req := must.Get(http.NewRequest(http.MethodGet, web.URL+path, nil))(t)
		if part != "" {
			req.Header.Set("Range", part)
		}
		r := must.Get(web.Client().Do(req))(t)
		defer r.Body.Close()
		return r.StatusCode, string(must.Get(io.ReadAll(r.Body))(t))
	}
	for i := range 5 {
		if status, text := get("/motd.txt", fmt.Sprintf("bytes=%d-%d", i, i)); status != 206 || text != "hello"[i:i+1] {
			t.Errorf("byte %d: %d, %q", i, status, text)
		}
	}
	if n := s.Connections(); n != 1 {
		t.Errorf("%d connections", n)
	}
	for _, up := range []string{"..", "%2E%2E", ".%2e", "%2F", "%2f..", "d/..", "d/../..", "..%2F", "%5C..", "..;", "%252E%252E", "d%2F..%2F..", ";type=d", "%00"} {
		for _, path := range []string{"/" + up + "/secret", "/" + up + "secret", "//" + up + "/secret"} {
			if status, text := get(path, ""); strings.Contains(text, "secret") && status == 200 {
				t.Errorf("%s: %d, %q", path, status, text)
			}
		}
	}
	for _, line := range s.Commands() {
		verb, arg, _ := strings.Cut(line, " ")
		if slices.Contains(strings.Split(arg, "/"), "..") || strings.HasPrefix(arg, "/") && line != "CWD /" || verb == "CWD" && arg == "secret" {
			t.Errorf("sent %q", line)
		}
	}
}
