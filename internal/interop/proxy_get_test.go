//go:build interop

package interop

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/gateway"
	"example.com/ftpfetch/internal/proxy"
	"example.com/ftpfetch/internal/rules/must"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// newGateway returns a Source that reaches servers only through p. A timeout of 0 means the default.
func newGateway(t *testing.T, p *Server, timeout time.Duration) *gateway.Source {
	t.Helper()
	via := must.Get(proxy.Parse(proxyURL(p)))(t)
	c := newClient(t)
	c.Timeout = timeout
	through(t, c, p)
	src := gateway.New(c, via, nil)
	t.Cleanup(src.CloseIdleConnections)
	return src
}

// get retrieves a whole file.
func get(t *testing.T, src download.Source, url string) (*ftpexec.Response, string, error) {
	t.Helper()
	r, err := src.Do(testContext(t), &ftpexec.Request{URL: parse(t, url)})
	if err != nil {
		return nil, "", err
	}
	text, err := readAll(r)
	return r, text, err
}

// Files arrive through squid, which refuses CONNECT, byte for byte, whatever their names are. Squid resumes wrongly, so
// the rest of a file is not asked for: it comes as a whole. Its listings are not asked for, and its answers to HEAD tell
// the size.
func TestProxyGet(t *testing.T) {
	forEachBehindSquid(t, func(t *testing.T, s *Server) {
		src := newGateway(t, sharedProxy(t, Squid), 0)
		for path := range tree.Files {
			if !s.serves(path) {
				continue
			}
			r, got, err := get(t, src, s.URL(urlPath(path)))
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			wantFile(t, path, got)
			if size := int64(len(got)); r.Size != size && r.Size != -1 || !r.ModTime.Equal(modTime) && !r.ModTime.IsZero() {
				t.Errorf("%s: got size %d and %v, want %d and %v", path, r.Size, r.ModTime, size, modTime)
			}
		}
		for _, path := range []string{"/pub/nothing", "/nowhere/file", "/pub/a"} {
			if _, _, err := get(t, src, s.URL(path)); !errors.Is(err, ftpexec.ErrNotFound) {
				t.Errorf("%s: got %v, want ErrNotFound", path, err)
			}
		}

		want, saved := tree.Files["pub/big.bin"], filepath.Join(t.TempDir(), "big.bin")
		_, err := download.File(testContext(t), src, parse(t, s.URL("/pub/big.bin")), saved, &download.Options{Overwrite: true})
		if got, rerr := os.ReadFile(saved); err != nil || rerr != nil || string(got) != want {
			t.Errorf("got %s, %v, %v", digest(string(got)), err, rerr)
		}

		urls := []*urlparse.URL{parse(t, s.URL("/pub/big.bin")), parse(t, s.URL("/pub/nothing")), parse(t, s.URL("/pub/text.txt"))}
		var sizes []int64
		for info, err := range src.StatAll(testContext(t), urls) {
			if missing := len(sizes) == 1; missing != errors.Is(err, ftpexec.ErrNotFound) {
				t.Errorf("got %+v, %v", info, err)
			}
			sizes = append(sizes, info.Size)
		}
		if want := []int64{bigSize, 0, int64(len(tree.Files["pub/text.txt"]))}; !slices.Equal(sizes, want) {
			t.Errorf("got %d, want %d", sizes, want)
		}
	})
}

// The named user's file comes with a password, which squid does not log.
func TestProxyGetLogin(t *testing.T) {
	forEachBehindSquid(t, func(t *testing.T, s *Server) {
		p := sharedProxy(t, Squid)
		src := newGateway(t, p, 0)
		src.Always = true
		if _, got, err := get(t, src, s.UserURL(UserPassword, "/"+homeFile)); err != nil || got != homeText {
			t.Errorf("got %q, %v", got, err)
		}
		if _, _, err := get(t, src, s.UserURL("wrong", "/"+homeFile)); !errors.Is(err, ftpexec.ErrLogin) {
			t.Errorf("got %v, want ErrLogin", err)
		}
		if _, _, err := get(t, newGateway(t, p, 0), s.UserURL(UserPassword, "/"+homeFile)); !errors.Is(err, gateway.ErrWithheld) {
			t.Errorf("got %v, want ErrWithheld", err)
		}
		text, err := os.ReadFile(filepath.Join(p.dir, "squid", "access.log"))
		if log := string(text); err != nil || strings.Contains(log, "sesame") || strings.Contains(log, "wrong") || !strings.Contains(log, homeFile) {
			t.Errorf("squid logs %s, %v", log, err)
		}
	})
}

