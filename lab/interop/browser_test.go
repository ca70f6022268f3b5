//go:build interop

package interop

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// inBrowser shows a page in Chromium until the context ends, and returns the output. Downloads go to dir.
func inBrowser(ctx context.Context, t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	profile := t.TempDir()
	preferences := fmt.Sprintf(`{"download": {"default_directory": %q, "prompt_for_download": false}}`, dir)
	if err := errors.Join(os.Mkdir(filepath.Join(profile, "Default"), 0o700),
		os.WriteFile(filepath.Join(profile, "Default", "Preferences"), []byte(preferences), 0o600)); err != nil {
		return "", err
	}
	args = append([]string{"--headless=new", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + profile}, args...)
	cmd := exec.CommandContext(ctx, "chromium", args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Chromium starts many processes
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.Output()
	return string(out), err
}

// startGateway runs examples/gateway, and returns its address.
func startGateway(t *testing.T, directory string) *url.URL {
	t.Helper()
	program := filepath.Join(t.TempDir(), "gateway")
	out, err := exec.CommandContext(testContext(t), "go", "build", "-o", program, "../../examples/gateway").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.CommandContext(testContext(t), program, directory, "127.0.0.1:0")
	said := must.Get(cmd.StderrPipe())(t)
	must.Do(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	line := must.Get(bufio.NewReader(said).ReadString('\n'))(t)
	return must.Get(url.Parse(strings.TrimSpace(line[strings.Index(line, "http"):])))(t)
}

// statuses counts the answers of a handler, by path and status.
type statuses struct {
	http.Handler
	mu    sync.Mutex
	count map[string]int
}

func (s *statuses) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	seen := &seenWriter{ResponseWriter: w, status: http.StatusOK}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.count[fmt.Sprint(r.URL.Path, " ", seen.status)]++
	}()
	s.Handler.ServeHTTP(seen, r)
}

func (s *statuses) of(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count[what]
}

// seenWriter remembers the status of an answer.
type seenWriter struct {
	http.ResponseWriter
	status int
}

func (w *seenWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *seenWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// asking is a page that requests files as scripts do, and sends the results to /result.
const asking = `<!DOCTYPE html><script>
const ask = async (path, options) => {
	const answer = await fetch(path, options)
	const text = await answer.text()
	return [path, answer.status, text.length, text.slice(0, 4)].join(" ")
}
const broken = path => ask(path).catch(() => path + " failed");
(async () => {
	const got = [
		await ask("f.bin", {headers: {Range: "bytes=17-32"}}),
		await ask("none"),
		await ask("g.txt", {cache: "no-cache"}),
		await ask("g.txt", {cache: "no-cache"}),
		await broken("broken.bin"),
	]
	got.push(...await Promise.all([...Array(20).keys()].map(i => ask("f.bin?" + i, {cache: "no-store"}))))
	fetch("result", {method: "POST", body: got.join("\n")})
})()
</script>`

// TestInBrowser checks that Chromium shows pages, requests ranges, keeps what has not changed, notices what is missing
// or broken, and resumes a download that broke.
func TestInBrowser(t *testing.T) {
	t.Parallel()
	contents := strings.Repeat("0123456789abcdef", 1<<18)
	old := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	var cut atomic.Int64
	s := testserver.New(t, &testserver.Options{ModTime: old, Tree: map[string]string{
		"/pub/f.bin": contents, "/pub/cut.bin": contents, "/pub/broken.bin": contents, "/pub/g.txt": "text", "/pub/sub/a b": "odd", "/secret": "SECRET",
	}, Fault: func(c *testserver.Conn) testserver.Action {
		switch {
		case c.Verb == "RETR" && strings.HasSuffix(c.Arg, "cut.bin") && cut.Add(1) == 1:
			return testserver.Sequence(testserver.EndDataAfter(2000000, testserver.Closed), testserver.ReplaceReply(testserver.Reply("426 Connection lost")))
		case c.Verb == "RETR" && strings.HasSuffix(c.Arg, "broken.bin"):
			return testserver.ReplaceReply(testserver.Reply("451 Disk error"))
		}
		return nil
	}})
	handlers := overHTTP(t, s)
	handlers["gateway"] = httputil.NewSingleHostReverseProxy(startGateway(t, s.URL("/pub/")))
	for name, h := range handlers {
		t.Run(name, func(t *testing.T) {
			results := make(chan string, 1)
			seen := &statuses{Handler: h, count: make(map[string]int)}
			mux := http.NewServeMux()
			mux.Handle("/", seen)
			mux.HandleFunc("/asking", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				io.WriteString(w, asking)
			})
			mux.HandleFunc("/result", func(_ http.ResponseWriter, r *http.Request) {
				text, _ := io.ReadAll(r.Body)
				results <- string(text)
			})
			web := httptest.NewServer(mux)
			t.Cleanup(web.Close)
			testPage(t, name, web.URL)
			testAsking(t, web.URL, results, seen, len(contents))
			cut.Store(0)
			testDownload(t, web.URL+"/cut.bin", contents)
		})
	}
}

