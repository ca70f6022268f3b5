// Package proxy opens TCP connections through a proxy: SOCKS5 (RFC 1928, RFC 1929) or HTTP CONNECT (RFC 9110 section 9.3.6).
//
// The proxy resolves the names of hosts; this package looks up only the name of the proxy. Errors and Strings of this
// package contain neither the proxy's password nor text that the proxy sent.
package proxy

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"golang.org/x/net/http/httpproxy"
	"golang.org/x/net/proxy"
)

// Callers distinguish these causes with errors.Is. If the proxy cannot be reached, the error is a *[net.OpError] whose
// Op is "dial", as for any other host.
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
	Proxy  string // as [Proxy.String] returns it; "" if its URL is malformed
	Reason string
	Status int // status of the proxy's HTTP answer; 0 if there is none
	// Err is one of the errors above, or another package's if the proxy was asked to do more than connect.
	Err error
}

// Error returns one line.
func (e *Error) Error() string {
	if e.Proxy == "" {
		return e.Reason
	}
	return fmt.Sprintf("proxy %s: %s", e.Proxy, e.Reason)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Proxy is a proxy server. It is safe for concurrent use; RootCAs must not change after first use.
type Proxy struct {
	url     *url.URL                         // with a port, and no path
	hosts   func(*url.URL) (*url.URL, error) // by NO_PROXY; nil: the proxy is for every host
	RootCAs *x509.CertPool                   // for https proxies; nil means the system's
}

// defaultPorts has the default port of each scheme.
var defaultPorts = map[string]string{
	"socks5":  "1080",
	"socks5h": "1080",
	"http":    "80",
	"https":   "443",
}

// Parse parses the URL of a proxy: socks5://, socks5h:// (the same), http:// or https://, with an optional
// user:password@ before the host and an optional :port after it. Without a scheme it means http, as in the
// variables that other programs read.
func Parse(text string) (*Proxy, error) {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		// Do not wrap err: it quotes the text, which may contain a password.
		return nil, malformed("write socks5://host:port or http://host:port, " +
			"and bytes such as / : @ in a password as %2F %3A %40")
	}
	port, known := defaultPorts[u.Scheme]
	port = cmp.Or(u.Port(), port)
	host := net.JoinHostPort(u.Hostname(), port)
	p := &Proxy{url: &url.URL{Scheme: u.Scheme, User: u.User, Host: host}}
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
	}
	if err := p.checkLogin(); err != nil {
		return nil, err
	}
	return p, nil
}

// checkLogin returns an error if the protocol cannot carry the user and password.
func (p *Proxy) checkLogin() error {
	user := p.url.User.Username()
	password, _ := p.url.User.Password()
	long := user == "" || len(user) > 255 || len(password) > 255
	switch {
	case p.HTTP() && strings.Contains(user, ":"):
		return malformed("HTTP takes no user with a colon")
	case p.url.User != nil && !p.HTTP() && long:
		return malformed("SOCKS5 takes a user of 1 to 255 bytes and a password of at most 255")
	}
	return nil
}

func malformed(reason string) error { return &Error{Reason: reason, Err: ErrURL} }

// FromEnvironment returns the proxy that the first non-empty variable of ftp_proxy, FTP_PROXY, all_proxy and ALL_PROXY
// names, or nil. The variable no_proxy or NO_PROXY lists hosts to dial directly, in the form of curl. Loopback
// addresses and "localhost" are always dialled directly. The error is an *[Error] that names the variable.
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
		direct := dialled(cmp.Or(getenv("no_proxy"), getenv("NO_PROXY")))
		p.hosts = (&httpproxy.Config{HTTPProxy: "http://proxy", NoProxy: direct}).ProxyFunc()
		return p, nil
	}
	return nil, nil
}

