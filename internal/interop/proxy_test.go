//go:build interop

package interop

import (
	"context"
	"crypto/tls"
	"net"
	"slices"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/proxy"
	"example.com/ftpfetch/internal/rules/must"
)

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