// tags matches what a browser adds to a page.
var tags = regexp.MustCompile(`<[^>]*>`)

func testPage(t *testing.T, name, address string) {
	t.Helper()
	want := []string{"broken.bin", "cut.bin", "f.bin", "g.txt", "sub"}
	addresses := []string{address + "/"}
	if name == "gateway" {
		want = []string{"broken.bin", "4194304", "2020-01-02 03:04", "g.txt", "4", "2020-01-02 03:04", "sub/"}
		addresses = append(addresses, address+"/?size", address+"/?time")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, a := range addresses {
		page := must.Get(inBrowser(ctx, t, t.TempDir(), "--dump-dom", a))(t)
		at := 0
		text := tags.ReplaceAllString(page, " ")
		order := want
		if strings.HasSuffix(a, "?time") {
			order = append([]string{"sub/"}, want[:len(want)-1]...)
		}
		for _, w := range order {
			i := strings.Index(text[at:], w)
			if i < 0 {
				t.Errorf("%s: no %s where it should be in %s", a, w, text)
				break
			}
			at += i + len(w)
		}
	}
}

func testAsking(t *testing.T, address string, results <-chan string, seen *statuses, size int) {
	t.Helper()
	var got []string
	whileShown(t, t.TempDir(), address+"/asking", func(ctx context.Context) {
		select {
		case text := <-results:
			got = strings.Split(text, "\n")
		case <-ctx.Done():
		}
	})
	want := []string{"f.bin 206 16 1234", "none 404 ", "g.txt 200 4 text", "g.txt 200 4 text", "broken.bin failed"}
	for i := range 20 {
		want = append(want, fmt.Sprintf("f.bin?%d 200 %d 0123", i, size))
	}
	for i, line := range got {
		if i >= len(want) || !strings.HasPrefix(line, want[i]) {
			t.Errorf("line %d: %s", i, line)
		}
	}
	if n := seen.of("/g.txt 304"); len(got) != len(want) || n != 1 {
		t.Errorf("%d lines; the second g.txt was answered %d times with 304", len(got), n)
	}
}

// testDownload saves a file whose first transfer breaks. The browser must request the rest.
func testDownload(t *testing.T, address, contents string) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "cut.bin")
	whileShown(t, dir, address, func(ctx context.Context) {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			// Chromium reserves the name with an empty file, and moves the complete one there.
			if info, err := os.Stat(path); err == nil && info.Size() > 0 {
				return
			}
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	})
	if got, err := os.ReadFile(path); string(got) != contents {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// whileShown calls do while Chromium shows a page. The context of do ends if Chromium does.
func whileShown(t *testing.T, dir, address string, do func(context.Context)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var browser sync.WaitGroup
	defer browser.Wait()
	browser.Go(func() {
		inBrowser(ctx, t, dir, "--remote-debugging-port=0", address) // the flag keeps Chromium running
		cancel()
	})
	do(ctx)
	cancel()
}
