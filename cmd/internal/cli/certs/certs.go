// Package certs reads files of certificates: that of --cacert for the command and the fleet alike, and that of --cert.
package certs

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Trusted is what a file of --cacert says: authorities, and certificates of servers that are trusted as they are. The
// file does not tell which is which, so each certificate is both.
type Trusted struct {
	Roots  *x509.CertPool      // for RootCAs of a tls.Config
	Pinned []*x509.Certificate // for Pinned of an ftpexec.Client
}

// Read reads a file of --cacert. An error that is not an [os.PathError] says what is wrong with its contents.
func Read(name string) (*Trusted, error) {
	text, err := ReadPEM(name)
	if err != nil {
		return nil, err
	}
	all, err := certificatesIn(text)
	if err != nil {
		return nil, err
	}
	t := &Trusted{Roots: x509.NewCertPool(), Pinned: all}
	for _, cert := range all {
		t.Roots.AddCert(cert)
	}
	return t, nil
}

// certificatesIn returns the certificates in a text in PEM form. It leaves out what it cannot read, if there are others.
func certificatesIn(text []byte) (all []*x509.Certificate, _ error) {
	unreadable := errors.New("it holds no certificate in PEM form")
	for n := 1; ; {
		block, rest := pem.Decode(text)
		if block == nil {
			break
		}
		text = rest
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err == nil {
			all = append(all, cert)
		} else if n == 1 {
			unreadable = fmt.Errorf("its certificate cannot be used: %s", strings.TrimPrefix(err.Error(), "x509: "))
		}
		n++
	}
	if all == nil {
		return nil, unreadable
	}
	return all, nil
}

// ReadPEM reads a file of certificates. It bounds the length, because a device may have no end.
func ReadPEM(name string) ([]byte, error) {
	const most = 16 << 20
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if len(text) > most {
		err = errors.New("it is longer than 16 MiB")
	}
	return text, err
}
