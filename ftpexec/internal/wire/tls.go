package wire

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"slices"
)

// authTLS is RFC 4217 section 4. Nothing is ever sent behind AUTH, and nothing may have come behind its reply:
// it would be read as if it had come under TLS.
func (c *Control) authTLS() error {
	r, err := c.exchange("AUTH TLS")
	if err != nil {
		return err
	}
	switch {
	case r.first() == 5 && c.cfg.TryTLS:
		return c.goOnInClear(r)
	case !r.ok():
		return fmt.Errorf("%w: %w", ErrTLSUnavailable, &ReplyError{r})
	}
	if c.br.Buffered() > 0 {
		return syntaxError("", "octets between the reply to AUTH and TLS")
	}
	secure, err := c.handshake(c.conn)
	if err != nil {
		return err
	}
	return c.adopt(secure)
}

// goOnInClear takes back what was planned for TLS, which was only to be tried: r has refused it.
func (c *Control) goOnInClear(r Reply) error {
	c.trace(EventNote, "no TLS to be had ("+oneLine(r.String())+"): going on in clear")
	c.cfg.ExplicitTLS = false
	for i, flight := range c.script {
		c.script[i] = slices.DeleteFunc(slices.Clone(flight), func(line string) bool {
			return line == "PBSZ 0" || line == "PROT P"
		})
	}
	return nil
}

// handshake puts TLS on conn. The configuration is the session's own: one session cache a control
// connection, shared with its data connections, which servers want to see resume its session.
func (c *Control) handshake(conn net.Conn) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(c.ctx, c.cfg.ConnectTimeout)
	defer cancel()
	secure := tls.Client(conn, c.cfg.TLSConfig)
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		if ctx.Err() != nil && c.ctx.Err() == nil {
			return nil, timedOut("no TLS handshake", c.cfg.ConnectTimeout)
		}
		return nil, fmt.Errorf("%w: %w", ErrTLSHandshake, err)
	}
	c.trace(EventNote, tls.VersionName(secure.ConnectionState().Version)+" established")
	c.dataTLS = dataTLS(c.cfg.TLSConfig, secure.ConnectionState())
	return secure, nil
}

// dataTLS is the configuration for data connections. In TLS 1.3 they offer the key exchange that the server
// has agreed to already: to another one it might answer with a HelloRetryRequest, which is a round trip.
func dataTLS(config *tls.Config, control tls.ConnectionState) *tls.Config {
	config = config.Clone()
	if control.Version == tls.VersionTLS13 && control.CurveID != 0 {
		config.CurvePreferences = []tls.CurveID{control.CurveID}
	}
	return config
}
