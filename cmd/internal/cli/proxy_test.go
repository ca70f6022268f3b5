package cli_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ftpfetch/internal/network/proxy/proxytest"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// proxyVariables are unset by TestMain.
var proxyVariables = []string{"ftp_proxy", "FTP_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"}

// newProxies starts a SOCKS5 proxy and an HTTP proxy. Only they can resolve the host ftp.test.
func newProxies(t *testing.T) []*proxytest.Proxy {
	t.Helper()
	o := &proxytest.Options{User: "me", Password: "proxypw", Hosts: map[string]string{"ftp.test": "127.0.0.1"}}
	return []*proxytest.Proxy{proxytest.NewSOCKS5(t, o), proxytest.NewHTTP(t, o)}
}

// TestProxy checks that both connections of a download and of a listing go through the proxy that --proxy or a variable
// names, and that the proxy gets the name of the host.
func TestProxy(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/file": "contents"}})
	base := strings.Replace(s.URL("/"), "127.0.0.1", "ftp.test", 1)
	for _, p := range newProxies(t) {
		via := p.URLAs("me:proxypw")
		for _, tt := range []struct {
			name string
			env  map[string]string
			args []string
		}{
			{"flag", nil, []string{"--proxy", via}},
			{"flag before variable", map[string]string{"ALL_PROXY": "socks5://127.0.0.1:1", "NO_PROXY": "*"}, []string{"--proxy", via}},
			{"ALL_PROXY", map[string]string{"ALL_PROXY": via}, nil},
			{"ftp_proxy", map[string]string{"ftp_proxy": via, "ALL_PROXY": "socks5://127.0.0.1:1"}, nil},
			{"NO_PROXY", map[string]string{"FTP_PROXY": via, "NO_PROXY": "other.test"}, nil},
		} {
			t.Run(tt.name, func(t *testing.T) {
				for name, value := range tt.env {
					t.Setenv(name, value)
				}
				before := len(p.Targets())
				for _, path := range []string{"file", ""} {
					code, out, err := run(t, append(tt.args, "-v", "-o", "-", base+path)...)
					if want := map[string]string{"file": "contents", "": "file\n"}[path]; code != 0 || out != want {
						t.Errorf("exit %d, %q, %s", code, out, err)
					}
					if strings.Contains(err, "proxypw") || !strings.Contains(err, "through the proxy at "+p.Addr()) {
						t.Errorf("the dialogue is %s", err)
					}
				}
				targets := p.Targets()[before:]
				if len(targets) != 4 {
					t.Errorf("the proxy was asked for %q, want four connections", targets)
				}
				for _, target := range targets {
					if !strings.HasPrefix(target, "ftp.test:") {
						t.Errorf("the proxy was asked for %s, want ftp.test", target)
					}
				}
			})
		}
	}
}

// TestNoProxy checks what bypasses the proxy, which would refuse everything.
func TestNoProxy(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/file": "contents"}})
	for _, tt := range []struct {
		name string
		env  map[string]string
		args []string
	}{
		{"none", map[string]string{"ftp_proxy": "no such thing"}, []string{"--proxy", "none"}},
		{"empty", map[string]string{"ftp_proxy": "no such thing"}, []string{"--proxy", ""}},
		{"loopback", map[string]string{"ALL_PROXY": "socks5://127.0.0.1:1"}, nil},
		{"NO_PROXY", map[string]string{"ALL_PROXY": "socks5://127.0.0.1:1", "NO_PROXY": "127.0.0.0/8"}, nil},
		{"active", map[string]string{"ALL_PROXY": "socks5://127.0.0.1:1", "NO_PROXY": "127.0.0.0/8"}, []string{"--mode", "active"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for name, value := range tt.env {
				t.Setenv(name, value)
			}
			if code, out, err := run(t, append(tt.args, "-o", "-", s.URL("/file"))...); code != 0 || out != "contents" {
				t.Errorf("exit %d, %q, %s", code, out, err)
			}
		})
	}
}

func TestProxyFailures(t *testing.T) {
	refusing := proxytest.NewHTTP(t, &proxytest.Options{Refuse: true})
	for _, tt := range []struct {
		name string
		env  string // value of ALL_PROXY
		args []string
		code int
		want string
	}{
		{"refuses", "", []string{"--proxy", refusing.URL()}, 97, "proxy " + refusing.URL() + ": it refuses to connect to ftp.test:21 (HTTP status 403)"},
		{"unreachable", "", []string{"--retries", "0", "--proxy", "socks5://127.0.0.1:1"}, 7, "proxy socks5://127.0.0.1:1"},
		{"not resolved", "", []string{"--proxy", "socks5://no..where"}, 5, "proxy socks5://no..where:1080: cannot find its host"},
		{"malformed", "", []string{"--proxy", "socks4://h"}, 2, "--proxy: its scheme must be "},
		{"malformed variable", "socks4://h", nil, 2, " (--proxy none ignores it)"},
		{"active", "", []string{"--mode", "active", "--proxy", "socks5://h"}, 2, "--mode active does not work through a proxy"},
		{"active and variable", "socks5://h", []string{"--mode", "active"}, 2, "--mode active does not work through the proxy socks5://h:1080: drop --mode, or use --proxy none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("ALL_PROXY", tt.env)
			code, out, err := run(t, append(tt.args, "-o", "-", "ftp://ftp.test/file")...)
			if code != tt.code || out != "" || !strings.Contains(err, tt.want) || strings.Count(err, "\n") != 1 {
				t.Errorf("exit %d, want %d; %q, %s, want %s", code, tt.code, out, err, tt.want)
			}
		})
	}
}

