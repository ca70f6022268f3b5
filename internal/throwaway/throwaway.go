// Package throwaway makes a certificate authority and a server certificate that it signs, both valid at any time that a
// test's clock may show, for the servers of tests and measurements.
package throwaway

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"sync"
	"time"
)

// Identity is a server's certificate with the authority that signed it. The authority's key is not kept.
type Identity struct {
	Roots  *x509.CertPool  // the authority
	Server tls.Certificate // chain and key
}

// Loopback returns the identity of the servers that testserver starts in this process.
var Loopback = sync.OnceValues(func() (*Identity, error) { return New("127.0.0.1", "::1", "localhost") })

// New returns an identity for hosts, which are names or IP addresses.
func New(hosts ...string) (*Identity, error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	t := template("throwaway authority", 1)
	t.IsCA, t.BasicConstraintsValid, t.KeyUsage = true, true, x509.KeyUsageCertSign
	ca, err := sign(t, t, caKey, caKey)
	if err != nil {
		return nil, err
	}
	leaf, err := sign(serverTemplate(hosts), ca, key, caKey)
	if err != nil {
		return nil, err
	}
	id := &Identity{Roots: x509.NewCertPool()}
	id.Roots.AddCert(ca)
	id.Server = tls.Certificate{Certificate: [][]byte{leaf.Raw, ca.Raw}, PrivateKey: key}
	return id, nil
}

func serverTemplate(hosts []string) *x509.Certificate {
	t := template("throwaway server", 2)
	t.KeyUsage = x509.KeyUsageDigitalSignature
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, host)
		}
	}
	return t
}

func template(name string, serial int64) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Unix(0, 0),
		NotAfter:     time.Unix(1<<32, 0),
	}
}

func sign(t, ca *x509.Certificate, key, caKey *ecdsa.PrivateKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, t, ca, key.Public(), caKey)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// RootPEM returns the authority's certificate in PEM form.
func (id *Identity) RootPEM() []byte {
	return certificate(id.Server.Certificate[1])
}

// ServerPEM returns the key, the certificate and the authority's certificate as one PEM file. Only the server should
// be able to read it.
func (id *Identity) ServerPEM() ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(id.Server.PrivateKey)
	if err != nil {
		return nil, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	for _, c := range id.Server.Certificate {
		text = append(text, certificate(c)...)
	}
	return text, nil
}

func certificate(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
