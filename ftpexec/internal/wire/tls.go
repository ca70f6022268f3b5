package wire

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
)

// StartTLS starts TLS on the control connection after a positive reply to AUTH. It fails if anything has come after that
// reply: it would be read as if it had come under TLS.
func (c *Conn) StartTLS() error {
	if c.br.Buffered() > 0 {
		return c.fail(syntaxError("", "unencrypted bytes after the reply to AUTH"))
	}
	secure, err := c.handshake(c.conn)
	if err == nil {
		err = c.adopt(secure)
	}
	return c.fail(err)
}

// Secure reports whether the control connection is under TLS.
func (c *Conn) Secure() bool { return c.dataTLS != nil }

// handshake starts TLS on conn. The control connection and its data connections share a session cache, because servers
// want data connections to resume the control connection's session.
func (c *Conn) handshake(conn net.Conn) (net.Conn, error) {
	ctx, cancel := c.connecting()
	defer cancel()
	secure := tls.Client(conn, c.cfg.TLSConfig)
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		ended := c.Ended()
		switch {
		case ended != nil:
			return nil, ended
		case ctx.Err() != nil:
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

// dataTLS returns the configuration for data connections. In TLS 1.3 they offer only the key exchange that the server has
// already accepted: to another one it might reply with a HelloRetryRequest, which costs a round trip.
func dataTLS(config *tls.Config, control tls.ConnectionState) *tls.Config {
	config = config.Clone()
	if control.Version == tls.VersionTLS13 && control.CurveID != 0 {
		config.CurvePreferences = []tls.CurveID{control.CurveID}
	}
	return config
}