// dialled returns a list of hosts as httpproxy reads it, from one as curl does: spaces may separate hosts too, ".x" is x
// and all below it, and a dot at the end means nothing.
func dialled(list string) string {
	hosts := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	for i, host := range hosts {
		name, port, err := net.SplitHostPort(host)
		if err != nil {
			name = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
		}
		name = strings.TrimSuffix(strings.TrimPrefix(name, "."), ".")
		if port != "" {
			name = net.JoinHostPort(name, port)
		}
		hosts[i] = name
	}
	return strings.Join(hosts, ",")
}

// For reports whether to connect to address ("host:port") through p. It returns false if p is nil.
func (p *Proxy) For(address string) bool {
	if p == nil || p.hosts == nil {
		return p != nil
	}
	if host, port, err := net.SplitHostPort(address); err == nil {
		address = net.JoinHostPort(strings.TrimSuffix(host, "."), port)
	}
	via, err := p.hosts(&url.URL{Scheme: "http", Host: address})
	return err == nil && via != nil
}

// HTTP reports whether p is an HTTP proxy, which may serve requests itself.
func (p *Proxy) HTTP() bool { return !strings.HasPrefix(p.url.Scheme, "socks") }

// HasPassword reports whether the URL has a password.
func (p *Proxy) HasPassword() bool {
	password, _ := p.url.User.Password()
	return password != ""
}

// String returns the proxy's URL without user and password.
func (p *Proxy) String() string { return p.url.Scheme + "://" + p.url.Host }

// Refusal returns the error for an answer with this status, or for a missing answer if status is 0.
func (p *Proxy) Refusal(status int, reason string, meaning error) *Error {
	if status == http.StatusProxyAuthRequired {
		reason = "it wants a user and password"
		meaning = ErrRefused
		if p.url.User != nil {
			reason = "it refuses its user or password"
		}
	}
	if status != 0 {
		reason += fmt.Sprintf(" (HTTP status %d)", status)
	}
	return &Error{Proxy: p.String(), Reason: reason, Status: status, Err: meaning}
}

// DialFunc opens a connection, as [net.Dialer.DialContext] does.
type DialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// Dialer returns a function that opens connections through p. The function calls forward to connect to p itself, with
// its own network argument; a nil forward means a [net.Dialer].
func (p *Proxy) Dialer(forward DialFunc) DialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := p.Reach(ctx, forward, network)
		if err != nil {
			return nil, err
		}
		ask := p.askSOCKS
		if p.HTTP() {
			ask = p.askHTTP
		}
		stop := context.AfterFunc(ctx, func() { conn.Close() })
		err = ask(conn, network, address)
		stop()
		err = cmp.Or(ctx.Err(), err) // a context derived from ctx may have ended first
		if err != nil {
			conn.Close()
			return nil, err
		}
		return conn, nil
	}
}

// Reach connects to p itself, under TLS if it is an https proxy.
func (p *Proxy) Reach(ctx context.Context, forward DialFunc, network string) (net.Conn, error) {
	if forward == nil {
		forward = new(net.Dialer).DialContext
	}
	conn, err := forward(ctx, network, p.url.Host)
	dns, _ := errors.AsType[*net.DNSError](err)
	switch {
	case err == nil && p.url.Scheme == "https":
		return p.secure(ctx, conn)
	case err == nil || ctx.Err() != nil:
		return conn, err
	case dns != nil && !dns.IsTimeout:
		return nil, p.Refusal(0, "cannot find its host", ErrResolve)
	}
	err = fmt.Errorf("proxy %s: %w", p, innermost(err))
	return nil, &net.OpError{Op: "dial", Net: network, Err: err}
}

