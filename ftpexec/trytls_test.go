package ftpexec_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
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

// TestTryTLSAnswers tries every refusal of AUTH that real servers send. After anything but a refusal the client must not
// continue unencrypted.
func TestTryTLSAnswers(t *testing.T) {
	for _, refusal := range []string{
		"500 AUTH not understood", "502 AUTH command not implemented.", "504 no", "534 no",
		"530 Please login with USER and PASS.", "500-This\r\n500 scheme is not implemented",
	} {
		s := testserver.New(t, nil, testserver.Honest("contents").With("AUTH", testserver.Reply(refusal)))
		var notes []string
		c := &ftpexec.Client{MaxIdle: -1, TryTLS: true, Trace: func(e ftpexec.Event) {
			if e.Mark == "*" {
				notes = append(notes, e.Text)
			}
		}}
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
		{"handshake breaks", []testserver.Action{testserver.Reply("234 go on"), testserver.End(testserver.Closed)}, ftpexec.ErrTLS},
		{"no TLS after 234", []testserver.Action{testserver.Reply("234 go on"), testserver.Reply("220 hello")}, nil},
		{"certificate", []testserver.Action{testserver.Reply("234 go on")}, ftpexec.ErrTLS},
		{"injection", []testserver.Action{testserver.Reply("234 go on\r\n530 unencrypted, please")}, ftpexec.ErrProtocol},
		{"for the moment", []testserver.Action{testserver.Reply("431 later")}, ftpexec.ErrTLSUnavailable},
		{"intermediate", []testserver.Action{testserver.Reply("331 user?")}, ftpexec.ErrTLSUnavailable},
		{"closed", []testserver.Action{testserver.End(testserver.Closed)}, ftpexec.ErrLost},
		{"PROT", []testserver.Action{testserver.Reply("234 go on")}, ftpexec.ErrTLSUnavailable},
	}
	for i, tt := range slices.Concat(tests, tests) {
		script := testserver.Honest("contents").With("AUTH", tt.auth...)
		if tt.name == "PROT" {
			script = script.With("PROT", testserver.Reply("536 no"))
		}
		s := testserver.New(t, nil, script)
		c, u := &ftpexec.Client{MaxIdle: -1, TryTLS: true}, parse(t, s.URL("/f"))
		if tt.name == "PROT" {
			c.TLSConfig = &tls.Config{RootCAs: s.RootCAs()}
		}
		if i >= len(tests) {
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

// TestTLSNames checks that the certificate must be for the URL's host, which may be an address.
func TestTLSNames(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: tree, Scheme: "ftpes"})
	for _, tt := range []struct {
		host string
		want error
	}{
		{"127.0.0.1", nil}, {"localhost", nil}, {"localhost.", nil}, {"127.0.0.2", ftpexec.ErrTLS}, {"ftp.example.org", ftpexec.ErrTLS},
	} {
		c := &ftpexec.Client{MaxIdle: -1, TLSConfig: &tls.Config{RootCAs: s.RootCAs(), ServerName: "localhost"}, Dial: to(s.Addr())}
		u := parse(t, s.URL("/a/f"))
		u.Host = tt.host
		if _, err := read(t.Context(), c, u); !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
			t.Errorf("%s: got %v, want %v", tt.host, err, tt.want)
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
