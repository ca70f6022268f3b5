//go:build linux

package main

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"time"
)

// caFile is the authority's certificate, in the directory that clients run in.
const caFile = "ca.pem"

// writeCertificates makes an authority for a day and a server certificate for
// both links, and writes the authority's certificate to ca, the server's
// certificate and key to server.
func writeCertificates(ca, server string) error {
	authority := certificate("ftpfetch latency authority")
	authority.IsCA = true
	authority.KeyUsage = x509.KeyUsageCertSign
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	authorityPEM, err := sign(authority, authority, &authorityKey.PublicKey, authorityKey)
	if err != nil {
		return err
	}
	if err := writeFile(ca, authorityPEM); err != nil {
		return err
	}
	leaf := certificate("ftpfetch latency server")
	leaf.KeyUsage = x509.KeyUsageDigitalSignature
	leaf.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	leaf.IPAddresses = []net.IP{nearServer.Addr().AsSlice(), farServer.Addr().AsSlice()}
	return writeServerPair(server, leaf, authority, authorityKey)
}

func writeServerPair(path string, leaf, authority *x509.Certificate, signer crypto.Signer) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	certPEM, err := sign(leaf, authority, &key.PublicKey, signer)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	return os.WriteFile(path, bytes.Join([][]byte{keyPEM, certPEM}, nil), 0o600)
}

func certificate(name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber:          big.NewInt(now.UnixNano()),
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.Add(24 * time.Hour),
		BasicConstraintsValid: true,
	}
}

func sign(c, parent *x509.Certificate, public crypto.PublicKey, signer crypto.Signer) ([]byte, error) {
	der, err := x509.CreateCertificate(rand.Reader, c, parent, public, signer)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}
