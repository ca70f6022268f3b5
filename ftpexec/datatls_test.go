package ftpexec_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/interop/ftptest"
	"example.com/ftpfetch/internal/rules/must"
	"example.com/ftpfetch/internal/rules/night"
	"example.com/ftpfetch/internal/throwaway"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// TestDataConnectionUnencrypted checks that no data is taken from a server that accepts PROT P and then sends it unencrypted.
func TestDataConnectionUnencrypted(t *testing.T) {
	for _, mode := range []string{"ftpes", "try"} {
		s := testserver.New(t, nil, testserver.Honest("contents").With("RETR", testserver.Reply("150 x"), ftptest.SendInClear("contents")).With("NLST", testserver.Reply("150 x"), ftptest.SendInClear("a\r\nb\r\n")))
		c := &ftpexec.Client{MaxIdle: -1, TLSConfig: &tls.Config{RootCAs: s.RootCAs()}, TryTLS: mode == "try"}
		u := parse(t, s.URL("/f"))
		if mode == "ftpes" {
			u.Scheme = "ftpes"
		}
		got, err := read(t.Context(), c, u)
		if !errors.Is(err, ftpexec.ErrTLS) || !errors.As(err, new(tls.RecordHeaderError)) || got != "" {
			t.Errorf("%s: got %q, %v, want %v", mode, got, err, ftpexec.ErrTLS)
		}
		_, err = list(t.Context(), c, parse(t, u.String()[:len(u.String())-1]))
		if !errors.Is(err, ftpexec.ErrTLS) {
			t.Errorf("%s: listing: got %v, want %v", mode, err, ftpexec.ErrTLS)
		}
	}
}

// TestDataCertificate checks that the data connection's certificate is verified too, even if the server has already
// said that the listing is complete, when a missing data connection would not be an error.
func TestDataCertificate(t *testing.T) {
	id := must.Get(throwaway.New("127.0.0.1"))(t)
	impostor := testserver.New(t, &testserver.Options{Scheme: "ftps", TLSConfig: &tls.Config{Certificates: []tls.Certificate{id.Server}}})
	for _, nlst := range []testserver.Action{testserver.Reply("150 here it comes"), testserver.Reply("226 done already")} {
		s := testserver.New(t, nil, testserver.Honest("contents").With("NLST", nlst))
		c := &ftpexec.Client{MaxIdle: -1, TLSConfig: &tls.Config{RootCAs: s.RootCAs()}}
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
			if !errors.Is(err, ftpexec.ErrTLS) || !errors.As(err, new(x509.UnknownAuthorityError)) {
				t.Errorf("%s: got %v, want %v", path, err, ftpexec.ErrTLS)
			}
		}
	}
}

// cutConn ends after a number of bytes from the server, without or with a reset.
type cutConn struct {
	net.Conn
	left  int
	err   error // io.EOF or ECONNRESET
	wrote int   // flights of the handshake that the client has sent
}

func (c *cutConn) Write(p []byte) (int, error) {
	c.wrote++
	return c.Conn.Write(p)
}

func (c *cutConn) Read(p []byte) (int, error) {
	if c.left == 0 {
		if c.err == io.EOF {
			return 0, io.EOF
		}
		return 0, &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", c.err)}
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// A refused transfer, whose data connection ends in the handshake, does not cost the session that the next one must resume.
func TestRefusalKeepsTLSSession(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		logins := 0
		s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/d/f": "contents"}, Scheme: "ftpes",
			TLSConfig: &tls.Config{MaxVersion: version, VerifyConnection: ftptest.Resumed}, Fault: func(p *testserver.Conn) testserver.Action {
				switch {
				case p.Verb == "AUTH":
					logins++
				case p.Verb == "MLSD":
					return testserver.Reply("500 unknown")
				case p.Verb == "RETR" && p.Transfer%2 == 1:
					return testserver.Reply("550 no such file")
				}
				return nil
			}})
		c := &ftpexec.Client{MaxIdle: 1, TLSConfig: &tls.Config{RootCAs: s.RootCAs()}}
		if got, _, err := entriesOf(t.Context(), c, parse(t, s.URL("/d/"))); len(got) != 1 || err != nil {
			t.Errorf("%s: got %q, %v", tls.VersionName(version), got, err)
		}
		for range 4 {
			_, err := read(t.Context(), c, parse(t, s.URL("/d/f")))
			if err != nil && !errors.Is(err, ftpexec.ErrRefused) {
				t.Errorf("%s: got %v", tls.VersionName(version), err)
			}
		}
		if c.CloseIdleConnections(); logins != 1 {
			t.Errorf("%s: %d connections", tls.VersionName(version), logins)
		}
	}
}

