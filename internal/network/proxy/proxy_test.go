package proxy_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"example.com/ftpfetch/internal/network/proxy"
	"example.com/ftpfetch/internal/network/proxy/proxytest"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/lab/interop/ftptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParse(t *testing.T) {
	tests := []struct {
		in, want string // want "": Parse fails
	}{
		{"socks5://h", "socks5://h:1080"},
		{"SOCKS5H://h:99", "socks5h://h:99"},
		{"http://h", "http://h:80"},
		{"http://h/", "http://h:80"},
		{"https://h", "https://h:443"},
		{"h:3128", "http://h:3128"},
		{"h", "http://h:80"},
		{"socks5://[::1]:1", "socks5://[::1]:1"},
		{"socks5://hidden:hidden@h", "socks5://h:1080"},
		{"http://a:h%2Fi%40dden@h", "http://h:80"},
	}
	for _, bad := range []string{
		"socks4://hidden:hidden@h", "ftp://hidden:hidden@h", "http://", "http://hidden:hidden@", "http://hidden:hid/den@h", "http://hidden:%zz@h", "http://hidden:hidden@h:0",
		"http://hidden:hidden@h:65536", "http://hidden:hidden@h/path", "http://hidden:hidden@h?q", "http://hid%3Aden:hidden@h", "socks5://:hidden@h", "socks5://a:hidden" + strings.Repeat("x", 250) + "@h", "http://h\r\nhidden",
	} {
		tests = append(tests, struct{ in, want string }{bad, ""})
	}
	for _, tt := range tests {
		p, err := proxy.Parse(tt.in)
		switch {
		case (err == nil) != (tt.want != ""):
			t.Errorf("%q: got %v", tt.in, err)
		case err != nil && (!errors.Is(err, proxy.ErrURL) || strings.Contains(err.Error(), "hid")):
			t.Errorf("%q: got %v, want ErrURL without a secret", tt.in, err)
		case err == nil && p.String() != tt.want:
			t.Errorf("%q: got %v, want %v", tt.in, p, tt.want)
		}
		if s := fmt.Sprintf("%v %+v %#v", p, p, p); err == nil && strings.Contains(s, "hidden") {
			t.Errorf("%q: printed with its secret: %s", tt.in, s)
		}
	}
}

// speaker is a server that sends a greeting, as FTP servers do, and then echoes what it receives.
func speaker(t *testing.T) (port string) {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	var serving sync.WaitGroup
	serving.Go(func() {
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			_, _ = io.WriteString(conn, "220 hello\r\n")
			_, _ = io.Copy(conn, conn)
			conn.Close()
		}
	})
	t.Cleanup(func() { l.Close(); serving.Wait() })
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port
}

// converse writes to conn and returns all bytes that arrive.
func converse(t *testing.T, conn net.Conn) string {
	t.Helper()
	must.Get(io.WriteString(conn, "echo"))(t)
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	return string(must.Get(io.ReadAll(conn))(t))
}

// kinds are the kinds of proxy, with functions that start one and return its URL with a login.
var kinds = []struct {
	name  string
	new   func(testing.TB, *proxytest.Options) *proxytest.Proxy
	tls   bool
	early string // bytes of the server that arrive with the proxy's answer and must not be lost
}{
	{"socks5", proxytest.NewSOCKS5, false, ""},
	{"http", proxytest.NewHTTP, false, "early "},
	{"https", proxytest.NewHTTP, true, "early "},
}

// parse returns the Proxy for a URL of p.
func parse(t *testing.T, p *proxytest.Proxy, url string) *proxy.Proxy {
	t.Helper()
	got := must.Get(proxy.Parse(url))(t)
	if p != nil && p.Server != nil && p.Server.Certificate() != nil {
		got.RootCAs = x509.NewCertPool()
		got.RootCAs.AddCert(p.Server.Certificate())
	}
	return got
}

