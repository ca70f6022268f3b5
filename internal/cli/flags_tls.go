package cli

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"io/fs"
	"os"

	"example.com/ftpfetch/urlparse"
)

// tlsOptions holds the flags about TLS.
type tlsOptions struct {
	tls        tlsMode
	caCert     string
	clientCert string
	insecure   bool
}

// tlsMode is the value of --tls. It applies to ftp URLs only: ftps and ftpes
// URLs ask for TLS themselves, and no flag takes that away.
type tlsMode string

const (
	tlsOff      tlsMode = "" // also written off
	tlsTry      tlsMode = "try"
	tlsExplicit tlsMode = "explicit"
	tlsImplicit tlsMode = "implicit"
)

// tlsFlags declares the flags about TLS.
func (o *tlsOptions) tlsFlags(fs group) {
	word(fs, &o.tls, "off", "tls", "TLS for ftp:// URLs: `off|try|explicit|implicit`; try continues unencrypted if the server has none")
	fs.StringVar(&o.caCert, "cacert", "", "trust the authorities in the PEM `FILE` and no others")
	fs.StringVar(&o.clientCert, "cert", "", "show the server the certificate in the PEM `FILE`, with its private key")
	fs.BoolVar(&o.insecure, "insecure", false, "accept any certificate: anyone may be the server")
}

// readTLS reads the files that the flags name. It returns nil if the library's
// default configuration will do.
func (o *tlsOptions) readTLS() (cfg *tls.Config, err error) {
	if o.caCert == "" && o.clientCert == "" && !o.insecure {
		return nil, nil
	}
	cfg = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: o.insecure}
	if o.caCert != "" {
		if cfg.RootCAs, err = readAuthorities(o.caCert); err != nil {
			return nil, err
		}
	}
	if o.clientCert != "" {
		text, err := readPEM(o.clientCert)
		var cert tls.Certificate
		if err == nil {
			cert, err = tls.X509KeyPair(text, text)
		}
		if err != nil {
			return nil, usage("--cert %s: %s", o.clientCert, withoutPath(err))
		}
		cfg.Certificates = []tls.Certificate{cert}
	}
	return cfg, nil
}

// readPEM reads a file, which may be a device without an end.
func readPEM(path string) ([]byte, error) {
	const most = 16 << 20
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && len(text) > most {
		err = errors.New("it is longer than 16 MiB")
	}
	return text, err
}

func readAuthorities(path string) (*x509.CertPool, error) {
	text, err := readPEM(path)
	if err != nil {
		return nil, usage("--cacert %s: %s", path, withoutPath(err))
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, usage("--cacert %s: it holds no certificate in PEM form", path)
	}
	return pool, nil
}

// withoutPath returns the text of err without the path, which the caller
// prints.
func withoutPath(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

// protect applies --tls to a URL that does not ask for TLS itself.
func (o *tlsOptions) protect(u *urlparse.URL) {
	if u.Scheme != urlparse.FTP {
		return
	}
	switch o.tls {
	case tlsExplicit:
		u.Scheme = urlparse.FTPES
	case tlsImplicit:
		u.Scheme = urlparse.FTPS
	}
}
