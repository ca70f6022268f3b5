package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
)

// StartTLS protects the control connection, after the server has agreed to that. Nothing may have come after its
// reply: it would be read as if it had come under TLS.
func (c *Conn) StartTLS() error {
	if c.br.Buffered() > 0 {
		return c.fail(syntaxError("", "octets between the reply to AUTH and TLS"))
	}
	secure, err := c.handshake(c.conn)
	if err == nil {
		err = c.adopt(secure)
	}
	return c.fail(err)
}

// Secure reports whether the control connection is under TLS.
func (c *Conn) Secure() bool { return c.dataTLS != nil }

// handshake puts TLS on conn. The configuration is the session's own: one session cache a control
// connection, shared with its data connections, which servers want to see resume its session.
func (c *Conn) handshake(conn net.Conn) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(c.ctx, c.cfg.ConnectTimeout)
	defer cancel()
	secure := tls.Client(conn, c.cfg.TLSConfig)
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		if ctx.Err() != nil && c.ctx.Err() == nil {
			return nil, timedOut("no TLS handshake", c.cfg.ConnectTimeout)
		}
		return nil, handshakeError(err)
	}
	c.Note(tls.VersionName(secure.ConnectionState().Version) + " established")
	c.dataTLS = dataTLS(c.cfg.TLSConfig, secure.ConnectionState())
	return secure, nil
}

func handshakeError(err error) error {
	var cert *tls.CertificateVerificationError
	if errors.As(err, &cert) {
		return fmt.Errorf("%w: %w", ErrCertificate, cert.Err)
	}
	return fmt.Errorf("%w: %w", ErrTLSHandshake, plain(err))
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
