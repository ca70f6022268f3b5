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
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/network/proxy"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// fetched is what the command did.
type fetched struct {
	out, err string
	code     int
}

// behind runs the command with its connections through p, and returns what it did. get makes it ask p for files from
// the start, and give it the passwords for servers.
func behind(t *testing.T, p *Server, get bool, args ...string) fetched {
	t.Helper()
	via := proxyURL(p)
	if get {
		via = "get+" + via
	}
	retries := "0"
	if p.Kind == Squid {
		retries = "3" // it may crash, see squidArgs
	}
	cmd := exec.CommandContext(testContext(t), build(t), append([]string{"--proxy", via, "--retries", retries}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	var out, text strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &text
	_ = cmd.Run()
	return fetched{out.String(), text.String(), cmd.ProcessState.ExitCode()}
}

// TestProxyGet checks that files arrive through squid, which refuses CONNECT, byte for byte, whatever their names are.
// Squid resumes incorrectly, so the client must request whole files. It does not request squid's listings, and gets
// sizes by HEAD.
func TestProxyGet(t *testing.T) {
	forEachBehindSquid(t, func(t *testing.T, s *Server) {
		squid := sharedProxy(t, Squid)
		for path := range tree.Files {
			if !s.serves(path) {
				continue
			}
			got := behind(t, squid, false, "-q", "-o", "-", s.URL(urlPath(path)))
			if got.code != 0 {
				t.Errorf("%s: exit code %d, %s", path, got.code, got.err)
				continue
			}
			wantFile(t, path, got.out)
		}
		for _, path := range []string{"/pub/nothing", "/nowhere/file", "/pub/a"} {
			if got := behind(t, squid, false, "-o", "-", s.URL(path)); got.code != 78 || got.out != "" {
				t.Errorf("%s: exit code %d, %s", path, got.code, got.err)
			}
		}

		saved := filepath.Join(t.TempDir(), "big.bin")
		got := behind(t, squid, false, "--overwrite", "-o", saved, s.URL("/pub/big.bin"))
		info, err := os.Stat(saved)
		must.Do(t, err)
		text := string(must.Get(os.ReadFile(saved))(t))
		if now := time.Since(info.ModTime()) < time.Hour; got.code != 0 || text != tree.Files["pub/big.bin"] || !now && !info.ModTime().Equal(modTime) {
			t.Errorf("exit code %d, %s, of %v: %s", got.code, digest(text), info.ModTime(), got.err)
		}

		got = behind(t, squid, false, "-I", "--json", s.URL("/pub/big.bin"), s.URL("/pub/nothing"), s.URL("/pub/text.txt"))
		for path, size := range map[string]int{"big.bin": bigSize, "text.txt": len(tree.Files["pub/text.txt"])} {
			if !strings.Contains(got.out, path) || !strings.Contains(got.out, fmt.Sprintf(`"size":%d`, size)) {
				t.Errorf("-I: no %s of %d bytes in %s", path, size, got.out)
			}
		}
		if !strings.Contains(got.err, "nothing") {
			t.Errorf("-I says nothing of a file that is not there: %s", got.err)
		}
	})
}

// TestProxyGetLogin checks that the named user's file arrives with a password, and that squid does not log the
// password.
func TestProxyGetLogin(t *testing.T) {
	forEachBehindSquid(t, func(t *testing.T, s *Server) {
		squid := sharedProxy(t, Squid)
		url := s.UserURL(UserPassword, "/"+homeFile)
		if got := behind(t, squid, true, "-q", "-o", "-", url); got.code != 0 || got.out != homeText {
			t.Errorf("got %q, exit code %d, %s", got.out, got.code, got.err)
		}
		if got := behind(t, squid, true, "-o", "-", s.UserURL("wrong", "/"+homeFile)); got.code != 67 {
			t.Errorf("a wrong password: exit code %d, %s", got.code, got.err)
		}
		if got := behind(t, squid, false, "-o", "-", url); got.code != 97 || !strings.Contains(got.err, "--proxy get+") {
			t.Errorf("a password without get+: exit code %d, %s", got.code, got.err)
		}
		text, err := os.ReadFile(filepath.Join(squid.dir, "squid", "access.log"))
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
						return testserver.Sequence(testserver.EndDataAfter(300_000, testserver.Closed), testserver.ReplaceReply(testserver.Reply("426 broken")))
					}
					return nil
				},
			})
			saved := filepath.Join(t.TempDir(), "f")
			got := behind(t, sharedProxy(t, Squid), false, "-o", saved, s.URL("/f"))
			if _, err := os.Stat(saved); got.code == 0 || got.code == 78 || !errors.Is(err, os.ErrNotExist) {
				t.Errorf("exit code %d, the file: %v: %s", got.code, err, got.err)
			}
		})
	}
}

// TestProxyGetTinyproxy uses tinyproxy, which does not speak FTP: it sends the server an HTTP request, and reports that
// this failed, or waits. The error must name both refusals, if CONNECT was refused before.
func TestProxyGetTinyproxy(t *testing.T) {
	forEachBehindSquid(t, func(t *testing.T, s *Server) {
		p := sharedProxy(t, TinyproxyHTTPS)
		_, port, err := net.SplitHostPort(s.Addr)
		must.Do(t, err)
		for _, always := range []bool{false, true} {
			got := behind(t, p, always, "--timeout", "1", "-o", "-", "ftp://"+net.JoinHostPort(ProxyHost, port)+"/pub/text.txt")
			if refused := strings.Contains(got.err, "it refuses to connect to"); got.code == 0 || got.out != "" || refused == always {
				t.Errorf("always %v: exit code %d, %s", always, got.code, got.err)
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
// who may not enter the directory of the unpacked packages. Now and then it crashes. Its own supervisor would start it
// without LD_LIBRARY_PATH, so a shell starts it again.
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
	again := `for i in 1 2 3 4 5 6 7 8 9; do "$@"; echo "squid has ended: $?" >&2; sleep 0.1; done`
	return []string{"/bin/sh", "-c", again, "-", st.installed("usr/sbin/squid"), "-N", "-d", "1", "-f", conf}
}
