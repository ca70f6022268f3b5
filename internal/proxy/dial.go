package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"golang.org/x/net/proxy"
)

// DialFunc opens a connection, as [net.Dialer.DialContext] does.
type DialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// Dialer returns a function that opens connections through p. It calls forward to connect to p itself, on the
// network that it is called with; a nil forward means a [net.Dialer].
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
		if ctx.Err() != nil { // check ctx itself: a context derived from it may have ended first
			err = ctx.Err()
		}
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
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case err == nil && p.url.Scheme == "https":
		return p.secure(ctx, conn)
	case err == nil || ctx.Err() != nil:
		return conn, err
	case errors.As(err, &dns) && !dns.IsTimeout:
		return nil, p.Refusal(0, "not resolved: "+dns.Err, ErrResolve)
	case errors.As(err, &op):
		err = op.Err
	}
	return nil, &net.OpError{Op: "dial", Net: network, Err: fmt.Errorf("proxy %s: %w", p, err)}
}

// secure performs the TLS handshake with an https proxy. After an error, conn is closed.
func (p *Proxy) secure(ctx context.Context, conn net.Conn) (net.Conn, error) {
	cfg := &tls.Config{ServerName: p.url.Hostname(), RootCAs: p.RootCAs}
	under := tls.Client(conn, cfg)
	err := under.HandshakeContext(ctx)
	if err == nil {
		return under, nil
	}
	conn.Close()
	reason := innermost(err)
	if cert := (*tls.CertificateVerificationError)(nil); errors.As(err, &cert) { // its text has the names in the certificate
		reason = "its certificate is not trusted, or for another host"
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, p.Refusal(0, "TLS handshake failed: "+reason, ErrRefused)
}

// askSOCKS asks a SOCKS5 proxy to connect conn to address. The proxy resolves the name of the host.
func (p *Proxy) askSOCKS(conn net.Conn, network, address string) error {
	var login *proxy.Auth
	if p.url.User != nil {
		password, _ := p.url.User.Password()
		login = &proxy.Auth{User: p.url.User.Username(), Password: password}
	}
	client, err := proxy.SOCKS5(network, p.url.Host, login, nil)
	if err == nil {
		// DialContext would wrap conn, and copying from a plain TCP connection is faster. Dialer watches over the time.
		_, err = client.(interface {
			DialWithConn(context.Context, net.Conn, string, string) (net.Addr, error)
		}).DialWithConn(context.Background(), conn, network, address)
	}
	if err != nil {
		return p.Refusal(0, innermost(err), ErrRefused)
	}
	return nil
}

// askHTTP asks an HTTP proxy to connect conn to address (RFC 9110 section 9.3.6).
func (p *Proxy) askHTTP(conn net.Conn, _, address string) error {
	r := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: p.Header()}
	if err := r.Write(conn); err != nil {
		return p.Refusal(0, "cannot send the request: "+innermost(err), ErrRefused)
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

// Header returns the header that every request to an HTTP proxy has.
func (p *Proxy) Header() http.Header {
	h := http.Header{"User-Agent": {"ftpfetch"}}
	if u := p.url.User; u != nil {
		password, _ := u.Password()
		h.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(u.Username()+":"+password)))
	}
	return h
}

// MaxHeader is the largest header of a proxy's answer, in bytes, with all 1xx answers before it.
const MaxHeader = 16 << 10

// finalStatus reads answers up to the first that is not 1xx. It reads nothing after it: the server beyond
// the proxy may have spoken already.
func finalStatus(conn io.Reader) (int, error) {
	one := &oneByOne{r: conn, left: MaxHeader}
	for r := bufio.NewReader(one); ; {
		a, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
		switch {
		case err == nil && a.StatusCode/100 == 1:
		case err == nil:
			return a.StatusCode, nil
		case one.err != nil:
			return 0, one.err
		default: // err quotes the proxy
			return 0, errors.New("its answer is not HTTP")
		}
	}
}

// oneByOne reads byte by byte, so that a [bufio.Reader] takes no more than it is asked for.
type oneByOne struct {
	r    io.Reader
	left int
	err  error
}

func (o *oneByOne) Read(b []byte) (n int, err error) {
	if o.left--; o.left < 0 {
		o.err = errors.New("its answer is not HTTP: its header is too long")
		return 0, o.err
	}
	n, err = o.r.Read(b[:min(1, len(b))])
	if err != nil {
		o.err = errors.New("no answer: " + innermost(err))
	}
	return n, err
}

// innermost returns the text of the innermost error, without the addresses that [net.OpError] adds.
func innermost(err error) string {
	var op *net.OpError
	for errors.As(err, &op) {
		err = op.Err
	}
	return err.Error()
}
