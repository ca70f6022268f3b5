package download

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/interop/ftptest"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

func TestCausesOfTLS(t *testing.T) {
	later := func() time.Time { return time.Now().AddDate(100, 0, 0) }
	tests := []struct {
		name    string
		options testserver.Options
		scheme  string
		config  *tls.Config
		trusted bool
		want    expectation
	}{
		{"unknown authority", testserver.Options{Scheme: "ftpes"}, "", &tls.Config{}, false,
			expectation{is: []error{ftpexec.ErrTLS}, as: []any{new(*tls.CertificateVerificationError), new(x509.UnknownAuthorityError)}, once: "certificate not trusted: "}},
		{"wrong name", testserver.Options{Scheme: "ftps"}, "other", &tls.Config{}, true,
			expectation{is: []error{ftpexec.ErrTLS}, as: []any{new(*tls.CertificateVerificationError), new(x509.HostnameError)}, once: "certificate not trusted: "}},
		{"expired", testserver.Options{Scheme: "ftpes"}, "", &tls.Config{Time: later}, true,
			expectation{is: []error{ftpexec.ErrTLS}, as: []any{new(*tls.CertificateVerificationError), new(x509.CertificateInvalidError)}, once: "certificate not trusted: "}},
		{"alert", testserver.Options{Scheme: "ftpes", TLSConfig: &tls.Config{MaxVersion: tls.VersionTLS12}}, "", &tls.Config{MinVersion: tls.VersionTLS13}, true,
			expectation{is: []error{ftpexec.ErrTLS, tls.AlertError(70)}, as: []any{new(*net.OpError), new(tls.AlertError)}, once: "protocol version not supported"}},
		{"not TLS", testserver.Options{}, "ftps", &tls.Config{}, true,
			expectation{is: []error{ftpexec.ErrTLS}, as: []any{new(tls.RecordHeaderError)}, once: "first record does not look like"}},
		{"alert on the data connection", testserver.Options{Scheme: "ftpes", TLSConfig: &tls.Config{MaxVersion: tls.VersionTLS12, SessionTicketsDisabled: true, VerifyConnection: ftptest.Resumed}}, "", &tls.Config{}, true,
			expectation{is: []error{ftpexec.ErrTLS}, as: []any{new(*net.OpError), new(tls.AlertError)}, once: "bad certificate"}},
	}
	for _, tt := range tests {
		tt.options.Tree = map[string]string{"/d/f": "contents"}
		s := testserver.New(t, &tt.options)
		for _, use := range uses {
			config := tt.config.Clone()
			if tt.trusted {
				config.RootCAs = s.RootCAs()
			}
			c := &ftpexec.Client{TLSConfig: config, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, strings.Replace(address, "other.invalid", "127.0.0.1", 1))
			}}
			file, dir := urlOf(t, s.URL("/d/f")), urlOf(t, s.URL("/d/"))
			switch tt.scheme {
			case "ftps":
				file.Scheme, dir.Scheme = urlparse.FTPS, urlparse.FTPS
			case "other":
				file.Host, dir.Host = "other.invalid", "other.invalid"
			}
			if bad := tt.want.check(use.run(t.Context(), t, c, file, dir)); bad != nil {
				t.Errorf("%s, %s: %v", tt.name, use.name, bad)
			}
		}
	}
}
