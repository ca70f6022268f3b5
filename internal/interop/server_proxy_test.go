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
	configure func(*site) ([]string, error)
}{
	Microsocks:     {"socks5", true, microsocksArgs},
	Tinyproxy:      {"http", true, func(st *site) ([]string, error) { return tinyproxyArgs(st) }},
	TinyproxyHTTPS: {"http", false, func(st *site) ([]string, error) { return tinyproxyArgs(st, "ConnectPort 443") }},
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

// NewProxy starts a proxy on a free port and returns when it accepts
// connections. It stops the proxy when the test ends, and shows the proxy's log
// if the test failed.
func NewProxy(tb testing.TB, kind ProxyKind) *ProxyServer {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), startTimeout)
	defer cancel()
	var errs []error
	for range portAttempts {
		p, err := startProxy(ctx, kind)
		if err == nil {
			tb.Cleanup(func() { p.end(tb) })
			return p
		}
		errs = append(errs, err)
	}
	tb.Fatalf("interop: %s does not start: %v", kind, errors.Join(errs...))
	return nil
}

func (p *ProxyServer) end(tb testing.TB) {
	if tb.Failed() {
		tb.Logf("log of the proxy:\n%s", p.log())
	}
	if err := p.close(); err != nil {
		tb.Error(err)
	}
}

func (p *ProxyServer) close() error {
	var err error
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
	argv, err := f.configure(st)
	if err == nil {
		err = p.begin(ctx, st, argv)
	}
	if err != nil {
		return nil, errors.Join(err, errors.New(p.log()), p.close())
	}
	return p, nil
}

// begin runs the proxy, and waits until it accepts connections.
func (p *ProxyServer) begin(ctx context.Context, st *site, argv []string) error {
	env, err := st.hosts()
	if err != nil {
		return err
	}
	if p.procs, err = newGroup(filepath.Join(st.dir, "log")); err != nil {
		return err
	}
	if err := p.procs.start(program{argv: argv, env: env}, nil); err != nil {
		return err
	}
	return p.awaitPort(ctx)
}

// hosts returns an environment in which a proxy knows ProxyHost.
func (st *site) hosts() ([]string, error) {
	wrapper, err := installed("usr/lib/*-linux-gnu/libnss_wrapper.so")
	if err != nil {
		return nil, err
	}
	hosts, err := st.write("hosts", st.host+" "+ProxyHost+"\n")
	if err != nil {
		return nil, err
	}
	return environment("LD_PRELOAD="+wrapper, "NSS_WRAPPER_HOSTS="+hosts)
}

func microsocksArgs(st *site) ([]string, error) {
	binary, err := installed("usr/bin/microsocks")
	return []string{binary, "-i", st.host, "-p", strconv.Itoa(st.port), "-u", proxyUser, "-P", proxyPassword}, err
}

func tinyproxyArgs(st *site, more ...string) ([]string, error) {
	binary, err := installed("usr/bin/tinyproxy")
	if err != nil {
		return nil, err
	}
	// Without a ConnectPort tinyproxy connects to every port.
	conf, err := st.write("tinyproxy.conf", lines(append(more,
		fmt.Sprintf("Port %d", st.port), "Listen "+st.host, "Timeout 60", "MaxClients 50",
		fmt.Sprintf("BasicAuth %s %s", proxyUser, proxyPassword), "LogLevel Info",
	)...))
	return []string{binary, "-d", "-c", conf}, err
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
