// Package proxy opens TCP connections through a proxy: SOCKS5 (RFC 1928, RFC 1929) or HTTP CONNECT (RFC 9110
// section 9.3.6).
//
//	p, err := proxy.Parse("socks5://127.0.0.1:1080")
//	conn, err := p.Dialer(nil)(ctx, "tcp", "ftp.example.org:21")
//
// The proxy resolves the names of hosts; this package looks up only the name of the proxy. No error and no
// String of this package holds the proxy's password, or any text that the proxy sent.
package proxy

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpproxy"
)

// Callers compare errors with these by errors.Is. If the proxy cannot be reached, the error is a
// *[net.OpError] whose Op is "dial", as for any other host.
var (
	// ErrURL means that the text is not the URL of a proxy.
	ErrURL = errors.New("malformed proxy URL")
	// ErrResolve means that the proxy's own name has no address.
	ErrResolve = errors.New("proxy not resolved")
	// ErrRefused means that the proxy did not open the connection.
	ErrRefused = errors.New("proxy refused the connection")
)

// Error is a failure of the proxy, not of the host to dial.
type Error struct {
	Proxy  string // as [Proxy.String] shows it; "" if its URL is malformed
	Reason string
	Status int   // of the proxy's HTTP answer; 0 if there is none
	Err    error // what it means: one of the sentinels of this package, or another's if the proxy was to do more than connect
}

// Error returns one line.
func (e *Error) Error() string {
	if e.Proxy == "" {
		return e.Err.Error() + ": " + e.Reason
	}
	return fmt.Sprintf("proxy %s: %s", e.Proxy, e.Reason)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Proxy is a proxy server. It is safe for concurrent use; RootCAs must not change after first use.
type Proxy struct {
	url     *url.URL                         // with a port, and no path
	hosts   func(*url.URL) (*url.URL, error) // from NO_PROXY; nil: the proxy is for every host
	RootCAs *x509.CertPool                   // for https proxies; nil means the system's certificate authorities
}

// defaultPorts has the schemes and the port of each if the URL has none.
var defaultPorts = map[string]string{"socks5": "1080", "socks5h": "1080", "http": "80", "https": "443"}

// Parse parses the URL of a proxy: socks5://, socks5h:// (the same), http:// or https://, with an optional
// user:password@ before the host and an optional :port after it. Without a scheme it means http, as in the
// variables that other programs read.
func Parse(text string) (*Proxy, error) {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		// err quotes the text, which may hold a password.
		return nil, malformed("write socks5://host:port or http://host:port, and bytes such as / : @ in a password as %2F %3A %40")
	}
	port, known := defaultPorts[u.Scheme]
	port = cmp.Or(u.Port(), port)
	user := u.User.Username()
	password, _ := u.User.Password()
	p := &Proxy{url: &url.URL{Scheme: u.Scheme, User: u.User, Host: net.JoinHostPort(u.Hostname(), port)}}
	n, err := net.LookupPort("tcp", port)
	switch {
	case !known:
		return nil, malformed("its scheme must be socks5, socks5h, http or https")
	case u.Hostname() == "":
		return nil, malformed("it names no host")
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return nil, malformed("nothing may follow the host and port")
	case err != nil || n == 0:
		return nil, malformed("its port must be from 1 to 65535")
	case u.User != nil && !p.HTTP() && (user == "" || len(user) > 255 || len(password) > 255):
		return nil, malformed("SOCKS5 takes a user of 1 to 255 bytes and a password of at most 255")
	case p.HTTP() && strings.Contains(user, ":"):
		return nil, malformed("HTTP takes no user with a colon")
	}
	return p, nil
}

func malformed(reason string) error { return &Error{Reason: reason, Err: ErrURL} }

// FromEnvironment returns the proxy that the variables ftp_proxy, FTP_PROXY, all_proxy or ALL_PROXY name (the first
// that is not empty counts), or nil. The variables no_proxy or NO_PROXY list the hosts to dial directly, in the form
// that net/http knows. Loopback addresses and "localhost" are always dialled directly. The error is an *[Error] that
// names the variable.
func FromEnvironment(getenv func(string) string) (*Proxy, error) {
	for _, name := range []string{"ftp_proxy", "FTP_PROXY", "all_proxy", "ALL_PROXY"} {
		text := getenv(name)
		if text == "" {
			continue
		}
		p, err := Parse(text)
		if e, ok := errors.AsType[*Error](err); ok {
			e.Reason = "the variable " + name + ": " + e.Reason
			return nil, e
		}
		direct := cmp.Or(getenv("no_proxy"), getenv("NO_PROXY"))
		p.hosts = (&httpproxy.Config{HTTPProxy: "http://proxy", NoProxy: direct}).ProxyFunc()
		return p, nil
	}
	return nil, nil
}

// For reports whether address ("host:port") is to be reached through p. It is not if p is nil.
func (p *Proxy) For(address string) bool {
	if p == nil || p.hosts == nil {
		return p != nil
	}
	via, err := p.hosts(&url.URL{Scheme: "http", Host: address})
	return err == nil && via != nil
}

// HTTP reports whether p is an HTTP proxy, which may serve requests itself.
func (p *Proxy) HTTP() bool { return !strings.HasPrefix(p.url.Scheme, "socks") }

// HasPassword reports whether the URL held a password.
func (p *Proxy) HasPassword() bool {
	password, _ := p.url.User.Password()
	return password != ""
}

// String returns the proxy's URL without user and password.
func (p *Proxy) String() string { return p.url.Scheme + "://" + p.url.Host }

// Refusal returns the error for an answer with a status, or for none if the status is 0.
func (p *Proxy) Refusal(status int, reason string, meaning error) *Error {
	if status == http.StatusProxyAuthRequired {
		reason, meaning = "it wants a user and password", ErrRefused
		if p.url.User != nil {
			reason = "it refuses its user or password"
		}
	}
	if status != 0 {
		reason += fmt.Sprintf(" (HTTP status %d)", status)
	}
	return &Error{Proxy: p.String(), Reason: reason, Status: status, Err: meaning}
}
