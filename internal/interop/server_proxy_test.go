//go:build interop

package interop

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"testing"
)

// The proxies: SOCKS5 (RFC 1928), HTTP with CONNECT, and HTTP without CONNECT to
// the ports of FTP servers. Of these squid fetches ftp URLs itself.
const (
	Microsocks     Kind = "microsocks"
	Tinyproxy      Kind = "tinyproxy"
	TinyproxyHTTPS Kind = "tinyproxy for port 443"
	Squid          Kind = "squid"
)

// ProxyHost is a name for 127.0.0.1 that only the proxies know.
const ProxyHost = "ftp.interop.test"

// The login that the proxies ask for; tinyproxy takes no space or colon.
const (
	proxyUser     = "proxyuser"
	proxyPassword = "proxy-secret"
)

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
