package ftpexec_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/internal/throwaway"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// TestTryTLS checks that TLS is used if the server has it, and that a refused AUTH leaves the connection unencrypted.
func TestTryTLS(t *testing.T) {
	for _, sequential := range []bool{false, true} {
		for _, mode := range []string{"ftp", "ftp with TLS", "ftpes"} {
			s := testserver.New(t, &testserver.Options{Tree: tree, Scheme: strings.Fields(mode)[0], TLSConfig: map[string]*tls.Config{"ftp with TLS": {}}[mode], Users: map[string]string{"me": "secret"}})
			c := &ftpexec.Client{TryTLS: true, NoPipelining: sequential, TLSConfig: &tls.Config{RootCAs: s.RootCAs()}}
			u := parse(t, strings.Replace(s.URL("/a/f"), "ftpes://", "ftp://", 1))
			u.User = url.UserPassword("me", "secret")
			for range 2 {
				if got, err := read(t.Context(), c, u); err != nil || got != "contents" {
					t.Errorf("mode %v: got %q, %v", mode, got, err)
				}
			}
			c.CloseIdleConnections()
			commands := s.Commands()
			if got, want := slices.Contains(commands, "PROT P"), mode != "ftp"; got != want || commands[0] != "AUTH TLS" {
				t.Errorf("mode %v: the server received %q", mode, commands)
			}
			if s.Connections() != 1 {
				t.Errorf("mode %v: %d connections, want 1", mode, s.Connections())
			}
		}
	}
}

// TestTryTLSAnswers tries every refusal of AUTH that real servers send. After anything but a refusal the client must
// not continue unencrypted.
func TestTryTLSAnswers(t *testing.T) {
	for _, refusal := range []string{
		"500 AUTH not understood", "502 AUTH command not implemented.", "504 no", "534 no",
		"530 Please login with USER and PASS.", "431 not available", "500-This\r\n500 scheme is not implemented",
	} {
		s := testserver.New(t, nil, testserver.Honest("contents").With("AUTH", testserver.Reply(refusal)))
		var notes []string
		c := &ftpexec.Client{MaxIdle: -1, TryTLS: true, Trace: &ftpexec.Trace{Note: func(n ftpexec.NoteInfo) {
			notes = append(notes, n.Text)
		}}}
		if got, err := read(t.Context(), c, parse(t, s.URL("/f"))); err != nil || got != "contents" {
			t.Errorf("%s: got %q, %v", refusal, got, err)
		}
		if !slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, "unencrypted") }) {
			t.Errorf("%s: the notes %q do not say that it continues unencrypted", refusal, notes)
		}
	}
}

// TestTLSFailures checks that after anything but a refusal no password is sent, whether TLS is tried or required.
func TestTLSFailures(t *testing.T) {
	tests := []struct {
		name string
		auth []testserver.Action
		want error
	}{
		{"handshake breaks", []testserver.Action{testserver.Reply("234 go on"), testserver.EndControl(testserver.Closed)}, ftpexec.ErrTLS},
		{"no TLS after 234", []testserver.Action{testserver.Reply("234 go on"), testserver.Reply("220 hello")}, nil},
		{"certificate", []testserver.Action{testserver.Reply("234 go on")}, ftpexec.ErrTLS},
		{"injection", []testserver.Action{testserver.Reply("234 go on\r\n530 unencrypted, please")}, ftpexec.ErrProtocol},
		{"for the moment", []testserver.Action{testserver.Reply("430 later")}, ftpexec.ErrTLSUnavailable},
		{"intermediate", []testserver.Action{testserver.Reply("331 user?")}, ftpexec.ErrProtocol},
		{"closed", []testserver.Action{testserver.EndControl(testserver.Closed)}, ftpexec.ErrLost},
		{"PROT", []testserver.Action{testserver.Reply("234 go on")}, ftpexec.ErrTLSUnavailable},
	}
	for i, tt := range slices.Concat(tests[:len(tests)-1], tests) {
		script := testserver.Honest("contents").With("AUTH", tt.auth...)
		if tt.name == "PROT" {
			script = script.With("PROT", testserver.Reply("536 no"))
		}
		s := testserver.New(t, nil, script)
		c, u := &ftpexec.Client{MaxIdle: -1, TryTLS: true}, parse(t, s.URL("/f"))
		if tt.name == "PROT" {
			c.TLSConfig = &tls.Config{RootCAs: s.RootCAs()}
		}
		if i >= len(tests)-1 {
			u.Scheme = "ftpes"
		}
		u.User = url.UserPassword("me", "secret")
		_, err := read(t.Context(), c, u)
		if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
		}
		if slices.ContainsFunc(s.Commands(), func(l string) bool { return strings.HasPrefix(l, "PASS") }) || s.DataConnections() > 0 {
			t.Errorf("%s: the password was sent: %q", tt.name, s.Commands())
		}
	}
}

