package testserver

import (
	"cmp"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"

	"example.com/ftpfetch/internal/throwaway"
)

// certify makes the configurations for control and for data connections. They share the key of the session tickets, so
// that a data connection can resume the control connection's session.
func (s *Server) certify() (err error) {
	if s.id, err = throwaway.Loopback(); err != nil {
		return err
	}
	s.dataTLS = cmp.Or(s.opts.TLSConfig.Clone(), &tls.Config{})
	if s.dataTLS.Certificates == nil {
		s.dataTLS.Certificates = []tls.Certificate{s.id.Server}
	}
	if s.dataTLS.MaxVersion != 0 { // the default minimum of crypto/tls may be higher
		s.dataTLS.MinVersion = min(s.dataTLS.MaxVersion, tls.VersionTLS12)
	}
	var key [32]byte
	if _, err := rand.Read(key[:]); err != nil {
		return fmt.Errorf("session ticket key: %w", err)
	}
	s.dataTLS.SetSessionTicketKeys([][32]byte{key})
	s.controlTLS = s.dataTLS.Clone()
	s.controlTLS.VerifyConnection = nil
	return nil
}

// RootCAs returns a pool with the authority of the server's certificate, which is valid for 127.0.0.1, ::1 and
// localhost; nil without TLS.
func (s *Server) RootCAs() *x509.CertPool {
	if s.id == nil {
		return nil
	}
	return s.id.Roots
}
