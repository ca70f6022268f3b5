package testserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"
)

// identity is a throwaway authority with one server certificate under it.
type identity struct {
	roots *x509.CertPool
	leaf  tls.Certificate
}

func newIdentity() (*identity, error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	ca := certTemplate(1, "testserver CA")
	ca.IsCA, ca.BasicConstraintsValid, ca.KeyUsage = true, true, x509.KeyUsageCertSign
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	if err != nil {
		return nil, err
	}
	if ca, err = x509.ParseCertificate(caDER); err != nil {
		return nil, err
	}
	leaf, err := newLeaf(ca, caKey)
	if err != nil {
		return nil, err
	}
	id := &identity{roots: x509.NewCertPool(), leaf: leaf}
	id.roots.AddCert(ca)
	return id, nil
}

func newLeaf(ca *x509.Certificate, caKey *ecdsa.PrivateKey) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	t := certTemplate(2, "localhost")
	t.DNSNames = []string{"localhost"}
	t.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	t.KeyUsage = x509.KeyUsageDigitalSignature
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	der, err := x509.CreateCertificate(rand.Reader, t, ca, key.Public(), caKey)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der, ca.Raw}, PrivateKey: key}, nil
}

func certTemplate(serial int64, name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(24 * time.Hour),
	}
}

var errNoReuse = errors.New("testserver: data connection does not resume a TLS session")

// configs returns the configurations for control and for data connections.
// They share the key of the session tickets, so that a data connection can
// resume the control connection's session.
func (id *identity) configs(o *Options) (control, data *tls.Config, err error) {
	control = &tls.Config{
		Certificates:           []tls.Certificate{id.leaf},
		MaxVersion:             o.TLSMaxVersion,
		SessionTicketsDisabled: o.TLSNoTickets,
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
