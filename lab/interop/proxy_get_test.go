//go:build interop

package interop

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/cmd/internal/gateway"
	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/network/proxy"
	"example.com/ftpfetch/internal/testkit/must"
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

// TestProxyGet checks that files arrive through squid, which refuses CONNECT, byte for byte, whatever their names are.
// Squid resumes incorrectly, so the client must request whole files. It does not request squid's listings, and gets
// sizes by HEAD.
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
		_, err := download.File(testContext(t), src, parse(t, s.URL("/pub/big.bin")), saved, &download.Options{Existing: download.Overwrite})
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

// TestProxyGetLogin checks that the named user's file arrives with a password, and that squid does not log the
// password.
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

// TestProxyGetCut checks that a transfer that the server breaks off is not complete, whether or not squid knows the
// size of the file.
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
			if !errors.As(err, &e) || !ftpexec.Retryable(e) {
				t.Errorf("got %s, %v, want a temporary error", digest(got), err)
			}
		})
	}
}

// TestProxyGetTinyproxy uses tinyproxy, which does not speak FTP: it sends the server an HTTP request, and reports that
// this failed, or waits. The error must name both refusals, count as that of a server that was not reached, and not be
// worth a retry.
func TestProxyGetTinyproxy(t *testing.T) {
	forEachBehindSquid(t, func(t *testing.T, s *Server) {
		p := sharedProxy(t, TinyproxyHTTPS)
		_, port, err := net.SplitHostPort(s.Addr)
		must.Do(t, err)
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

// through makes every connection of c go through p. Any other connection fails the test.
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

// TestProxy checks that files and listings arrive through both proxies from every server, with EPSV and with PASV, and
// that the proxy resolves the server's name.
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

// TestProxyTLS checks that data connections resume the TLS session through a proxy too.
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

// The proxies: SOCKS5 (RFC 1928), HTTP with CONNECT, and HTTP that refuses CONNECT to the ports of FTP servers. The
// last one, squid, fetches ftp URLs itself.
const (
	Microsocks     Kind = "microsocks"
	Tinyproxy      Kind = "tinyproxy"
	TinyproxyHTTPS Kind = "tinyproxy for port 443"
	Squid          Kind = "squid"
)

// ProxyHost is a name for 127.0.0.1 that only the proxies know.
const ProxyHost = "ftp.interop.test"

// The login that the proxies require. tinyproxy accepts no space or colon.
const proxyUser = "proxyuser"
const proxyPassword = "proxy-secret"

var proxies = map[Kind]func(*site) []string{
	Microsocks:     microsocksArgs,
	Tinyproxy:      func(st *site) []string { return tinyproxyArgs(st) },
	TinyproxyHTTPS: func(st *site) []string { return tinyproxyArgs(st, "ConnectPort 443") },
	Squid:          squidArgs,
}

// proxyURL returns a proxy's URL with the login in it.
func proxyURL(p *Server) string {
	u := url.URL{Scheme: "http", User: url.UserPassword(proxyUser, proxyPassword), Host: p.Addr}
	if p.Kind == Microsocks {
		u.Scheme = "socks5"
	}
	return u.String()
}

// sharedProxy returns a proxy that other tests use too. It knows ProxyHost.
func sharedProxy(t *testing.T, kind Kind) *Server {
	t.Helper()
	configure := func(st *site) program {
		return program{argv: proxies[kind](st), env: st.environment("LD_PRELOAD="+st.installed("usr/lib/*-linux-gnu/libnss_wrapper.so"),
			"NSS_WRAPPER_HOSTS="+st.write("hosts", st.host+" "+ProxyHost+"\n"))}
	}
	return share(t, string(kind), func(ctx context.Context) (*Server, error) {
		return start(ctx, flavour{kind: kind, configure: configure}, nil, Options{})
	})
}

func microsocksArgs(st *site) []string {
	return []string{st.installed("usr/bin/microsocks"), "-i", st.host, "-p", strconv.Itoa(st.port), "-u", proxyUser, "-P", proxyPassword}
}

func tinyproxyArgs(st *site, more ...string) []string {
	// Without a ConnectPort tinyproxy connects to every port.
	conf := st.write("tinyproxy.conf", lines(append(more,
		fmt.Sprintf("Port %d", st.port), "Listen "+st.host, "Timeout 60", "MaxClients 50",
		fmt.Sprintf("BasicAuth %s %s", proxyUser, proxyPassword), "LogLevel Info",
	)...))
	return []string{st.installed("usr/bin/tinyproxy"), "-d", "-c", conf}
}

// proxyHash is proxyPassword as crypt(3) writes it (SHA-512, salt "interop").
const proxyHash = "$6$interop$qNBZt67I0TlNOk5yUb7M6./r0OkEq0NcmpPixeWj0i6NVVZmlCV4Oq1QnEwhhWiu/xeyIUSw5dlyH1l5QJNnG1"

// squidArgs configures a squid that fetches ftp URLs itself and refuses CONNECT, as many sites do. It runs as nobody,
// who may not enter the directory of the unpacked packages.
func squidArgs(st *site) []string {
	dir := st.path("squid")
	st.fails(os.Mkdir(dir, 0o700))
	files := map[string]string{"users": proxyUser + ":" + proxyHash + "\n", "hosts": st.host + " " + ProxyHost + "\n"}
	for _, file := range []string{"usr/lib/squid/basic_ncsa_auth", "usr/lib/squid/unlinkd", "usr/share/squid/mime.conf"} {
		text, err := os.ReadFile(st.installed(file))
		st.fails(err)
		files[filepath.Base(file)] = string(text)
	}
	for name, text := range files {
		st.fails(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700))
	}
	conf := st.write("squid.conf", lines(
		fmt.Sprintf("http_port %s:%d", st.host, st.port), "visible_hostname squid.interop.test",
		"hosts_file "+dir+"/hosts", "dns_nameservers 127.0.0.1",
		"auth_param basic program "+dir+"/basic_ncsa_auth "+dir+"/users", "auth_param basic realm interop",
		"acl tunnel method CONNECT", "acl known proxy_auth REQUIRED",
		"http_access deny tunnel", "http_access allow known", "http_access deny all",
		"cache_effective_user nobody", "pid_filename none", "coredump_dir "+dir, "shutdown_lifetime 0 seconds",
		"cache_log "+dir+"/cache.log", "access_log stdio:"+dir+"/access.log", "logfile_rotate 0", "pinger_enable off",
		"mime_table "+dir+"/mime.conf", "icon_directory "+dir, "error_directory "+dir, "unlinkd_program "+dir+"/unlinkd",
		"max_filedescriptors 1024",
	))
	if os.Getuid() == 0 {
		st.fails(os.Chown(dir, nobody, nobody))
		for name := range files {
			st.fails(os.Chown(filepath.Join(dir, name), nobody, nobody))
		}
	}
	return []string{st.installed("usr/sbin/squid"), "-N", "-f", conf}
}