// secure performs the TLS handshake with an https proxy. After an error, conn is closed.
func (p *Proxy) secure(ctx context.Context, conn net.Conn) (net.Conn, error) {
	under := tls.Client(conn, &tls.Config{ServerName: p.url.Hostname(), RootCAs: p.RootCAs})
	err := under.HandshakeContext(ctx)
	if err == nil {
		return under, nil
	}
	conn.Close()
	reason := innermost(err).Error()
	// Do not show its text, which has the names in the certificate.
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		reason = "its certificate is not trusted, or for another host"
	}
	return nil, cmp.Or(ctx.Err(), error(p.Refusal(0, "TLS handshake failed: "+reason, ErrRefused)))
}

// askSOCKS asks a SOCKS5 proxy to connect conn to address. The proxy resolves the name of the host.
func (p *Proxy) askSOCKS(conn net.Conn, network, address string) error {
	var login *proxy.Auth
	if p.url.User != nil {
		password, _ := p.url.User.Password()
		login = &proxy.Auth{User: p.url.User.Username(), Password: password}
	}
	client, _ := proxy.SOCKS5(network, p.url.Host, login, nil) // never fails
	// DialContext would wrap conn, and copying from a plain TCP connection is faster. Dialer handles the end of its
	// context.
	_, err := client.(interface {
		DialWithConn(context.Context, net.Conn, string, string) (net.Addr, error)
	}).DialWithConn(context.Background(), conn, network, address)
	if err != nil {
		return p.Refusal(0, innermost(err).Error(), ErrRefused)
	}
	return nil
}

// askHTTP asks an HTTP proxy to connect conn to address (RFC 9110 section 9.3.6).
func (p *Proxy) askHTTP(conn net.Conn, _, address string) error {
	r := &http.Request{
		Method: http.MethodConnect,
		URL:    &url.URL{Opaque: address},
		Host:   address,
		Header: p.Header(),
	}
	if err := r.Write(conn); err != nil {
		return p.Refusal(0, "cannot send the request: "+innermost(err).Error(), ErrRefused)
	}
	status, err := finalStatus(conn)
	switch {
	case err != nil:
		return p.Refusal(0, err.Error(), ErrRefused)
	case status/100 != 2:
		return p.Refusal(status, "it refuses to connect to "+address, ErrRefused)
	}
	return nil
}

// Header returns the header for requests to an HTTP proxy.
func (p *Proxy) Header() http.Header {
	h := http.Header{"User-Agent": {"ftpfetch"}}
	if u := p.url.User; u != nil {
		password, _ := u.Password()
		login := base64.StdEncoding.EncodeToString([]byte(u.Username() + ":" + password))
		h.Set("Proxy-Authorization", "Basic "+login)
	}
	return h
}

// MaxHeader is the maximum size of the header of a proxy's answer, in bytes, including all 1xx answers before it.
const MaxHeader = 16 << 10

// finalStatus reads answers up to the first that is not 1xx. It reads byte by byte, because bytes of the server may
// follow at once.
func finalStatus(conn io.Reader) (int, error) {
	text := ""
	last := 0 // where the last answer begins
	for one := make([]byte, 1); len(text) < MaxHeader; {
		if _, err := io.ReadFull(conn, one); err != nil {
			return 0, errors.New("no answer: " + innermost(err).Error())
		}
		text += string(one)
		ends := strings.HasSuffix(text, "\n\r\n") || strings.HasSuffix(text, "\n\n")
		if other := len(text) == 5 && text != "HTTP/"; !ends && !other {
			continue
		}
		answer := bufio.NewReader(strings.NewReader(text[last:]))
		a, err := http.ReadResponse(answer, &http.Request{Method: http.MethodConnect})
		if err != nil { // err quotes the proxy
			return 0, errors.New("its answer is not HTTP")
		}
		last = len(text)
		if a.StatusCode/100 != 1 {
			return a.StatusCode, nil
		}
	}
	return 0, errors.New("its answer is not HTTP: its header is too long")
}

// innermost returns the innermost error of err, without the addresses and names of calls that package net adds.
func innermost(err error) error {
	for cause := err; cause != nil; cause = errors.Unwrap(cause) {
		err = cause
	}
	return err
}