// newGetter starts an HTTP proxy that refuses CONNECT and fetches files itself. It counts the passwords that it
// receives.
func newGetter(t *testing.T) (p *proxytest.Proxy, passwords *atomic.Int64) {
	t.Helper()
	passwords = new(atomic.Int64)
	return proxytest.NewHTTP(t, &proxytest.Options{Refuse: true, Serve: func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || strings.Contains(r.RequestURI, "@") {
			passwords.Add(1)
		}
		if strings.Contains(r.RequestURI, "none") {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		http.ServeContent(w, r, "f.bin", time.Unix(1e9, 0), strings.NewReader("contents"))
	}}), passwords
}

const fetchesItself = "fetches the file itself: it may ask the server for another path; --checksum shows whether the file is right"

// TestProxyGet checks that files arrive through a proxy that refuses CONNECT, and that the command says so once.
func TestProxyGet(t *testing.T) {
	p, passwords := newGetter(t)
	for _, tt := range []struct {
		name     string
		args     []string
		code     int
		connects int
		notices  int
		want     string // text on standard error
	}{
		{"by itself", []string{"ftp://ftp.test/a", "ftp://ftp.test/b"}, 0, 1, 1, ""},
		{"quiet", []string{"-q", "ftp://ftp.test/a"}, 0, 1, 1, ""},
		{"several at once", []string{"-j", "1", "ftp://ftp.test/a", "ftp://ftp.test/b"}, 0, 1, 1, "2 of 2 complete"},
		{"--proxy get+", []string{"--proxy", "get+" + p.URL(), "ftp://ftp.test/a", "ftp://ftp.test/b"}, 0, 0, 1, ""},
		{"digest", []string{"--proxy", "get+" + p.URL(), "--checksum", "md5:98bf7d8c15784f0a3d63204441e1e2aa", "ftp://ftp.test/a"}, 0, 0, 1, ""},
		{"segments", []string{"--proxy", "get+" + p.URL(), "-s", "4", "ftp://ftp.test/a"}, 0, 0, 1, ""},
		{"dialogue", []string{"-v", "ftp://ftp.test/a"}, 0, 1, 1, "(HTTP status 403): asking it to fetch files itself\n> GET ftp://ftp.test/a;type=i\n< HTTP 200 OK\n"},
		{"not found", []string{"ftp://ftp.test/none"}, 78, 1, 0, "not found (HTTP status 404)"},
		{"info", []string{"-I", "ftp://ftp.test/a", "ftp://ftp.test/b"}, 0, 1, 0, ""},
		{"listing", []string{"ftp://ftp.test/d/"}, 97, 1, 0, "(HTTP status 403)"},
		{"tree", []string{"-r", "ftp://ftp.test/d/"}, 97, 1, 0, "(HTTP status 403)"},
		{"ASCII type", []string{"ftp://ftp.test/a;type=a"}, 97, 1, 0, "without ;type=a, and %2F for the root"},
		{"TLS", []string{"ftpes://ftp.test/a"}, 97, 1, 0, "(HTTP status 403)"},
		{"--tls", []string{"--tls", "explicit", "ftp://ftp.test/a"}, 97, 1, 0, "(HTTP status 403)"},
		{"--tls try", []string{"--tls", "try", "ftp://ftp.test/a"}, 97, 1, 0, "(HTTP status 403)"},
		{"--proxy get+ does not weaken TLS", []string{"--proxy", "get+" + p.URL(), "ftpes://ftp.test/a"}, 97, 1, 0, "(HTTP status 403)"},
		{"password", []string{"ftp://me@ftp.test/a"}, 97, 1, 0, "(--proxy get+URL gives it these, unencrypted unless the proxy's URL is https://)"},
		{"-u", []string{"-u", "me", "ftp://ftp.test/a"}, 97, 1, 0, "--proxy get+URL gives it these"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, before := t.TempDir(), len(p.Targets())
			t.Chdir(dir)
			code, _, err := run(t, append([]string{"--proxy", p.URL(), "--retries", "0"}, tt.args...)...)
			if code != tt.code || !strings.Contains(err, tt.want) || strings.Count(err, fetchesItself) != tt.notices {
				t.Errorf("exit %d, want %d; %s, want %q and %d notices", code, tt.code, err, tt.want, tt.notices)
			}
			if n := len(p.Targets()) - before; n != tt.connects {
				t.Errorf("%d times CONNECT, want %d", n, tt.connects)
			}
			if got, rerr := os.ReadFile(filepath.Join(dir, "a")); code == 0 && tt.name != "info" && (rerr != nil || string(got) != "contents") {
				t.Errorf("got %q, %v", got, rerr)
			}
		})
	}
	if n := passwords.Load(); n != 0 {
		t.Errorf("the proxy got %d passwords, want none", n)
	}
}

