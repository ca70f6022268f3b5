//go:build interop

package interop

import (
	"crypto/tls"
	"errors"
	"io"
	"testing"

	"example.com/ftpfetch/ftpexec"
)

// TestTLSRenegotiation has a proftpd that asks for another TLS handshake in the middle of a transfer, which TLS 1.2 allows
// and crypto/tls refuses. That is a lost connection, which can be resumed.
func TestTLSRenegotiation(t *testing.T) {
	s, err := Start(testContext(t), Proftpd, tree, Options{TLS: true, NoTLS13: true,
		More: []string{"TLSSessionTickets on"}, Renegotiate: 64})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	c := newClient(t)
	c.TLSConfig = &tls.Config{RootCAs: s.RootCAs}
	r, err := c.Get(testContext(t), "ftpes://"+s.Addr+"/pub/big.bin")
	if err == nil {
		var n int64
		n, err = io.Copy(io.Discard, r.Body)
		t.Logf("%d bytes of %d, %v", n, r.Size, err)
		r.Body.Close()
	}
	if !errors.Is(err, ftpexec.ErrLost) || errors.Is(err, ftpexec.ErrTLS) || !ftpexec.Retryable(err) {
		t.Errorf("got %v, want ErrLost", err)
	}
}