func TestDial(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			port := speaker(t)
			p := kind.new(t, &proxytest.Options{
				TLS: kind.tls, User: "me", Password: "p:w", Hosts: map[string]string{"ftp.test": "127.0.0.1"}, Greeting: kind.early,
			})
			dial := parse(t, p, p.URLAs("me:p%3Aw")).Dialer(nil)
			for _, host := range []string{"ftp.test", "127.0.0.1"} {
				conn := must.Get(dial(t.Context(), "tcp4", net.JoinHostPort(host, port)))(t)
				if got, want := converse(t, conn), kind.early+"220 hello\r\necho"; got != want {
					t.Errorf("%s: got %q, want %q", host, got, want)
				}
				if _, plain := conn.(*net.TCPConn); plain == kind.tls {
					t.Errorf("%s: the connection is a %T", host, conn)
				}
				conn.Close()
			}
			if got, want := p.Targets(), []string{"ftp.test:" + port, "127.0.0.1:" + port}; !slices.Equal(got, want) {
				t.Errorf("the proxy was asked for %q, want %q", got, want)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	for _, kind := range kinds {
		for _, tt := range []struct {
			name, login string
			o           proxytest.Options
		}{
			{"wrong password", "me:hidden@", proxytest.Options{User: "me", Password: "other"}},
			{"no password", "", proxytest.Options{User: "me", Password: "other"}},
			{"not allowed", "me:hidden@", proxytest.Options{Refuse: true}},
		} {
			t.Run(kind.name+" "+tt.name, func(t *testing.T) {
				tt.o.TLS = kind.tls
				p := kind.new(t, &tt.o)
				client := parse(t, p, strings.Replace(p.URL(), "://", "://"+tt.login, 1))
				_, err := client.Dialer(nil)(t.Context(), "tcp", "ftp.test:21")
				if !errors.Is(err, proxy.ErrRefused) || !strings.Contains(err.Error(), p.URL()) {
					t.Errorf("got %v, want ErrRefused of %s", err, p.URL())
				}
				if strings.Contains(err.Error(), "hidden") || strings.Contains(err.Error(), "Basic") {
					t.Errorf("%v shows the password", err)
				}
			})
		}
	}
}

// TestUntrusted checks that an https proxy needs a trusted certificate.
func TestUntrusted(t *testing.T) {
	p := proxytest.NewHTTP(t, &proxytest.Options{TLS: true})
	_, err := parse(t, nil, p.URL()).Dialer(nil)(t.Context(), "tcp", "ftp.test:21")
	if !errors.Is(err, proxy.ErrRefused) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("got %v, want a certificate refused", err)
	}
}

// silent is the start of an answer that never ends.
const silent = "\x05"

// answering is a proxy that sends text to every client and closes the connection; if text is silent, the connection
// stays open.
func answering(t *testing.T, text string) proxy.DialFunc {
	return func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		t.Cleanup(func() { far.Close() })
		go func() { _, _ = io.Copy(io.Discard, far) }()
		go func() {
			_, _ = io.WriteString(far, text)
			if text != silent {
				far.Close()
			}
		}()
		return near, nil
	}
}

func TestHostileProxy(t *testing.T) {
	for _, tt := range []struct{ url, answer, want string }{
		{"http://h", "220 ftp server\r\n\r\n", "not HTTP"},
		{"http://h", "HTTP/1.1 2000 OK\r\n\r\n", "not HTTP"},
		{"http://h", "HTTP/2\n\n", "not HTTP"},
		{"http://h", "HTTP/1.1 -20 OK\r\n\r\n", "not HTTP"},
		{"http://h", "\n\n", "not HTTP"},
		{"http://h", "HTTP/1.1 200 OK\r\n\x1b[2J\r\n\r\n", "not HTTP"},
		{"http://h", "HTTP/1.1 200 OK\r\n", "no answer: EOF"},
		{"http://h", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 1<<16), "too long"},
		{"http://h", strings.Repeat("HTTP/1.1 100 \x1b[2J\n\n", 1000), "its header is too long"},
		{"http://h", "HTTP/1.1 302 \x1b[2J\n\n", "HTTP status 302"},
		{"socks5://h", "220 ftp server\r\n", "unexpected protocol version"},
		{"socks5://h", "\x05\x00\x05\x05\x00\x01", "connection refused"},
		{"socks5://h", "\x05\xff", "no acceptable authentication methods"},
		{"socks5://h", "\x05\x00\x05", "EOF"},
	} {
		_, err := parse(t, nil, tt.url).Dialer(answering(t, tt.answer))(t.Context(), "tcp", "ftp.test:21")
		if !errors.Is(err, proxy.ErrRefused) || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s %.40q: got %v, want %s", tt.url, tt.answer, err, tt.want)
		}
	}
}

// TestContext checks that the wait for a silent proxy ends at the deadline.
func TestContext(t *testing.T) {
	for _, url := range []string{"http://h", "https://h", "socks5://h"} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			_, err := parse(t, nil, url).Dialer(answering(t, silent))(ctx, "tcp", "ftp.test:21")
			if took := time.Since(begun); !errors.Is(err, context.DeadlineExceeded) || took != time.Hour {
				t.Errorf("%s: got %v after %v, want %v after an hour", url, err, took, context.DeadlineExceeded)
			}
		})
	}
}

// TestUnreachable checks that the error for a proxy that is missing or has no address names the proxy, and not the
// host.
func TestUnreachable(t *testing.T) {
	none := func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "h", IsNotFound: true}}
	}
	for _, url := range []string{"http://h:80", "socks5://h:1080"} {
		_, err := parse(t, nil, url).Dialer(ftptest.NewNetwork().Dial)(t.Context(), "tcp", "ftp.test:21")
		if op, ok := errors.AsType[*net.OpError](err); !ok || op.Op != "dial" || !strings.Contains(err.Error(), "proxy "+url) {
			t.Errorf("got %v, want a dial error that names the proxy", err)
		}
		_, err = parse(t, nil, url).Dialer(none)(t.Context(), "tcp", "ftp.test:21")
		if _, dns := errors.AsType[*net.DNSError](err); !errors.Is(err, proxy.ErrResolve) || dns {
			t.Errorf("%s: got %v, want ErrResolve, and no DNS error, which would be the host's", url, err)
		}
	}
}

