package testserver

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	"example.com/ftpfetch/internal/throwaway"
)

// newIdentity returns an identity for the addresses that this package's servers
// listen on.
func newIdentity() (*throwaway.Identity, error) {
	return throwaway.New("127.0.0.1", "::1", "localhost")
}

var errNoReuse = errors.New("testserver: data connection does not resume a TLS session")

// tlsConfigs returns the configurations for control and for data connections.
// They share the key of the session tickets, so that a data connection can
// resume the control connection's session.
func tlsConfigs(id *throwaway.Identity, o *Options) (control, data *tls.Config, err error) {
	control = &tls.Config{}
	if o.TLSConfig != nil {
		control = o.TLSConfig.Clone()
	}
	control.Certificates = []tls.Certificate{id.Server}
	if control.MaxVersion != 0 { // the least that crypto/tls accepts of itself may be more
		control.MinVersion = min(control.MaxVersion, tls.VersionTLS12)
	}
	var key [32]byte
	if _, err := rand.Read(key[:]); err != nil {
		return nil, nil, fmt.Errorf("testserver: session ticket key: %w", err)
	}
	control.SetSessionTicketKeys([][32]byte{key})
	data = control.Clone()
	if o.TLSRequireReuse {
		data.VerifyConnection = func(s tls.ConnectionState) error {
			if !s.DidResume {
				return errNoReuse
			}
			return nil
		}
	}
	return control, data, nil
}

// RootCAs returns a pool with the authority of the server's certificate, which
// is valid for 127.0.0.1, ::1 and localhost; nil without TLS.
func (s *Server) RootCAs() *x509.CertPool {
	if s.id == nil {
		return nil
	}
	return s.id.Roots
}

// RootPEM returns the authority of RootCAs in PEM form, for programs that read
// it from a file.
func (s *Server) RootPEM() []byte {
	if s.id == nil {
		return nil
	}
	return s.id.RootPEM()
}