// A transfer that the server breaks off is not complete, whether squid knows the size of the file or not.
func TestProxyGetCut(t *testing.T) {
	t.Parallel()
	for name, noSize := range map[string]bool{"size known": false, "size unknown": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := testserver.New(t, &testserver.Options{
				Tree: map[string]string{"/f": pseudoRandom(1 << 20)},
				Fault: func(p *testserver.Conn) testserver.Action {
					switch {
					case p.Verb == "SIZE" && noSize:
						return testserver.Reply("502 no")
					case p.Transfer > 0:
						return testserver.Do(testserver.Cut(300_000, testserver.Closed), testserver.Final(testserver.Reply("426 broken")))
					}
					return nil
				},
			})
			src := newGateway(t, sharedProxy(t, Squid), 0)
			_, got, err := get(t, src, s.URL("/f"))
			var e *ftpexec.Error
			if !errors.As(err, &e) || !e.Temporary() {
				t.Errorf("got %s, %v, want a temporary error", digest(got), err)
			}
		})
	}
}

// Tinyproxy does not speak FTP: it sends the request to the server as HTTP, and answers that this went wrong, or waits.
// The error names both refusals, and is that of a server that was never reached, which is not worth a retry.
func TestProxyGetTinyproxy(t *testing.T) {
	forEachBehindSquid(t, func(t *testing.T, s *Server) {
		p := sharedProxy(t, TinyproxyHTTPS)
		_, port, err := net.SplitHostPort(s.Addr)
		if err != nil {
			t.Fatal(err)
		}
		for _, always := range []bool{false, true} {
			src := newGateway(t, p, time.Second)
			src.Always = always
			_, _, err := get(t, src, "ftp://"+net.JoinHostPort(ProxyHost, port)+"/pub/text.txt")
			var e *ftpexec.Error
			if !errors.As(err, &e) || strings.Contains(err.Error(), "it refuses to connect to") == always || !always && e.Stage != "connect" {
				t.Errorf("always %v: got %v", always, err)
			}
		}
	})
}

// through makes every connection of c go through p. Any other fails the test.
func through(t *testing.T, c *ftpexec.Client, p *Server) {
	t.Helper()
	via := must.Get(proxy.Parse(proxyURL(p)))(t)
	dial := via.Dialer(nil)
	c.Proxy = func(string) func(context.Context, string, string) (net.Conn, error) { return dial }
	c.Dial = func(_ context.Context, _, address string) (net.Conn, error) {
		t.Errorf("the client dials %s without the proxy", address)
		return nil, net.ErrClosed
	}
}

// forEachProxy runs test with every proxy that connects to FTP servers, in the servers' own subtests.
func forEachProxy(t *testing.T, test func(t *testing.T, p *Server)) {
	t.Helper()
	for _, kind := range []Kind{Microsocks, Tinyproxy} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			test(t, sharedProxy(t, kind))
		})
	}
}

// Files and listings arrive through both proxies from every server, with EPSV and with PASV, and the proxy resolves the
// server's name.
func TestProxy(t *testing.T) {
	forEachServer(t, func(t *testing.T, s *Server) {
		_, port, _ := net.SplitHostPort(s.Addr)
		base := "ftp://" + net.JoinHostPort(ProxyHost, port)
		forEachProxy(t, func(t *testing.T, p *Server) {
			for _, noEPSV := range []bool{false, true} {
				c := newClient(t)
				c.NoEPSV = noEPSV
				through(t, c, p)
				inSession(testContext(t), t, c, base, sessionPaths())
				if got, err := list(testContext(t), c, base+"/pub/a/b/"); err != nil || !slices.Contains(got, "c") {
					t.Errorf("listing: got %q, %v", got, err)
				}
			}
		})
	})
}

// Data connections resume the TLS session through a proxy too.
func TestProxyTLS(t *testing.T) {
	forEachTLSServer(t, func(t *testing.T, s *Server) {
		forEachProxy(t, func(t *testing.T, p *Server) {
			c := newClient(t)
			c.TLSConfig = &tls.Config{RootCAs: s.RootCAs}
			through(t, c, p)
			inSession(testContext(t), t, c, "ftpes://"+s.Addr, sessionPaths())
		})
	})
}
