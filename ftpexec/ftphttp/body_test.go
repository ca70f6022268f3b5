package ftphttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

// failing sends all of a file, and then says that the transfer has failed.
func failing(contents string) testserver.Step {
	return testserver.Honest(contents).With("RETR",
		testserver.Reply("150 Go"), testserver.Data(contents, testserver.Closed), testserver.Reply("451 Disk error"))
}

// A transfer that fails after its last byte never looks complete: neither to the client of a proxy nor to a reader that
// reads Content-Length bytes and closes.
func TestLastByte(t *testing.T) {
	for _, contents := range []string{"", "c", "contents", strings.Repeat("contents", 100000)} {
		s := testserver.New(t, nil, failing(contents))
		client := registered(t, &ftpexec.Client{})
		target := must.Get(url.Parse(s.URL("/")))(t)
		proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, Transport: client.Transport, ErrorLog: quiet()})
		defer proxy.Close()
		var clients sync.WaitGroup
		for range 20 {
			clients.Go(func() {
				if got := request(context.Background(), proxy.Client(), "GET", proxy.URL+"/f"); contents != "" && got.err == nil && got.StatusCode == 200 {
					t.Errorf("%d bytes: a client of the proxy got %s and all bytes", len(contents), got.Status)
				}
			})
		}
		clients.Wait()
		r := must.Get(client.Get(s.URL("/f")))(t)
		_, err := io.ReadFull(r.Body, make([]byte, r.ContentLength))
		if cerr := r.Body.Close(); err == nil && cerr == nil {
			t.Errorf("%d bytes: neither ReadFull nor Close has an error", len(contents))
		}
	}
}

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

// A Body gives the same bytes and the same error one byte at a time, all at once, to a writer and to a file.
func TestWaysToRead(t *testing.T) {
	const contents = "contents"
	for _, whole := range []bool{true, false} {
		server := testserver.Honest(contents)
		if !whole {
			server = failing(contents)
		}
		s := testserver.New(t, nil, server)
		c := registered(t, &ftpexec.Client{})
		for name, read := range map[string]func(io.Reader) (string, error){
			"bytes": func(r io.Reader) (string, error) {
				all, err := io.ReadAll(iotest.OneByteReader(r))
				return string(all), err
			},
			"all": func(r io.Reader) (string, error) { all, err := io.ReadAll(r); return string(all), err },
			"writer": func(r io.Reader) (string, error) {
				var all strings.Builder
				_, err := io.Copy(&all, r)
				return all.String(), err
			},
			"file": func(r io.Reader) (string, error) {
				path := filepath.Join(t.TempDir(), "f")
				f := must.Get(os.Create(path))(t)
				_, err := io.Copy(f, r)
				must.Do(t, f.Close())
				return strings.TrimSuffix(string(must.Get(os.ReadFile(path))(t)), contents[len(contents)-1:]), err
			},
		} {
			r := must.Get(c.Get(s.URL("/f")))(t)
			got, err := read(r.Body)
			want := contents
			if !whole || name == "file" {
				want = contents[:len(contents)-1]
			}
			if got != want || (err == nil) != whole {
				t.Errorf("%s, whole %t: got %q, %v", name, whole, got, err)
			}
			r.Body.Close()
			if n, err := r.Body.Read(make([]byte, 1)); n != 0 || !errors.Is(err, fs.ErrClosed) {
				t.Errorf("%s, whole %t: a Read after Close returns %d, %v", name, whole, n, err)
			}
			if _, err := io.Copy(must.Get(os.OpenFile(os.DevNull, os.O_WRONLY, 0))(t), r.Body); !errors.Is(err, fs.ErrClosed) {
				t.Errorf("%s, whole %t: a copy after Close returns %v", name, whole, err)
			}
		}
	}
}

