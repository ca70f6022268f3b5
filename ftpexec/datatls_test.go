package ftpexec_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

// TestDataConnectionInClear checks that no data is taken from a server that accepts PROT P and then sends in clear.
func TestDataConnectionInClear(t *testing.T) {
	for _, mode := range []string{"ftpes", "try"} {
		s := testserver.NewScript(t, testserver.Honest("contents").With("PROT", testserver.Reply("200 yes, yes")))
		c := &ftpexec.Client{TLSConfig: &tls.Config{RootCAs: s.RootCAs()}, TryTLS: mode == "try"}
		u := parse(t, s.URL("/f"))
		if mode == "ftpes" {
			u.Scheme = "ftpes"
		}
		got, err := read(t.Context(), c, u)
		if !errors.Is(err, ftpexec.ErrTLSHandshake) || got != "" {
			t.Errorf("%s: got %q, %v, want %v", mode, got, err, ftpexec.ErrTLSHandshake)
		}
		_, err = list(t.Context(), c, parse(t, u.String()[:len(u.String())-1]))
		if !errors.Is(err, ftpexec.ErrTLSHandshake) {
			t.Errorf("%s: listing: got %v, want %v", mode, err, ftpexec.ErrTLSHandshake)
		}
	}
}

// TestDataCertificate checks that the data connection's certificate is verified too, even if the server has already
// said that the listing is complete, when a missing data connection would not be an error.
func TestDataCertificate(t *testing.T) {
	impostor := testserver.New(t, &testserver.Options{TLS: testserver.TLSImplicit})
	for _, nlst := range []testserver.Action{testserver.Reply("150 here it comes"), testserver.Reply("226 done already")} {
		s := testserver.NewScript(t, testserver.Honest("contents").With("NLST", nlst))
		c := &ftpexec.Client{TLSConfig: &tls.Config{RootCAs: s.RootCAs()}}
		c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if address != s.Addr() {
				address = impostor.Addr()
			}
			return new(net.Dialer).DialContext(ctx, network, address)
		}
		for _, path := range []string{"/f", "/"} {
			u := parse(t, s.URL(path))
			u.Scheme = "ftpes"
			var err error
			if path == "/" {
				_, err = list(t.Context(), c, u)
			} else {
				_, err = read(t.Context(), c, u)
			}
			if !errors.Is(err, ftpexec.ErrCertificate) {
				t.Errorf("%s: got %v, want %v", path, err, ftpexec.ErrCertificate)
			}
		}
	}
}
