//go:build interop

package interop

import (
	"crypto/tls"
	"errors"
	"testing"

	"example.com/ftpfetch/ftpexec"
)

// TestTLSWithoutTickets has a proftpd that allows only TLS 1.2, for which it remembers sessions and gives no tickets.
// Go resumes by tickets alone. proftpd then refuses every transfer; the error names the cause and the server's options.
func TestTLSWithoutTickets(t *testing.T) {
	for _, tt := range []struct {
		options []string
		want    error
	}{
		{nil, ftpexec.ErrTLS},
		{[]string{"TLSSessionTickets on"}, nil},
		{[]string{"TLSOptions NoSessionReuseRequired"}, nil},
	} {
		s, err := Start(testContext(t), Proftpd, tree, Options{TLS: true, NoTLS13: true, More: tt.options})
		if err != nil {
			t.Fatal(err)
		}
		c := newClient(t)
		c.TLSConfig = &tls.Config{RootCAs: s.RootCAs}
		_, _, err = fetch(testContext(t), c, "ftpes://"+s.Addr+"/pub/text.txt")
		t.Logf("%q: %v", tt.options, err)
		if !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) || err != nil && ftpexec.Retryable(err) {
			t.Errorf("%q: %v, want %v", tt.options, err, tt.want)
		}
		c.CloseIdleConnections()
		s.Close()
	}
}