// TestTLSWithoutData checks servers that have TLS for the control connection only. A Client that only tries TLS goes on,
// and says so. Any other fails at once, and does not say that the server does not offer TLS.
func TestTLSWithoutData(t *testing.T) {
	for _, refusal := range []string{"431 Protection Set to Clear. Only Clear Protection supported", "536 no", "534 no", "504 no"} {
		s := testserver.New(t, &testserver.Options{Tree: tree, TLSConfig: new(tls.Config), Fault: func(c *testserver.Conn) testserver.Action {
			if c.Verb == "PROT" {
				return testserver.Reply(refusal)
			}
			return nil
		}})
		var d diary
		c := &ftpexec.Client{MaxIdle: -1, Timeout: ample, TryTLS: true, Trace: d.trace(), TLSConfig: &tls.Config{RootCAs: s.RootCAs()}}
		u := parse(t, s.URL("/a/f"))
		wantContents(t, c, u)
		if !strings.Contains(d.text(), "TLS is not available for data ("+refusal+")") {
			t.Errorf("%s: not said: %s", refusal, d.text())
		}
		u.Scheme = "ftpes"
		before := s.Connections()
		_, err := read(t.Context(), c, u)
		if !errors.Is(err, ftpexec.ErrTLSUnavailable) || ftpexec.Retryable(err) || !strings.Contains(err.Error(), "the server does not encrypt data connections") || s.Connections() != before+1 {
			t.Errorf("%s: got %v on %d connections", refusal, err, s.Connections()-before)
		}
	}
}

// TestTLSNotAvailable checks that 431 to AUTH is final, as 5yz is.
func TestTLSNotAvailable(t *testing.T) {
	s := testserver.New(t, nil, testserver.Honest("contents").With("AUTH", testserver.Reply("431 Requested security mechanism not available at this time.")))
	u := parse(t, s.URL("/f"))
	u.Scheme = "ftpes"
	if _, err := read(t.Context(), &ftpexec.Client{MaxIdle: -1}, u); !errors.Is(err, ftpexec.ErrTLSUnavailable) || ftpexec.Retryable(err) || len(s.Commands()) != 1 {
		t.Errorf("got %v after %q", err, s.Commands())
	}
}

// TestTLSVersions checks that TLS before 1.2 is refused.
func TestTLSVersions(t *testing.T) {
	for version, want := range map[uint16]error{
		tls.VersionTLS10: ftpexec.ErrTLS, tls.VersionTLS11: ftpexec.ErrTLS, tls.VersionTLS12: nil, tls.VersionTLS13: nil,
	} {
		s := testserver.New(t, &testserver.Options{Tree: tree, Scheme: "ftpes", TLSConfig: &tls.Config{MaxVersion: version}})
		c := &ftpexec.Client{MaxIdle: -1, TLSConfig: &tls.Config{RootCAs: s.RootCAs()}}
		if _, err := read(t.Context(), c, parse(t, s.URL("/a/f"))); !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("%s: got %v, want %v", tls.VersionName(version), err, want)
		}
	}
}

// TestTLSNames checks that the certificate must be for the URL's host, which may be an address, or for the ServerName
// that the caller has set, on both connections.
func TestTLSNames(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: tree, Scheme: "ftpes"})
	for _, tt := range []struct {
		host, name string
		want       error
	}{
		{"127.0.0.1", "", nil}, {"localhost", "", nil}, {"localhost.", "", nil},
		{"127.0.0.2", "", ftpexec.ErrTLS}, {"ftp.example.org", "", ftpexec.ErrTLS},
		{"127.0.0.2", "localhost", nil}, {"ftp.example.org", "localhost", nil}, {"localhost", "ftp.example.org", ftpexec.ErrTLS},
	} {
		c := &ftpexec.Client{MaxIdle: -1, TLSConfig: &tls.Config{RootCAs: s.RootCAs(), ServerName: tt.name}, Dial: to(s.Addr())}
		u := parse(t, s.URL("/a/f"))
		u.Host = tt.host
		if _, err := read(t.Context(), c, u); !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
			t.Errorf("%s, ServerName %q: got %v, want %v", tt.host, tt.name, err, tt.want)
		}
	}
}

