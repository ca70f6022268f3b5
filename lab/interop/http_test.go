//go:build interop

package interop

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec/ftpfs"
	"example.com/ftpfetch/ftpexec/ftphttp"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// overHTTP returns the handlers that docs/http.md describes, for the directory /pub of s.
func overHTTP(t *testing.T, s *testserver.Server) map[string]http.Handler {
	t.Helper()
	fsys := must.Get(ftpfs.Open(t.Context(), newClient(t), s.URL("/pub/")))(t)
	transport := &ftphttp.Transport{Client: newClient(t)}
	proxy := &httputil.ReverseProxy{Transport: transport, ErrorLog: log.New(io.Discard, "", 0), Rewrite: func(r *httputil.ProxyRequest) {
		to := &url.URL{Scheme: "ftp", Host: s.Addr(), Path: "/pub" + path.Clean("/"+r.In.URL.Path)}
		if strings.HasSuffix(r.In.URL.Path, "/") && !strings.HasSuffix(to.Path, "/") {
			to.Path += "/"
		}
		to.RawPath = strings.ReplaceAll(to.EscapedPath(), ";", "%3B")
		r.Out.URL = to
		r.Out.Header.Del("Authorization")
	}}
	return map[string]http.Handler{"FileServerFS": http.FileServerFS(fsys), "ReverseProxy": proxy}
}

// run runs a program in dir, and returns what it prints and its exit code.
func run(t *testing.T, dir, name string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(testContext(t), name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if exit, ok := err.(*exec.ExitError); ok {
		return string(out), exit.ExitCode()
	}
	must.Do(t, err)
	return string(out), 0
}

// TestOverHTTP has curl and aria2 list, fetch in parts, resume, keep what has not changed, and notice that a file is
// missing or cut short.
func TestOverHTTP(t *testing.T) {
	contents := strings.Repeat("0123456789abcdef", 1<<18) // 4 MiB, so that aria2 splits it
	old := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	s := testserver.New(t, &testserver.Options{ModTime: old, Tree: map[string]string{"/pub/f.bin": contents, "/pub/broken.bin": contents}, Fault: func(c *testserver.Conn) testserver.Action {
		if c.Verb == "RETR" && strings.HasSuffix(c.Arg, "broken.bin") {
			return testserver.ReplaceReply(testserver.Reply("451 Disk error"))
		}
		return nil
	}})
	for name, h := range overHTTP(t, s) {
		t.Run(name, func(t *testing.T) {
			web := httptest.NewServer(h)
			defer web.Close()
			address := web.URL
			dir := t.TempDir()
			path := filepath.Join(dir, "f.bin")
			curl := func(args ...string) (string, int) {
				return run(t, dir, "curl", append([]string{"-q", "-sS"}, args...)...)
			}
			same := func(what string) {
				t.Helper()
				if got, err := os.ReadFile(path); string(got) != contents {
					t.Errorf("%s: got %d bytes, %v", what, len(got), err)
				}
			}
			if page, code := curl(address + "/"); code != 0 || !strings.Contains(page, "f.bin") {
				t.Errorf("page: %q, exit code %d", page, code)
			}
			if part, code := curl("-r", "16-31", address+"/f.bin"); code != 0 || part != contents[16:32] {
				t.Errorf("range: %.40q, exit code %d", part, code)
			}
			must.Do(t, os.WriteFile(path, []byte(contents[:1<<20]), 0o666))
			if out, code := curl("-C", "-", "-O", address+"/f.bin"); code != 0 {
				t.Errorf("resume: %q, exit code %d", out, code)
			}
			same("curl resumes")
			if out, code := curl("-z", "Thu, 02 Jan 2020 03:04:05 GMT", "-w", "%{http_code}", address+"/f.bin"); code != 0 || out != "304" {
				t.Errorf("not modified: %.40q, exit code %d", out, code)
			}
			if out, code := curl("-f", address+"/none"); code != 22 || !strings.Contains(out, "404") {
				t.Errorf("missing: %.80q, exit code %d", out, code)
			}
			if out, code := curl("-o", "broken", address+"/broken.bin"); code != 18 {
				t.Errorf("cut short: %.80q, exit code %d", out, code)
			}
			must.Do(t, os.Remove(path))
			if out, code := run(t, dir, "aria2c", "--no-conf", "-q", "-x4", "-s4", "-k1M", address+"/f.bin"); code != 0 {
				t.Errorf("aria2: %q, exit code %d", out, code)
			}
			same("aria2 in four parts")
			must.Do(t, os.Truncate(path, 1<<20))
			if out, code := run(t, dir, "aria2c", "--no-conf", "-q", "-c", "--always-resume=true", address+"/f.bin"); code != 0 {
				t.Errorf("aria2 resumes: %q, exit code %d", out, code)
			}
			same("aria2 resumes")
			var clients sync.WaitGroup
			for i := range 20 {
				clients.Go(func() {
					file := fmt.Sprint("f", i)
					out, code := curl("-o", file, address+"/f.bin")
					if got, err := os.ReadFile(filepath.Join(dir, file)); string(got) != contents || code != 0 {
						t.Errorf("client %d: %q, exit code %d, %d bytes, %v", i, out, code, len(got), err)
					}
				})
			}
			clients.Wait()
		})
	}
}

// TestPathsOverHTTP checks that no path leads out of the directory, however it is written.
func TestPathsOverHTTP(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/pub/f.bin": "contents", "/secret": "SECRET"}})
	for name, h := range overHTTP(t, s) {
		web := httptest.NewServer(h)
		defer web.Close()
		for _, above := range []string{"/../secret", "/..%2Fsecret", "/%2e%2e/secret", "/%2Fsecret", "//secret", "/f.bin/../../secret", "/..;type=d", "/%2F;type=d", "/..%2F", "/../"} {
			out, _ := run(t, t.TempDir(), "curl", "-q", "-sS", "--path-as-is", web.URL+above)
			if strings.Contains(out, "SECRET") || strings.Contains(out, ">secret") || strings.Contains(out, "pub\n") {
				t.Errorf("%s: %s leads out of the directory: %q", name, above, out)
			}
		}
	}
}
