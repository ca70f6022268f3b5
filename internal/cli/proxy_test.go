package cli_test

import (
	"net"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/proxy/proxytest"
	"example.com/ftpfetch/testserver"
)

// noProxies clears the proxy variables.
func noProxies(t *testing.T) {
	t.Helper()
	for _, name := range []string{"ftp_proxy", "FTP_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"} {
		t.Setenv(name, "")
	}
}

// newProxies starts a SOCKS5 and an HTTP proxy. Only they know the host ftp.test.
func newProxies(t *testing.T) []*proxytest.Proxy {
	t.Helper()
	o := &proxytest.Options{User: "me", Password: "proxypw", Hosts: map[string]string{"ftp.test": "127.0.0.1"}}
	return []*proxytest.Proxy{proxytest.NewSOCKS5(t, o), proxytest.NewHTTP(t, o)}
}

// TestProxy checks that both connections of a download and of a listing go through the proxy from --proxy or a variable,
// by the name of the host.
func TestProxy(t *testing.T) {
	noProxies(t)
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/file": "contents"}})
	base := strings.Replace(s.URL("/"), "127.0.0.1", "ftp.test", 1)
	for _, p := range newProxies(t) {
		via := p.URLAs("me:proxypw")
		tests := []struct {
			name string
			env  map[string]string
			args []string
		}{
			{"flag", nil, []string{"--proxy", via}},
			{"flag before variable", map[string]string{"ALL_PROXY": "socks5://127.0.0.1:1", "NO_PROXY": "*"}, []string{"--proxy", via}},
			{"ALL_PROXY", map[string]string{"ALL_PROXY": via}, nil},
			{"ftp_proxy", map[string]string{"ftp_proxy": via, "ALL_PROXY": "socks5://127.0.0.1:1"}, nil},
			{"NO_PROXY", map[string]string{"FTP_PROXY": via, "NO_PROXY": "other.test"}, nil},
		}
		for _, tt := range tests {
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

// TestNoProxy checks what does not use the proxy, which would refuse everything.
func TestNoProxy(t *testing.T) {
	noProxies(t)
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/file": "contents"}})
	tests := []struct {
		name string
		env  map[string]string
		args []string
	}{
		{"none", map[string]string{"ftp_proxy": "no such thing"}, []string{"--proxy", "none"}},
		{"empty", map[string]string{"ftp_proxy": "no such thing"}, []string{"--proxy", ""}},
		{"loopback", map[string]string{"ALL_PROXY": "socks5://127.0.0.1:1"}, nil},
		{"NO_PROXY", map[string]string{"ALL_PROXY": "socks5://127.0.0.1:1", "NO_PROXY": "127.0.0.0/8"}, nil},
		{"active", map[string]string{"ALL_PROXY": "socks5://127.0.0.1:1", "NO_PROXY": "127.0.0.0/8"}, []string{"--mode", "active"}},
	}
	for _, tt := range tests {
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

// refusingAddr returns an address that refuses connections as long as the test runs: the local end of a connection.
func refusingAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn.LocalAddr().String()
}

func TestProxyFailures(t *testing.T) {
	noProxies(t)
	refusing := proxytest.NewHTTP(t, &proxytest.Options{Refuse: true})
	gone := refusingAddr(t)
	tests := []struct {
		name string
		env  string // ALL_PROXY
		args []string
		code int
		want string
	}{
		{"refuses", "", []string{"--proxy", refusing.URL()}, 97, "proxy " + refusing.URL() + ": it refuses to connect to ftp.test:21 (HTTP status 403)"},
		{"unreachable", "", []string{"--retries", "0", "--proxy", "socks5://" + gone}, 7, "proxy socks5://" + gone},
		{"not resolved", "", []string{"--proxy", "socks5://no..where"}, 5, "proxy socks5://no..where:1080: not resolved"},
		{"malformed", "", []string{"--proxy", "socks4://h"}, 2, "--proxy: its scheme must be "},
		{"malformed variable", "socks4://h", nil, 2, "the variable ALL_PROXY: its scheme must be "},
		{"active", "", []string{"--mode", "active", "--proxy", "socks5://h"}, 2, "--mode active does not work through a proxy"},
		{"active and variable", "socks5://h", []string{"--mode", "active"}, 2, "--mode active does not work through the proxy socks5://h:1080"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("ALL_PROXY", tt.env)
			code, out, err := run(t, append(tt.args, "-o", "-", "ftp://ftp.test/file")...)
			if code != tt.code || out != "" || !strings.Contains(err, tt.want) || strings.Count(err, "\n") != 1 {
				t.Errorf("exit %d, want %d; %q, %s, want %s", code, tt.code, out, err, tt.want)
			}
		})
	}
}