// Both connections send the ServerName that the caller has set.
func TestTLSServerName(t *testing.T) {
	var mu sync.Mutex
	var names []string
	s := testserver.New(t, &testserver.Options{Tree: tree, Scheme: "ftpes", TLSConfig: &tls.Config{
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			mu.Lock()
			defer mu.Unlock()
			names = append(names, hello.ServerName)
			return nil, nil
		},
	}})
	c := &ftpexec.Client{MaxIdle: -1, TLSConfig: &tls.Config{RootCAs: s.RootCAs(), ServerName: "localhost"}}
	if _, err := read(t.Context(), c, parse(t, s.URL("/a/f"))); err != nil || !slices.Equal(names, []string{"localhost", "localhost"}) {
		t.Errorf("the connections were for %q, %v", names, err)
	}
}

// A refusal with an alert is final. It is not a lost connection, after which the client would try again. In TLS 1.3 the
// alert comes after the client's handshake.
func TestTLSAlerts(t *testing.T) {
	id := must.Get(throwaway.New("127.0.0.1"))(t)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		for _, scheme := range []string{"ftps", "ftpes"} {
			for _, kind := range []string{"control", "data"} {
				var handshakes atomic.Int64
				s := testserver.New(t, &testserver.Options{Tree: tree, Scheme: scheme, TLSConfig: &tls.Config{
					GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
						config := &tls.Config{MaxVersion: version, Certificates: []tls.Certificate{id.Server}}
						if handshakes.Add(1) > 1 || kind == "control" {
							config.ClientAuth = tls.RequireAnyClientCert
						}
						return config, nil
					},
				}})
				c := &ftpexec.Client{MaxIdle: -1, TLSConfig: &tls.Config{InsecureSkipVerify: true}}
				_, err := read(t.Context(), c, parse(t, s.URL("/a/f")))
				e, ok := errors.AsType[*ftpexec.Error](err)
				if _, alert := errors.AsType[tls.AlertError](err); !alert || !ok || ftpexec.Retryable(e) || !errors.Is(err, ftpexec.ErrTLS) || errors.Is(err, ftpexec.ErrLost) {
					t.Errorf("%s, %s, %s connection: got %v, want an alert", tls.VersionName(version), scheme, kind, err)
				}
				if s.Connections() != 1 {
					t.Errorf("%s, %s, %s connection: %d connections, want 1", tls.VersionName(version), scheme, kind, s.Connections())
				}
			}
		}
	}
}

// to returns a dial function that always dials the host of addr.
func to(addr string) dialFunc {
	host, _, _ := net.SplitHostPort(addr)
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort(host, port))
	}
}