// TestProxyGetPassword checks that with --proxy get+ the proxy gets the password for the server, from any source.
func TestProxyGetPassword(t *testing.T) {
	p, passwords := newGetter(t)
	file := filepath.Join(t.TempDir(), "netrc")
	must.Do(t, os.WriteFile(file, []byte("machine ftp.test login me password netrcpw\n"), 0o600))
	for _, args := range [][]string{{"ftp://me:urlpw@ftp.test/a"}, {"-u", "me:userpw", "ftp://ftp.test/a"}, {"--netrc=" + file, "ftp://ftp.test/a"}} {
		before := passwords.Load()
		code, out, err := run(t, append([]string{"--proxy", "get+" + p.URL(), "-v", "-o", "-"}, args...)...)
		if code != 0 || out != "contents" || passwords.Load() == before {
			t.Errorf("%q: exit %d, %q, %s", args, code, out, err)
		}
		if strings.Contains(err, "pw") || !strings.Contains(err, ">> Authorization: ********\n") {
			t.Errorf("the dialogue is %s", err)
		}
	}
}

// TestProxyGetUsage checks what --proxy get+ refuses before anything is sent.
func TestProxyGetUsage(t *testing.T) {
	p, _ := newGetter(t)
	for _, tt := range []struct {
		proxy, url string
		want       string
	}{
		{"get+none", "ftp://ftp.test/a", "only an HTTP proxy"},
		{"get+socks5://h", "ftp://ftp.test/a", "only an HTTP proxy"},
		{"get+" + p.URL(), "ftp://ftp.test/d/", "--proxy get+ cannot list directories: write the URL of a file, or drop get+"},
		{"get+" + p.URL(), "ftp://ftp.test/d;type=d", "write the URL of a file"},
		{"get+" + p.URL(), "ftp://ftp.test/a;type=a", "--proxy get+ cannot convert line ends: drop ;type=a or get+"},
	} {
		code, out, err := run(t, "--proxy", tt.proxy, tt.url)
		if code != 2 || out != "" || !strings.Contains(err, tt.want) || len(p.Targets()) > 0 {
			t.Errorf("%s %s: exit %d, %q, %s, want %s", tt.proxy, tt.url, code, out, err, tt.want)
		}
	}
}

// lateProxy starts a proxy that fetches f and g at once. After f it sends more bytes, until the client closes the
// connection, and only then g.
func lateProxy(t *testing.T) net.Listener {
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	asked, closed := make(chan struct{}), make(chan struct{})
	var wait sync.WaitGroup
	serve := func(conn net.Conn) {
		defer conn.Close()
		r := bufio.NewReader(conn)
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		const answer = "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\ncontents"
		if strings.HasSuffix(req.RequestURI, "/g;type=i") {
			close(asked)
			await(t, closed)
			_, _ = io.WriteString(conn, answer)
			return
		}
		await(t, asked)
		_, _ = io.WriteString(conn, answer)
		_, _ = io.WriteString(conn, "and more")
		_, _ = io.Copy(io.Discard, r)
		close(closed)
	}
	wait.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wait.Go(func() { serve(conn) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		wait.Wait()
	})
	return l
}

// await waits until done is closed or the test ends.
func await(t *testing.T, done <-chan struct{}) {
	select {
	case <-done:
	case <-t.Context().Done():
	}
}

// TestLibrariesLogNothing checks that what a library logs does not reach the terminal, or JSON on standard error: net/http
// has a text for a proxy that sends more than it announced.
func TestLibrariesLogNothing(t *testing.T) {
	for _, how := range []string{"none", "json"} {
		t.Run(how, func(t *testing.T) {
			dir, l := t.TempDir(), lateProxy(t)
			cmd := exec.CommandContext(t.Context(), "ftpfetch", "--proxy", "get+http://"+l.Addr().String(),
				"--progress", how, "-j", "2", "-d", dir, "ftp://h/f", "ftp://h/g")
			var stderr strings.Builder
			cmd.Stderr = &stderr
			_ = cmd.Run() // f may fail: more than was announced has come
			if got, err := os.ReadFile(filepath.Join(dir, "g")); err != nil || string(got) != "contents" {
				t.Errorf("%v, %s", err, stderr.String())
			}
			for line := range strings.Lines(stderr.String()) {
				if strings.Contains(line, "Unsolicited") || how == "json" && !json.Valid([]byte(line)) {
					t.Errorf("standard error has %q", line)
				}
			}
		})
	}
}