// A data connection that ends within its TLS handshake, after any number of bytes, is lost, as at any other time: a server
// that refuses TLS says so with an alert.
func TestDataHandshakeCut(t *testing.T) {
	for _, tt := range []struct {
		version uint16
		resumed bool
		end     error
		path    string
	}{
		{tls.VersionTLS12, false, io.EOF, "/f"},
		{tls.VersionTLS12, true, io.EOF, "/f"},
		{tls.VersionTLS12, true, syscall.ECONNRESET, "/"},
		{tls.VersionTLS13, true, io.EOF, "/"},
		{tls.VersionTLS13, true, syscall.ECONNRESET, "/f"},
	} {
		t.Run(fmt.Sprintf("%s/resumed %v/%v/%s", tls.VersionName(tt.version), tt.resumed, tt.end, tt.path), func(t *testing.T) {
			t.Parallel()
			s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": "contents"}, Scheme: "ftpes", TLSConfig: &tls.Config{MaxVersion: tt.version, SessionTicketsDisabled: !tt.resumed}})
			for n := 0; ; n += night.Or(40, 1) {
				data, err := cutData(t, &tls.Config{RootCAs: s.RootCAs()}, s.Addr(), parse(t, s.URL(tt.path)), n, tt.end)
				var e *ftpexec.Error
				switch full := tt.version == tls.VersionTLS12 && !tt.resumed; {
				case err == nil && full, data.wrote == 2 && !full: // the client's second flight ends the short handshake
					if n < 100 {
						t.Errorf("the handshake had only %d bytes", n)
					}
					return
				case !errors.As(err, &e) || !e.Temporary() || !errors.Is(err, ftpexec.ErrLost) && !(full && errors.Is(err, ftpexec.ErrTruncated)):
					t.Fatalf("cut after %d bytes: %v, want an error that may pass", n, err)
				}
			}
		})
	}
}

// A listing is not empty because the handshake was cut, even if the server has already said that it is complete.
func TestDataHandshakeCutAfterTheEnd(t *testing.T) {
	s := testserver.New(t, nil, testserver.Honest("contents"), testserver.On("NLST", testserver.Reply("226 done already")))
	u := parse(t, s.URL("/"))
	u.Scheme = "ftpes"
	for _, end := range []error{io.EOF, syscall.ECONNRESET} {
		if _, err := cutData(t, &tls.Config{RootCAs: s.RootCAs()}, s.Addr(), u, 0, end); !errors.Is(err, ftpexec.ErrLost) {
			t.Errorf("got %v, want ErrLost", err)
		}
	}
}

// cutData retrieves u with data connections that end after n bytes. It returns the last one too.
func cutData(t *testing.T, config *tls.Config, control string, u *urlparse.URL, n int, end error) (data *cutConn, err error) {
	t.Helper()
	c := &ftpexec.Client{MaxIdle: -1, TLSConfig: config, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err == nil && address != control {
			data = &cutConn{Conn: conn, left: n, err: end}
			conn = data
		}
		return conn, err
	}}
	_, err = do(t.Context(), c, u)
	c.CloseIdleConnections()
	return data, err
}