// TestDataConnectionUnencrypted checks that no data is taken from a server that accepts PROT P and then sends it
// unencrypted.
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
		pinning := &ftpexec.Client{MaxIdle: -1, Dial: c.Dial, Pinned: []*x509.Certificate{
			must.Get(x509.ParseCertificate(must.Get(throwaway.Loopback())(t).Server.Certificate[0]))(t)}}
		u := parse(t, s.URL("/f"))
		u.Scheme = "ftpes"
		if _, err := read(t.Context(), pinning, u); !errors.Is(err, ftpexec.ErrTLS) || !errors.As(err, new(x509.UnknownAuthorityError)) {
			t.Errorf("pinned: got %v, want %v", err, ftpexec.ErrTLS)
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

// A refused transfer, whose data connection ends in the handshake, does not cost the session that the next one must
// resume.
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

// A data connection that ends within its TLS handshake, after any number of bytes, is lost, as at any other time: a
// server that refuses TLS says so with an alert.
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
				case !errors.As(err, &e) || !ftpexec.Retryable(e) || !errors.Is(err, ftpexec.ErrLost) && !(full && errors.Is(err, ftpexec.ErrTruncated)):
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

// TestEmptyFileWithoutTLS has servers that close an empty data connection before TLS is up on it. The file counts as
// empty only if the server says so on the control connection, before and after. The connection goes on.
func TestEmptyFileWithoutTLS(t *testing.T) {
	no := testserver.Reply("502 unknown")
	cut := func(opening, final string) []testserver.Action {
		return []testserver.Action{testserver.Reply(opening), ftptest.CutData(), testserver.Reply(final)}
	}
	mlst := func(size string) testserver.Action {
		return testserver.Reply("250-x\r\n type=file;size=" + size + "; f\r\n250 End")
	}
	honest := testserver.Honest("contents")
	for _, tt := range []struct {
		name, path string
		step       testserver.Step
		want       error
	}{
		{"SIZE 0", "/f", honest.With("SIZE", testserver.Reply("213 0")).With("#1 RETR", cut("150 x", "226 x")...), nil},
		{"other codes", "/f", honest.With("SIZE", testserver.Reply("213 0")).With("#1 RETR", cut("125 x", "250 x")...), nil},
		{"the 150 says 0", "/f", honest.With("SIZE", no).With("#1 RETR", cut("150 f (0 bytes)", "226 x")...), nil},
		{"the 150 says 0 in ASCII type", "/f;type=a", honest.With("#1 RETR", cut("150 f (0 bytes)", "226 x")...), nil},
		{"MLST says 0", "/f", honest.With("SIZE", no).With("MLST", mlst("0")).With("#1 RETR", cut("150 x", "226 x")...), nil},
		{"not empty", "/f", honest.With("#1 RETR", cut("150 x", "226 x")...), ftpexec.ErrLost},
		{"not empty, says MLST", "/f", honest.With("SIZE", no).With("MLST", mlst("8")).With("#1 RETR", cut("150 x", "226 x")...), ftpexec.ErrLost},
		{"no size", "/f", honest.With("SIZE", no).With("#1 RETR", cut("150 x", "226 x")...), ftpexec.ErrLost},
		{"no size in ASCII type", "/f;type=a", honest.With("#1 RETR", cut("150 x", "226 x")...), ftpexec.ErrLost},
		{"broken off", "/f", honest.With("SIZE", testserver.Reply("213 0")).With("#1 RETR", cut("150 x", "426 x")...).With("^CWD f$", testserver.Reply("550 x")), ftpexec.ErrTruncated},
		{"no final reply", "/f", honest.With("SIZE", testserver.Reply("213 0")).With("#1 RETR", testserver.Reply("150 x"), ftptest.CutData(), testserver.EndControl(testserver.Closed)), ftpexec.ErrLost},
		{"listing", "/", honest.With("#1 NLST", cut("150 x", "226 x")...), ftpexec.ErrLost},
	} {
		s := testserver.New(t, nil, tt.step)
		c := &ftpexec.Client{TLSConfig: &tls.Config{RootCAs: s.RootCAs()}}
		u := parse(t, s.URL(tt.path))
		u.Scheme = "ftpes"
		got, err := do(t.Context(), c, u)
		if !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) || got != "" || err != nil && !ftpexec.Retryable(err) {
			t.Errorf("%s: got %q, %v, want %v", tt.name, got, err, tt.want)
		}
		if tt.want == nil {
			other := *u
			other.Name = "g"
			_, _ = do(t.Context(), c, &other)
			if s.Connections() != 1 {
				t.Errorf("%s: the next file needs connection %d", tt.name, s.Connections())
			}
		}
		c.CloseIdleConnections()
	}
}

// TestNoTicket has servers that refuse a data connection which does not resume the TLS session. If the server has given
// no ticket, the next try cannot succeed either, and the error says what the server needs.
func TestNoTicket(t *testing.T) {
	refusals := map[string][]testserver.Action{
		"before the data": {testserver.Reply("522 SSL connection failed: session reuse required")},
		"after it":        {testserver.Reply("150 Go on."), testserver.Data("", testserver.Closed), testserver.Reply("425 Unable to build data connection: Operation not permitted")},
		"cut":             {testserver.Reply("150 Go on."), ftptest.CutData(), testserver.Reply("425 Unable to build data connection")},
	}
	for name, refusal := range refusals {
		for _, tickets := range []bool{true, false} {
			for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
				for _, verb := range []string{"RETR", "MLSD"} {
					s := testserver.New(t, &testserver.Options{Tree: tree, Scheme: "ftpes", TLSConfig: &tls.Config{MaxVersion: version, SessionTicketsDisabled: !tickets},
						Fault: func(c *testserver.Conn) testserver.Action {
							if c.Verb == verb {
								return testserver.Sequence(refusal...)
							}
							return nil
						}})
					c := &ftpexec.Client{MaxIdle: -1, TLSConfig: &tls.Config{RootCAs: s.RootCAs()}}
					var err error
					if verb == "RETR" {
						_, err = read(t.Context(), c, parse(t, s.URL("/a/f")))
					} else {
						_, _, err = entriesOf(t.Context(), c, parse(t, s.URL("/a/")))
					}
					says := err != nil && strings.Contains(err.Error(), "no ticket to resume it with") && strings.Contains(err.Error(), "TLSSessionTickets on")
					if says == tickets || says && (ftpexec.Retryable(err) || !errors.Is(err, ftpexec.ErrTLS)) {
						t.Errorf("%s, %s, tickets %v, %s: %v", name, tls.VersionName(version), tickets, verb, err)
					}
				}
			}
		}
	}
}

