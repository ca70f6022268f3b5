package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrTLSFirst means that the server sends no greeting because it waits for the client to begin TLS.
var ErrTLSFirst = fmt.Errorf("%w: the server speaks TLS from the first byte", ErrConnect)

// lateForTLS is how long a server may send nothing until it may be waiting for TLS: a server that looks up the client's
// name takes some seconds too.
const lateForTLS = 5 * time.Second

// tryTLS finds out whether a server that sends no greeting waits for TLS. It asks over a second connection, because a slow
// server would take the handshake for a command. If the server answers it, the control connection fails with
// [ErrTLSFirst]. The caller calls stop when the first line has come or the wait is over.
func (c *Conn) tryTLS() (stop func()) {
	if c.cfg.ImplicitTLS || c.cfg.Greets {
		return func() {}
	}
	ctx, cancel := context.WithCancel(c.ctx)
	var mu sync.Mutex // held until the timer's function ends
	timer := time.AfterFunc(min(lateForTLS, c.cfg.Timeout/2), func() {
		mu.Lock()
		defer mu.Unlock()
		if c.answersTLS(ctx) {
			c.Abandon(ErrTLSFirst)
		}
	})
	return func() {
		timer.Stop()
		cancel()
		mu.Lock()
		defer mu.Unlock()
	}
}

// answersTLS reports whether the server answers a TLS handshake, if only with an alert, before ctx ends.
func (c *Conn) answersTLS(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, min(c.cfg.ConnectTimeout, c.cfg.Timeout/2))
	defer cancel()
	if ctx.Err() != nil {
		return false
	}
	conn, err := opened(c.cfg.Dial(ctx, "tcp", c.cfg.Address))
	if err != nil {
		return false
	}
	defer conn.Close()
	config := &tls.Config{ServerName: c.cfg.Host, InsecureSkipVerify: true} // nothing is sent over it
	err = handshakeError(tls.Client(conn, config).HandshakeContext(ctx))
	var alert tls.AlertError
	return ctx.Err() == nil && (err == nil || errors.As(err, &alert))
}
