package throwaway

import (
	"crypto/tls"
	"crypto/x509"
	"testing"

	"example.com/ftpfetch/internal/testkit/must"
)

func TestNew(t *testing.T) {
	id := must.Get(New("127.0.0.1", "::1", "localhost"))(t)
	text := must.Get(id.ServerPEM())(t)
	pair := must.Get(tls.X509KeyPair(text, text))(t)
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(id.RootPEM()) {
		t.Fatal("RootPEM holds no certificate")
	}
	for host, good := range map[string]bool{"127.0.0.1": true, "::1": true, "localhost": true, "example.com": false} {
		for name, pool := range map[string]*x509.CertPool{"Roots": id.Roots, "RootPEM": roots} {
			_, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: pool})
			if (err == nil) != good {
				t.Errorf("%s by %s: %v, want good %v", host, name, err, good)
			}
		}
	}
}
