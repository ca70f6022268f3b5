//go:build interop

package interop

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// ProxyKind names one of the proxies.
type ProxyKind string

// The proxies: SOCKS5 (RFC 1928), HTTP with CONNECT, and HTTP without CONNECT to
// the ports of FTP servers. Of these squid fetches ftp URLs itself.
const (
	Microsocks     ProxyKind = "microsocks"
	Tinyproxy      ProxyKind = "tinyproxy"
	TinyproxyHTTPS ProxyKind = "tinyproxy for port 443"
	Squid          ProxyKind = "squid"
)

// ProxyHost is a name for 127.0.0.1 that only the proxies know.
const ProxyHost = "ftp.interop.test"

// The login that the proxies ask for; tinyproxy takes no space or colon.
const (
	proxyUser     = "proxyuser"
	proxyPassword = "proxy-secret"
)

// proxyFlavours hold each proxy's URL scheme and configuration.
var proxyFlavours = map[ProxyKind]struct {
	scheme    string
	connects  bool // to every port
	configure func(*site) []string
}{
	Microsocks:     {"socks5", true, microsocksArgs},
	Tinyproxy:      {"http", true, func(st *site) []string { return tinyproxyArgs(st) }},
	TinyproxyHTTPS: {"http", false, func(st *site) []string { return tinyproxyArgs(st, "ConnectPort 443") }},
	Squid:          {"http", false, squidArgs},
}

// ProxyServer is a running proxy.
type ProxyServer struct {
	Addr string // "127.0.0.1:port"

	scheme string
	dir    string
	procs  *group
}

// URL returns the proxy's URL with the login in it.
func (p *ProxyServer) URL() string {
	u := url.URL{Scheme: p.scheme, User: url.UserPassword(proxyUser, proxyPassword), Host: p.Addr}
	return u.String()
}

// sharedProxy returns a proxy that accepts connections. Other tests use it too.
func sharedProxy(t *testing.T, kind ProxyKind) *ProxyServer {
	t.Helper()
	return share(t, string(kind), func(ctx context.Context) (*ProxyServer, error) {
		ctx, cancel := context.WithTimeout(ctx, startTimeout)
		defer cancel()
		var errs []error
		for range portAttempts {
			p, err := startProxy(ctx, kind)
			if err == nil {
				return p, nil
			}
			errs = append(errs, err)
		}
		return nil, fmt.Errorf("interop: %s does not start: %w", kind, errors.Join(errs...))
	})
}

func (p *ProxyServer) Close() (err error) {
	if p.procs != nil {
		err = p.procs.close()
	}
	return errors.Join(err, os.RemoveAll(p.dir))
}

func (p *ProxyServer) log() string {
	text, err := os.ReadFile(filepath.Join(p.dir, "log"))
	return fmt.Sprint(string(text), err)
}

func startProxy(ctx context.Context, kind ProxyKind) (*ProxyServer, error) {
	st, err := newSite(nil, Options{})
	if err != nil {
		return nil, err
	}
	f := proxyFlavours[kind]
	p := &ProxyServer{Addr: st.addr(), scheme: f.scheme, dir: st.dir}
	if err := p.begin(ctx, st, f.configure(st)); err != nil {
		return nil, errors.Join(err, errors.New(p.log()), p.Close())
	}
	return p, nil
}

// begin runs the proxy, and waits until it accepts connections.
func (p *ProxyServer) begin(ctx context.Context, st *site, argv []string) (err error) {
	env := st.environment("LD_PRELOAD="+st.installed("usr/lib/*-linux-gnu/libnss_wrapper.so"),
		"NSS_WRAPPER_HOSTS="+st.write("hosts", st.host+" "+ProxyHost+"\n")) // it knows ProxyHost
	if st.err != nil {
		return st.err
	}
	if p.procs, err = newGroup(filepath.Join(st.dir, "log")); err != nil {
		return err
	}
	if err := p.procs.start(program{argv: argv, env: env}, nil); err != nil {
		return err
	}
	return p.awaitPort(ctx)
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

// awaitPort dials until the proxy accepts, ctx ends or the proxy exits.
func (p *ProxyServer) awaitPort(ctx context.Context) error {
	return p.procs.await(ctx, func(ctx context.Context) error {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", p.Addr)
		if err != nil {
			return err
		}
		return c.Close()
	})
}
