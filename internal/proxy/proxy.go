// Package proxy opens TCP connections through a proxy: SOCKS5 (RFC 1928, RFC 1929) or HTTP CONNECT (RFC 9110
// section 9.3.6). It also makes the requests that an HTTP proxy serves itself.
//
//	p, err := proxy.Parse("socks5://127.0.0.1:1080")
//	conn, err := p.Dialer(nil)(ctx, "tcp", "ftp.example.org:21")
//
// The proxy resolves the names of hosts; this package looks up only the name of the proxy. No error and no
// String of this package holds the proxy's password, or any text that the proxy sent.
package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// DialFunc opens a connection, as [net.Dialer.DialContext] does.
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// DialContext calls f.
func (f DialFunc) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return f(ctx, network, address)
}

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

// Proxy is a proxy server. It is safe for concurrent use; TLSConfig must not change after first use.
type Proxy struct {
	scheme         string
	host, port     string
	user, password string // bytes
	login          bool   // the URL has a user

	// TLSConfig is for https proxies; nil means to trust the system's certificate authorities.
	TLSConfig *tls.Config
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
	port, known := defaultPorts[strings.ToLower(u.Scheme)]
	switch {
	case !known:
		return nil, malformed("its scheme must be socks5, socks5h, http or https")
	case u.Hostname() == "":
		return nil, malformed("it names no host")
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return nil, malformed("nothing may follow the host and port")
	}
	p := &Proxy{scheme: strings.ToLower(u.Scheme), host: u.Hostname(), port: port, login: u.User != nil}
	if u.Port() != "" {
		p.port = u.Port()
	}
	if p.login {
		p.user = u.User.Username()
		p.password, _ = u.User.Password()
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	return p, nil
}

func malformed(reason string) error { return &Error{Reason: reason, Err: ErrURL} }

// check refuses what the protocols cannot carry.
func (p *Proxy) check() error {
	if n, err := net.LookupPort("tcp", p.port); err != nil || n == 0 {
		return malformed("its port must be from 1 to 65535")
	}
	switch {
	case !p.login:
	case p.socks() && (p.user == "" || len(p.user) > 255 || len(p.password) > 255):
		return malformed("SOCKS5 takes a user of 1 to 255 bytes and a password of at most 255")
	case !p.socks() && strings.Contains(p.user, ":"):
		return malformed("HTTP takes no user with a colon")
	}
	return nil
}

func (p *Proxy) socks() bool { return strings.HasPrefix(p.scheme, "socks") }

// HasPassword reports whether the URL held a password.
func (p *Proxy) HasPassword() bool { return p.password != "" }

// String returns the proxy's URL without user and password.
func (p *Proxy) String() string { return p.scheme + "://" + p.address() }

// GoString hides the password from %#v.
func (p *Proxy) GoString() string { return "proxy.Proxy(" + p.String() + ")" }

func (p *Proxy) address() string { return net.JoinHostPort(p.host, p.port) }

// Dialer returns a function that opens connections through p. It calls forward to connect to p itself, on the
// network that it is called with; a nil forward means a [net.Dialer].
func (p *Proxy) Dialer(forward DialFunc) DialFunc {
	if forward == nil {
		forward = new(net.Dialer).DialContext
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if p.socks() {
			return p.dialSOCKS(ctx, forward, network, address)
		}
		return p.dialHTTP(ctx, forward, network, address)
	}
}

// reach connects to the proxy itself.
func (p *Proxy) reach(ctx context.Context, forward DialFunc, network string) (net.Conn, error) {
	conn, err := forward(ctx, network, p.address())
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case err == nil || ctx.Err() != nil:
		return conn, err
	case errors.As(err, &dns) && !dns.IsTimeout:
		return nil, &Error{Proxy: p.String(), Reason: "not resolved: " + dns.Err, Err: ErrResolve}
	case errors.As(err, &op):
		err = op.Err
	}
	return nil, &net.OpError{Op: "dial", Net: network, Err: fmt.Errorf("proxy %s: %w", p, err)}
}

func (p *Proxy) refused(reason string) error { return p.answered(0, reason) }

// answered returns the error for an answer that refuses.
func (p *Proxy) answered(status int, reason string) error {
	if status != 0 {
		reason += fmt.Sprintf(" (HTTP status %d)", status)
	}
	return &Error{Proxy: p.String(), Reason: reason, Status: status, Err: ErrRefused}
}
