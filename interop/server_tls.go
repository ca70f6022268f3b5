//go:build interop

package interop

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"time"
)

// certificateLife is how long the throwaway certificates are good for.
const certificateLife = 24 * time.Hour

// writeCertificate makes a certificate for the loopback address, signed by an
// authority whose key is dropped at once, and writes chain and key to one PEM
// file. The pool holds the authority.
func (st *site) writeCertificate() (err error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	ca, err := sign(authority(), nil, caKey, caKey)
	if err != nil {
		return err
	}
	leaf, err := sign(st.certificate(), ca, key, caKey)
	if err != nil {
		return err
	}
	st.roots = x509.NewCertPool()
	st.roots.AddCert(ca)
	return st.writePEM(key, leaf, ca)
}

// sign returns the certificate of key, signed by caKey; ca is nil where the
// certificate signs itself.
func sign(template, ca *x509.Certificate, key, caKey *ecdsa.PrivateKey) (*x509.Certificate, error) {
	if ca == nil {
		ca = template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca, key.Public(), caKey)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

func authority() *x509.Certificate {
	c := template("interop throwaway authority", 1)
	c.IsCA, c.BasicConstraintsValid = true, true
	c.KeyUsage = x509.KeyUsageCertSign
	return c
}

func (st *site) certificate() *x509.Certificate {
	c := template("interop "+st.host, 2)
	c.IPAddresses = []net.IP{net.ParseIP(st.host)}
	c.KeyUsage = x509.KeyUsageDigitalSignature
	c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	return c
}

func template(name string, serial int64) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		Subject:      pkix.Name{CommonName: name},
		SerialNumber: big.NewInt(serial),
		NotBefore:    now.Add(-certificateLife),
		NotAfter:     now.Add(certificateLife),
	}
}

func (st *site) writePEM(key *ecdsa.PrivateKey, chain ...*x509.Certificate) (err error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	for _, c := range chain {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	st.cert, err = st.write("server.pem", string(text))
	return err
}
