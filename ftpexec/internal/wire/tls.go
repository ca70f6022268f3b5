package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"strings"
)

// StartTLS starts TLS on the control connection after a positive reply to AUTH. It fails if anything has come after
// that reply, because those bytes would be read as if they had come under TLS.
func (c *Conn) StartTLS() error {
	if c.br.Buffered() > 0 {
		return c.fail(senseless("unencrypted bytes after the reply to AUTH", ""))
	}
	secure, err := c.handshake(c.conn)
	if err == nil {
		err = c.adopt(secure)
	}
	return c.fail(err)
}

// Secure reports whether the control connection is under TLS.
func (c *Conn) Secure() bool { return c.dataTLS != nil }

// Resumes reports whether the control connection has a TLS session that a data connection can resume. crypto/tls resumes
// by tickets alone; some servers give only session IDs (RFC 5246 section 7.3).
func (c *Conn) Resumes() bool {
	_, ok := c.cfg.TLSConfig.ClientSessionCache.Get(c.cfg.TLSConfig.ServerName)
	return ok
}

// handshake starts TLS on conn. The control connection and its data connections share a session cache, because servers
// want data connections to resume the control connection's session.
func (c *Conn) handshake(conn net.Conn) (net.Conn, error) {
	secure := tls.Client(conn, c.cfg.TLSConfig)
	err := c.setUp("no TLS handshake", func(ctx context.Context) error {
		return handshakeError(secure.HandshakeContext(ctx))
	})
	if err != nil {
		conn.Close()
		return nil, err
	}
	if c.tracer != nil {
		c.tracer.Secured(secure.ConnectionState())
	}
	c.dataTLS = dataTLS(c.cfg.TLSConfig, secure.ConnectionState())
	return secure, nil
}

func handshakeError(err error) error {
	var cert *tls.CertificateVerificationError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &cert):
		why := strings.TrimPrefix(cert.Err.Error(), "x509: ")
		var invalid x509.CertificateInvalidError
		if errors.As(cert.Err, &invalid) && invalid.Reason == x509.Expired {
			why = outOfTime(invalid)
		}
		return fmt.Errorf("certificate not trusted%.0w: %s%.0w", ErrTLS, why, err)
	}
	return because(ErrTLS, withAlert(err))
}

// outOfTime says which bound of its time a certificate is beyond. crypto/x509 names both possibilities, and then times.
func outOfTime(e x509.CertificateInvalidError) string {
	const form = "2006-01-02 15:04 UTC"
	if strings.Contains(e.Detail, " is before ") {
		return "it is valid only from " + e.Cert.NotBefore.UTC().Format(form) + " on"
	}
	return "it expired on " + e.Cert.NotAfter.UTC().Format(form)
}

// withAlert adds a [tls.AlertError] to an error for an alert, for which crypto/tls uses a type that it does not export.
func withAlert(err error) error {
	if op := (*net.OpError)(nil); errors.As(err, &op) && ofTLS(op) {
		if alert := reflect.ValueOf(op.Err); alert.Kind() == reflect.Uint8 {
			return fmt.Errorf("%w%.0w", err, tls.AlertError(alert.Uint()))
		}
	}
	return err
}

// ofTLS reports whether an error is one of TLS, such as an alert, not of the TCP connection.
func ofTLS(op *net.OpError) bool { return op.Op == "remote error" || op.Op == "local error" }

// afterHandshake returns the error for TLS that fails after the handshake. In TLS 1.3 the server may still refuse the
// client's part of it. If this side gives up, the server has asked for another handshake (RFC 5746), or the record is
// damaged, and a new connection may serve.
func afterHandshake(op *net.OpError) error {
	if op.Op == "local error" {
		return because(ErrLost, op)
	}
	return handshakeError(op)
}

// errCutShort means that TLS could not be established on a data connection because the connection ended.
var errCutShort = fmt.Errorf("%w in the TLS handshake", ErrLost)

// dataHandshakeError returns the error for a handshake on a data connection that failed with err. A server refuses TLS
// with an alert: the mere end of the connection may be an accident.
func dataHandshakeError(err error) error {
	var op *net.OpError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w%.0w", errCutShort, err)
	case errors.As(err, &op) && !ofTLS(op):
		return because(errCutShort, err)
	}
	return handshakeError(err)
}

// dataTLS returns the configuration for data connections. In TLS 1.3 they offer only the key exchange that the server
// has already accepted: to a different one the server might reply with a HelloRetryRequest, which costs a round trip.
func dataTLS(config *tls.Config, control tls.ConnectionState) *tls.Config {
	config = config.Clone()
	if control.Version == tls.VersionTLS13 && control.CurveID != 0 {
		config.CurvePreferences = []tls.CurveID{control.CurveID}
	}
	return config
}

// ClearData leaves data connections without TLS.
func (c *Conn) ClearData() { c.clearData = true }
