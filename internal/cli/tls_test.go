package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"

	"example.com/ftpfetch/internal/cli/config"
	"example.com/ftpfetch/urlparse"
)

// writeIdentity writes a certificate, its key, and a file with both.
func writeIdentity(t *testing.T) (cert, key, both string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, k.Public(), k)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	certText := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyText := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	dir := t.TempDir()
	write := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("cert", certText), write("key", keyText), write("both", append(certText, keyText...))
}

func TestClientCertificate(t *testing.T) {
	cert, key, both := writeIdentity(t)
	tests := []struct {
		args []string
		ok   bool
	}{
		{[]string{"--cert", both}, true},
		{[]string{"--cert", cert}, false},
		{[]string{"--cert", key}, false},
	}
	for _, tt := range tests {
		o, err := config.Parse(append(tt.args, "ftp://h/f"))
		var cfg *tls.Config
		if err == nil {
			cfg, err = readTLS(o)
		}
		if (err == nil) != tt.ok || tt.ok && len(cfg.Certificates) != 1 {
			t.Errorf("%q: got %v, want accepted %v", tt.args, err, tt.ok)
		}
	}
}

func TestProtect(t *testing.T) {
	tests := []struct {
		mode     string
		in, want urlparse.Scheme
	}{
		{"off", urlparse.FTP, urlparse.FTP},
		{"try", urlparse.FTP, urlparse.FTP},
		{"explicit", urlparse.FTP, urlparse.FTPES},
		{"implicit", urlparse.FTP, urlparse.FTPS},
		{"off", urlparse.FTPS, urlparse.FTPS},
		{"off", urlparse.FTPES, urlparse.FTPES},
		{"try", urlparse.FTPES, urlparse.FTPES},
		{"implicit", urlparse.FTPES, urlparse.FTPES},
		{"explicit", urlparse.FTPS, urlparse.FTPS},
	}
	for _, tt := range tests {
		o, err := config.Parse([]string{"--tls", tt.mode, "ftp://h/f"})
		if err != nil {
			t.Error(err)
		}
		u := &urlparse.URL{Scheme: tt.in, Host: "h"}
		r := run{Config: o}
		if r.protect(u); u.Scheme != tt.want {
			t.Errorf("--tls %s %s: got %s, want %s", tt.mode, tt.in, u.Scheme, tt.want)
		}
	}
}
