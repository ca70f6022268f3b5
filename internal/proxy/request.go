package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// HTTP reports whether p is an HTTP proxy, which may serve requests itself.
func (p *Proxy) HTTP() bool { return !p.socks() }

// Waits bounds what a [Proxy.Transport] waits for.
type Waits struct {
	Connect time.Duration // connecting, with the TLS handshake of an https proxy
	Header  time.Duration // the header of an answer
}

// Transport returns what carries the requests of [Proxy.NewRequest]. It connects to p with forward; nil means a
// [net.Dialer]. It follows no redirect and decodes no body. Its errors are those of [Proxy.Failure].
func (p *Proxy) Transport(forward DialFunc, w Waits) *http.Transport {
	if forward == nil {
		forward = new(net.Dialer).DialContext
	}
	return &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, w.Connect)
			defer cancel()
			conn, err := p.reach(ctx, forward, network)
			if err != nil {
				return nil, err
			}
			secure, err := p.secure(ctx, conn)
			if err != nil {
				conn.Close()
			}
			return secure, err
		},
		DisableCompression:     true,
		ResponseHeaderTimeout:  w.Header,
		MaxResponseHeaderBytes: maxHeader,
		MaxIdleConnsPerHost:    64,
		IdleConnTimeout:        time.Minute,
		TLSNextProto:           map[string]func(string, *tls.Conn) http.RoundTripper{},
	}
}

// NewRequest returns a request that p is to serve itself, with p's login: target is in absolute form (RFC 9112
// section 3.2.2), and host is the authority in it without userinfo.
func (p *Proxy) NewRequest(ctx context.Context, method, target, host string) *http.Request {
	// The transport writes Opaque as it is. DialContext sees to TLS, so the scheme is always http.
	r := (&http.Request{
		Method: method, URL: &url.URL{Scheme: "http", Host: p.address(), Opaque: target}, Host: host,
		Header: http.Header{"User-Agent": {"ftpfetch"}},
	}).WithContext(ctx)
	if p.login {
		r.Header.Set("Proxy-Authorization", Basic(p.user, p.password))
	}
	return r
}

// Failure returns the error for a request that got no answer: an [*Error], a dial error as for CONNECT, or one that
// wraps [context.DeadlineExceeded] or [io.ErrUnexpectedEOF]. It shows no text of the proxy.
func (p *Proxy) Failure(err error) error {
	var known *Error
	var op *net.OpError
	var timeout net.Error
	fail := func(reason string, meaning error) error {
		return &Error{Proxy: p.String(), Reason: reason, Err: meaning}
	}
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return fail("no answer in time", context.DeadlineExceeded)
	case errors.As(err, &op) && op.Op == "dial":
		return op
	case errors.As(err, &op), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fail("no answer: the connection was closed", io.ErrUnexpectedEOF)
	}
	return fail(errAnswer.Error(), ErrRefused)
}