// damaging flips a bit of what is read after a number of bytes.
type damaging struct {
	net.Conn
	after int
}

func (c *damaging) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.after >= 0 && c.after < n {
		p[c.after] ^= 1
	}
	c.after -= n
	return n, err
}

// A record that is damaged in the middle of a transfer is a lost connection, not a failed handshake.
func TestDamagedRecord(t *testing.T) {
	contents := strings.Repeat("0123456789abcdef", 1<<14)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": contents}, Scheme: "ftpes", TLSConfig: &tls.Config{MaxVersion: version}})
		c := &ftpexec.Client{MaxIdle: -1, TLSConfig: &tls.Config{RootCAs: s.RootCAs()}, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			if err == nil && address != s.Addr() {
				conn = &damaging{conn, 100_000}
			}
			return conn, err
		}}
		got, err := read(t.Context(), c, parse(t, s.URL("/f")))
		if !errors.Is(err, ftpexec.ErrLost) || errors.Is(err, ftpexec.ErrTLS) || !ftpexec.Retryable(err) || !strings.HasPrefix(contents, got) {
			t.Errorf("%s: %d bytes, %v, want ErrLost", tls.VersionName(version), len(got), err)
		}
	}
}

// TestPinned trusts exactly a certificate, whatever its names, on both connections. Another server needs what TLSConfig
// accepts, and a VerifyConnection is still called.
func TestPinned(t *testing.T) {
	own, other := must.Get(throwaway.New("192.0.2.1"))(t), must.Get(throwaway.New("192.0.2.1"))(t)
	certificate := func(id *throwaway.Identity) *x509.Certificate {
		return must.Get(x509.ParseCertificate(id.Server.Certificate[0]))(t)
	}
	refuse := errors.New("refused by the caller")
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		for _, scheme := range []string{"ftps", "ftpes"} {
			start := func(id *throwaway.Identity) *testserver.Server {
				return testserver.New(t, &testserver.Options{Tree: tree, Scheme: scheme, TLSConfig: &tls.Config{MaxVersion: version, Certificates: []tls.Certificate{id.Server}}})
			}
			s := start(own)
			usual := testserver.New(t, &testserver.Options{Tree: tree, Scheme: scheme, TLSConfig: &tls.Config{MaxVersion: version}})
			pinned := []*x509.Certificate{certificate(own)}
			for _, tt := range []struct {
				name   string
				server *testserver.Server
				client *ftpexec.Client
				want   error
			}{
				{"its certificate", s, &ftpexec.Client{Pinned: pinned}, nil},
				{"its authority alone", s, &ftpexec.Client{TLSConfig: &tls.Config{RootCAs: own.Roots}}, ftpexec.ErrTLS},
				{"another one", s, &ftpexec.Client{Pinned: []*x509.Certificate{certificate(other)}}, ftpexec.ErrTLS},
				{"another one, and its authority", s, &ftpexec.Client{Pinned: []*x509.Certificate{certificate(other)}, TLSConfig: &tls.Config{RootCAs: own.Roots}}, ftpexec.ErrTLS},
				{"a server of an authority", usual, &ftpexec.Client{Pinned: pinned, TLSConfig: &tls.Config{RootCAs: usual.RootCAs()}}, nil},
				{"a server of no authority", usual, &ftpexec.Client{Pinned: pinned}, ftpexec.ErrTLS},
				{"the caller refuses", s, &ftpexec.Client{Pinned: pinned, TLSConfig: &tls.Config{VerifyConnection: func(tls.ConnectionState) error { return refuse }}}, refuse},
			} {
				tt.client.MaxIdle = -1
				got, err := read(t.Context(), tt.client, parse(t, tt.server.URL("/a/f")))
				if !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) || err == nil && got != "contents" {
					t.Errorf("%s, %s, %s: got %q, %v, want %v", tls.VersionName(version), scheme, tt.name, got, err, tt.want)
				}
			}
		}
	}
}
