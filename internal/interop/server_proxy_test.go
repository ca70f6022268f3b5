//go:build interop

package interop

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
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

// proxyHash is proxyPassword as crypt(3) writes it (SHA-512, salt "interop").
const proxyHash = "$6$interop$qNBZt67I0TlNOk5yUb7M6./r0OkEq0NcmpPixeWj0i6NVVZmlCV4Oq1QnEwhhWiu/xeyIUSw5dlyH1l5QJNnG1"

// squidArgs configures a squid that fetches ftp URLs itself and refuses CONNECT, as many sites configure theirs. Squid
// reads its files, runs its programs and writes its logs as nobody, who may not look into the directory of the unpacked
// packages.
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
