package cli

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"io/fs"
	"os"

	"example.com/ftpfetch/internal/cli/config"
	"example.com/ftpfetch/urlparse"
)

// readTLS reads the files that the flags name. It returns nil if the library's
// default configuration will do.
func readTLS(c *config.Config) (cfg *tls.Config, err error) {
	if c.CACert == "" && c.Cert == "" && !c.Insecure {
		return nil, nil
	}
	cfg = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: c.Insecure}
	if c.CACert != "" {
		if cfg.RootCAs, err = readAuthorities(c.CACert); err != nil {
			return nil, err
		}
	}
	if c.Cert != "" {
		text, err := readPEM(c.Cert)
		var cert tls.Certificate
		if err == nil {
			cert, err = tls.X509KeyPair(text, text)
		}
		if err != nil {
			return nil, config.Usage("--cert %s: %s", c.Cert, withoutPath(err))
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
		return nil, config.Usage("--cacert %s: %s", path, withoutPath(err))
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, config.Usage("--cacert %s: it holds no certificate in PEM form", path)
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
func (r *run) protect(u *urlparse.URL) {
	switch {
	case u.Scheme != urlparse.FTP:
	case r.TLS == "explicit":
		u.Scheme = urlparse.FTPES
	case r.TLS == "implicit":
		u.Scheme = urlparse.FTPS
	}
}