// Closing a Body early costs no new login, whether much of the file is left or not.
func TestLeavesEarly(t *testing.T) {
	const short, long = 1000, 8 << 20
	s := testserver.New(t, &testserver.Options{ModTime: stamp, Tree: map[string]string{"/short": strings.Repeat("s", short), "/long": strings.Repeat("l", long)}})
	leave := func(path string, close func(*http.Response, context.CancelFunc)) {
		c := &http.Client{Transport: &Transport{Client: &ftpexec.Client{MaxConns: 1}}} // each request waits for the one before
		defer c.CloseIdleConnections()
		for i := range 5 {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			req := must.Get(http.NewRequestWithContext(ctx, "GET", s.URL(path), nil))(t)
			if i > 0 || path == "/long" {
				req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", i, i+9))
			}
			r := must.Get(c.Do(req))(t)
			must.Get(io.ReadFull(r.Body, make([]byte, 9)))(t)
			close(r, cancel)
		}
	}
	closes := func(r *http.Response, _ context.CancelFunc) { r.Body.Close() }
	leave("/short", closes)
	if n := s.Connections(); n != 1 {
		t.Errorf("five ranges of a small file: %d connections", n)
	}
	s.ResetCommands()
	leave("/short", func(r *http.Response, cancel context.CancelFunc) {
		cancel()
		r.Body.Close()
	})
	if n := s.Connections(); n != 1 {
		t.Errorf("five cancelled requests for a small file: %d connections", n)
	}
	s.ResetCommands()
	leave("/long", closes)
	if n := s.Connections(); n != 1 {
		t.Errorf("five ranges of a large file: %d connections", n)
	}
}

// Close waits at most a second for a short rest that does not come, and the end of the context ends a Read at once.
func TestLeavesSilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := ftptest.NewNetwork()
		s := network.NewScript(t, testserver.Honest("contents").With("RETR", testserver.Reply("150 Go"), testserver.Data("con"), testserver.EndControl(testserver.Stalled)))
		c := registered(t, &ftpexec.Client{Dial: network.Dial})
		r := must.Get(c.Get(s.URL("/f")))(t)
		must.Get(io.ReadFull(r.Body, make([]byte, 3)))(t)
		start := time.Now()
		r.Body.Close()
		if took := time.Since(start); took != time.Second {
			t.Errorf("Close took %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start = time.Now()
		got := request(ctx, c, "GET", s.URL("/f"))
		if took := time.Since(start); took != 3*time.Second || !errors.Is(got.err, context.DeadlineExceeded) || got.contents != "con" {
			t.Errorf("got %q, %v after %v", got.contents, got.err, took)
		}
	})
}

// An http.Client that closes its idle connections sends QUIT on those of the Transport, whether it has a Client or not.
func TestCloseIdleConnections(t *testing.T) {
	for _, ftp := range []*Transport{{}, {Client: &ftpexec.Client{}}} {
		s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": "contents"}})
		c := &http.Client{Transport: ftp}
		if got := request(t.Context(), c, "GET", s.URL("/f")); got.contents != "contents" || got.err != nil {
			t.Errorf("got %q, %v", got.contents, got.err)
		}
		c.CloseIdleConnections()
		must.Do(t, s.WaitCommand(t.Context(), "QUIT"))
	}
}

// A request that is nil or empty is an error.
func TestNothing(t *testing.T) {
	for _, req := range []*http.Request{nil, {}, {Method: "HEAD", URL: &url.URL{}}, {Method: "GET", URL: &url.URL{Scheme: "ftp"}}, {Method: "\x00", URL: &url.URL{Scheme: "ftp", Host: "h"}}} {
		r, err := new(Transport).RoundTrip(req)
		if r != nil && r.StatusCode != 405 || r == nil && err == nil {
			t.Errorf("%+v: got %v, %v", req, r, err)
		}
	}
	new(Transport).CloseIdleConnections()
}

// A body whose context has ended has the error of the context and its cause, whether a Read waited for the end or comes
// later.
func TestEndOfContext(t *testing.T) {
	why := errors.New("why")
	for _, later := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			network := ftptest.NewNetwork()
			s := network.NewScript(t, testserver.Honest("contents"), testserver.On("RETR", testserver.Reply("150 x"), testserver.Data("con", testserver.Stalled)))
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, why)
			defer cancel()
			req := must.Get(http.NewRequestWithContext(ctx, "GET", s.URL("/f"), nil))(t)
			r := must.Get((&Transport{Client: &ftpexec.Client{Dial: network.Dial, Timeout: 24 * time.Hour}}).RoundTrip(req))(t)
			defer r.Body.Close()
			if later {
				<-time.After(time.Hour)
			}
			_, err := io.ReadAll(r.Body)
			if !errors.Is(err, why) || !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
				t.Errorf("later %v: got %v, want %v, which is DeadlineExceeded and not Canceled", later, err, why)
			}
		})
	}
}