func TestFromEnvironment(t *testing.T) {
	for _, tt := range []struct {
		env     map[string]string
		address string
		want    string
	}{
		{nil, "h:21", ""},
		{map[string]string{"ALL_PROXY": "socks5://all"}, "h:21", "socks5://all:1080"},
		{map[string]string{"ALL_PROXY": "socks5://all", "ftp_proxy": "f:1"}, "h:21", "http://f:1"},
		{map[string]string{"FTP_PROXY": "F:1", "ftp_proxy": "f:1"}, "h:21", "http://f:1"},
		{map[string]string{"FTP_PROXY": "F:1", "all_proxy": "a:1"}, "h:21", "http://F:1"},
		{map[string]string{"http_proxy": "h:1", "https_proxy": "h:1"}, "h:21", ""},
		{map[string]string{"ALL_PROXY": "a:1", "NO_PROXY": "example.org"}, "ftp.example.org:21", ""},
		{map[string]string{"ALL_PROXY": "a:1", "NO_PROXY": "example.org"}, "example.com:21", "http://a:1"},
		{map[string]string{"ALL_PROXY": "a:1", "NO_PROXY": "example.org:990"}, "example.org:990", ""},
		{map[string]string{"ALL_PROXY": "a:1", "no_proxy": "*"}, "example.org:21", ""},
		{map[string]string{"ALL_PROXY": "a:1"}, "localhost:21", ""},
		{map[string]string{"ALL_PROXY": "a:1"}, "127.0.0.1:2121", ""},
	} {
		p, err := proxy.FromEnvironment(func(name string) string { return tt.env[name] })
		got := ""
		if p.For(tt.address) {
			got = p.String()
		}
		if err != nil || got != tt.want {
			t.Errorf("%v: %s goes through %q (%v), want %q", tt.env, tt.address, got, err, tt.want)
		}
	}
	_, err := proxy.FromEnvironment(func(name string) string { return map[string]string{"FTP_PROXY": "gopher://me:hidden@h"}[name] })
	if !errors.Is(err, proxy.ErrURL) || !strings.Contains(err.Error(), "FTP_PROXY") || strings.Contains(err.Error(), "hidden") {
		t.Errorf("got %v, want the variable's name", err)
	}
}

// TestNoProxy reads no_proxy as curl does: which hosts are dialled directly.
func TestNoProxy(t *testing.T) {
	cases := 0
	for _, tt := range []struct{ list, direct, through string }{
		{"x.invalid", "x.invalid x.invalid. X.Invalid a.x.invalid a.x.invalid.", "xx.invalid invalid x.invalid.org"},
		{"x.invalid.", "x.invalid x.invalid. a.x.invalid a.x.invalid.", "xx.invalid"},
		{".x.invalid", "x.invalid x.invalid. a.x.invalid", "xx.invalid y.invalid"},
		{".x.invalid.", "x.invalid a.x.invalid.", "xx.invalid"},
		{"a.invalid b.invalid", "a.invalid b.invalid c.b.invalid", "c.invalid"},
		{"a.invalid\tb.invalid  c.invalid", "a.invalid b.invalid c.invalid", "d.invalid"},
		{" a.invalid , b.invalid,,c.invalid ", "a.invalid b.invalid c.invalid", "d.invalid"},
		{"*", "a.invalid 192.0.2.1 [2001:db8::1]", ""},
		{"a.invalid, *", "b.invalid", ""},
		{"192.0.2.1", "192.0.2.1", "192.0.2.2 1.192.0.2.1.invalid"},
		{"192.0.2.0/24 198.51.100.0/25", "192.0.2.1 198.51.100.1", "198.51.100.200 203.0.113.1"},
		{"2001:db8::1", "[2001:db8::1] [2001:db8:0::1]", "[2001:db8::2]"},
		{"[2001:db8::1]", "[2001:db8::1]", "[2001:db8::2]"},
		{"2001:db8::/32", "[2001:db8::1]", "[2001:db9::1]"},
		{"x.invalid:21", "x.invalid a.x.invalid", "y.invalid"},
		{"x.invalid:990 .y.invalid:21 [2001:db8::1]:21", "y.invalid [2001:db8::1]", "x.invalid"},
		{"", "", "x.invalid"},
		{" , .", "", "x.invalid"},
	} {
		p := must.Get(proxy.FromEnvironment(func(name string) string {
			return map[string]string{"ftp_proxy": "p:1", "no_proxy": tt.list}[name]
		}))(t)
		for through, hosts := range map[bool]string{false: tt.direct, true: tt.through} {
			for _, host := range strings.Fields(hosts) {
				cases++
				if got := p.For(host + ":21"); got != through {
					t.Errorf("no_proxy=%q: %s through the proxy: %v", tt.list, host, got)
				}
			}
		}
	}
	if cases < 59 {
		t.Errorf("%d cases", cases)
	}
}
