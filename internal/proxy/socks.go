package proxy

import (
	"context"
	"errors"
	"net"
	"os"

	"golang.org/x/net/proxy"
)

// forwardOnce connects to the proxy for the SOCKS client and keeps the result.
type forwardOnce struct {
	dial func(ctx context.Context) (net.Conn, error)
	conn net.Conn
	err  error
}

// Dial is not called: the client sees DialContext.
func (f *forwardOnce) Dial(string, string) (net.Conn, error) { return f.dial(context.Background()) }

// DialContext implements [proxy.ContextDialer].
func (f *forwardOnce) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	f.conn, f.err = f.dial(ctx)
	return f.conn, f.err
}

// dialSOCKS asks a SOCKS5 proxy for a connection. The proxy resolves the name of the host.
func (p *Proxy) dialSOCKS(ctx context.Context, forward DialFunc, network, address string) (net.Conn, error) {
	f := &forwardOnce{dial: func(ctx context.Context) (net.Conn, error) { return p.reach(ctx, forward, network) }}
	var auth *proxy.Auth
	if p.login {
		auth = &proxy.Auth{User: p.user, Password: p.password}
	}
	client, err := proxy.SOCKS5(network, p.address(), auth, f)
	if err != nil {
		return nil, p.refused(err.Error())
	}
	_, err = client.(proxy.ContextDialer).DialContext(ctx, network, address)
	switch {
	case f.err != nil:
		return nil, f.err
	case ctx.Err() != nil && err != nil:
		return nil, ctx.Err()
	case errors.Is(err, os.ErrDeadlineExceeded): // the deadline is that of ctx, which is about to end
		return nil, context.DeadlineExceeded
	case err != nil:
		return nil, p.refused(innermost(err))
	}
	// The client has read nothing beyond the proxy's reply, so its wrapper is not needed: copying from a
	// plain TCP connection is faster.
	return f.conn, nil
}

// innermost returns the text of the innermost error, without the addresses that [net.OpError] adds.
func innermost(err error) string {
	var op *net.OpError
	for errors.As(err, &op) {
		err = op.Err
	}
	return err.Error()
}
