package ftpexec_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/interop/ftptest"
	"example.com/ftpfetch/internal/proxy"
	"example.com/ftpfetch/internal/proxy/proxytest"
	"example.com/ftpfetch/internal/rules/must"
	"example.com/ftpfetch/testserver"
)

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// through makes c use p for every host.
func through(t *testing.T, c *ftpexec.Client, p *proxytest.Proxy) {
	t.Helper()
	via := must.Get(proxy.Parse(p.URL()))(t)
	c.Proxy = func(string) func(context.Context, string, string) (net.Conn, error) { return via.Dialer(nil) }
	c.Dial = func(context.Context, string, string) (net.Conn, error) {
		t.Error("dialled past the proxy")
		return nil, errors.New("no")
	}
}

// TestProxy checks that the proxy is asked for the URL's host by name, for both connections.
func TestProxy(t *testing.T) {
	proxies := map[string]func(testing.TB, *proxytest.Options) *proxytest.Proxy{"socks5": proxytest.NewSOCKS5, "http": proxytest.NewHTTP}
	for name, start := range proxies {
		for _, mode := range []string{"ftp", "ftpes"} {
			for _, noEPSV := range []bool{false, true} {
				t.Run(name, func(t *testing.T) {
					s := testserver.New(t, &testserver.Options{Tree: tree, Scheme: mode, TLSConfig: &tls.Config{VerifyConnection: ftptest.Resumed}})
					p := start(t, &proxytest.Options{Hosts: map[string]string{"localhost": "127.0.0.1"}})
					c := &ftpexec.Client{MaxIdle: -1, NoEPSV: noEPSV, TLSConfig: &tls.Config{RootCAs: s.RootCAs()}}
					through(t, c, p)
					u := parse(t, strings.Replace(s.URL("/a/f"), "127.0.0.1", "localhost", 1))
					wantContents(t, c, u)
					targets := p.Targets()
					if len(targets) != 2 || targets[0] != u.Address() || !strings.HasPrefix(targets[1], "localhost:") {
						t.Errorf("the proxy was asked for %q, want localhost twice", targets)
					}
					if got, want := slices.Contains(s.Commands(), "PASV"), noEPSV; got != want {
						t.Errorf("PASV was sent: %v, want %v", got, want)
					}
				})
			}
		}
	}
}

// TestProxyRefusesData checks that the error tells why a proxy refuses the data connection.
func TestProxyRefusesData(t *testing.T) {
	inMemory(t, func(t *testing.T, network *ftptest.Network) {
		s := network.NewScript(t, testserver.Honest("contents"))
		c := &ftpexec.Client{MaxIdle: -1}
		c.Proxy = func(address string) func(context.Context, string, string) (net.Conn, error) {
			return proxy.DialFunc(func(ctx context.Context, name, to string) (net.Conn, error) {
				if to != address {
					return nil, &proxy.Error{Proxy: "http://p:80", Reason: "not this port", Err: proxy.ErrRefused}
				}
				return network.Dial(ctx, name, to)
			})
		}
		_, err := read(t.Context(), c, parse(t, s.URL("/a/f")))
		if !errors.Is(err, proxy.ErrRefused) || !errors.Is(err, ftpexec.ErrConnect) || !strings.Contains(err.Error(), "not this port") {
			t.Errorf("got %v, want the proxy's own error", err)
		}
	})
}

// TestProxyForSomeHosts checks that a nil Dialer means no proxy.
func TestProxyForSomeHosts(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: tree})
	asked := ""
	c := &ftpexec.Client{MaxIdle: -1, Proxy: func(address string) func(context.Context, string, string) (net.Conn, error) {
		asked = address
		return nil
	}}
	wantContents(t, c, parse(t, s.URL("/a/f")))
	if asked != s.Addr() {
		t.Errorf("asked for %q, want %q", asked, s.Addr())
	}
}
