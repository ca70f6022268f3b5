package testserver

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"slices"
	"testing"
)

func clientTLS(roots *x509.CertPool) *tls.Config {
	return &tls.Config{RootCAs: roots, ServerName: "localhost", ClientSessionCache: tls.NewLRUClientSessionCache(8)}
}

// secure dials, does AUTH TLS, PBSZ and PROT P.
func secure(t *testing.T, addr string, config *tls.Config) *client {
	t.Helper()
	c := dial(t, addr)
	c.do("AUTH TLS", "234")
	c.startTLS(config)
	c.says([]string{"PBSZ 0", "200", "PROT P", "200", "USER anonymous", "331", "PASS x@", "230"})
	return c
}

func resumed(s tls.ConnectionState) error {
	if !s.DidResume {
		return errors.New("no session")
	}
	return nil
}

func TestExplicitTLS(t *testing.T) {
	for _, tt := range []struct {
		name           string
		options        Options
		resumes, fails bool
	}{
		{name: "1.3", options: Options{TLSConfig: &tls.Config{}}, resumes: true},
		{name: "1.2", options: Options{Scheme: "ftpes", TLSConfig: &tls.Config{MaxVersion: tls.VersionTLS12}}, resumes: true},
		{name: "no tickets", options: Options{TLSConfig: &tls.Config{SessionTicketsDisabled: true}}},
		{name: "reuse required", options: Options{TLSConfig: &tls.Config{VerifyConnection: resumed}}, resumes: true},
		{name: "reuse required and impossible", options: Options{TLSConfig: &tls.Config{SessionTicketsDisabled: true, VerifyConnection: resumed}}, fails: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.options.Tree = map[string]string{"/f": "secret"}
			s := New(t, &tt.options)
			c := secure(t, s.Addr(), clientTLS(s.RootCAs()))
			for range 3 {
				data := c.dialData().(*tls.Conn)
				c.do("RETR f", "150")
				b, err := io.ReadAll(data)
				data.Close()
				if tt.fails {
					if err == nil {
						t.Fatal("data without a resumed session")
					}
					c.want("426")
					return
				}
				c.want("226")
				if string(b) != "secret" || err != nil || data.ConnectionState().DidResume != tt.resumes {
					t.Errorf("got %q, %v, resumed %v", b, err, data.ConnectionState().DidResume)
				}
			}
			if v := c.conn.(*tls.Conn).ConnectionState().Version; tt.options.TLSConfig != nil && tt.options.TLSConfig.MaxVersion != 0 && v != tt.options.TLSConfig.MaxVersion {
				t.Errorf("version %x", v)
			}
		})
	}
}

// The server must not take plaintext commands after AUTH for protected ones.
func TestClearCommandAfterAuth(t *testing.T) {
	s := New(t, &Options{TLSConfig: &tls.Config{}})
	c := dial(t, s.Addr())
	c.send("AUTH TLS\r\nUSER anonymous\r\nPASS x\r\n")
	c.want("234")
	c.ends()
	if got := s.Commands(); !slices.Equal(got, []string{"AUTH TLS"}) {
		t.Errorf("got %q", got)
	}
}
