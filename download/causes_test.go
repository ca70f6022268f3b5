package download

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// uses are the ways to use a server that has /d/f. An error must match the same causes in all of them.
var uses = []struct {
	name string
	run  func(ctx context.Context, t *testing.T, c *ftpexec.Client, file, dir *urlparse.URL) error
}{
	{"List", func(ctx context.Context, _ *testing.T, c *ftpexec.Client, _, dir *urlparse.URL) (err error) {
		for _, err = range c.List(ctx, dir) {
		}
		return err
	}},
	{"File", func(ctx context.Context, t *testing.T, c *ftpexec.Client, file, _ *urlparse.URL) error {
		_, err := File(ctx, c, file, filepath.Join(t.TempDir(), "f"), &Options{Retries: -1})
		return err
	}},
}

// expectation is what a caller can tell from an error.
type expectation struct {
	is                 []error
	as                 []any // pointers for errors.As
	temporary, timeout bool
	once               string // text that occurs once in the message
}

func (x expectation) check(err error) error {
	var e *ftpexec.Error
	var n net.Error
	switch {
	case !errors.As(err, &e):
		return fmt.Errorf("%v is no *ftpexec.Error", err)
	case ftpexec.Retryable(e) != x.temporary || e.Timeout() != x.timeout || (errors.As(err, &n) && n.Timeout()) != x.timeout:
		return fmt.Errorf("%v: temporary %v, timeout %v, want %v, %v", err, ftpexec.Retryable(e), e.Timeout(), x.temporary, x.timeout)
	case strings.Count(err.Error(), x.once) != 1 && x.once != "":
		return fmt.Errorf("%v: want %q once", err, x.once)
	case strings.Contains(err.Error(), "tcp "):
		return fmt.Errorf("%v: an address in the text", err)
	}
	for _, target := range x.is {
		if !errors.Is(err, target) {
			return fmt.Errorf("%v is not %v", err, target)
		}
	}
	for _, target := range x.as {
		if !errors.As(err, target) {
			return fmt.Errorf("%v is no %T", err, target)
		}
	}
	return nil
}

// trouble makes the nth call of a kind fail, on control or data connections.
type trouble struct {
	control string // the address of the server
	data    bool
	call    string // "dial", "read" or "write"
	n       int
	err     error
	struck  atomic.Bool
}

func (x *trouble) dial(ctx context.Context, network, address string) (net.Conn, error) {
	mine := (address != x.control) == x.data
	if mine && x.call == "dial" {
		x.struck.Store(true)
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{}, Err: x.err}
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err == nil && mine {
		conn = &troubled{Conn: conn, trouble: x}
	}
	return conn, err
}

type troubled struct {
	net.Conn
	*trouble
	reads, writes int
}

func (c *troubled) Read(p []byte) (int, error) {
	if c.reads++; c.call == "read" && c.reads >= c.n {
		return 0, c.fail("read")
	}
	return c.Conn.Read(p)
}

func (c *troubled) Write(p []byte) (int, error) {
	if c.writes++; c.call == "write" && c.writes >= c.n {
		return 0, c.fail("write")
	}
	return c.Conn.Write(p)
}

func (c *troubled) fail(call string) error {
	c.struck.Store(true)
	c.Conn.Close()
	if c.err == io.EOF {
		return io.EOF
	}
	return &net.OpError{Op: call, Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: os.NewSyscallError(call, c.err)}
}

// TestCausesOfConnections makes every dial, read and write of both connections fail, with and without TLS.
func TestCausesOfConnections(t *testing.T) {
	for _, mode := range []string{"ftp", "ftpes"} {
		s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/d/f": "contents"}, Scheme: mode})
		for _, use := range uses {
			for _, data := range []bool{false, true} {
				for _, call := range []string{"dial", "read", "write"} {
					t.Run(fmt.Sprintf("%s/%s/data %v/%s", use.name, mode, data, call), func(t *testing.T) {
						t.Parallel()
						var running sync.WaitGroup // some wait a second for a reply
						defer running.Wait()
						for _, errno := range append(shortages, syscall.ECONNREFUSED, syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.ECONNRESET, syscall.ETIMEDOUT, syscall.EADDRNOTAVAIL) {
							x := &trouble{control: s.Addr(), data: data, call: call, err: errno}
							running.Go(func() {
								eachCall(t, x, func(c *ftpexec.Client) error {
									c.TLSConfig = &tls.Config{RootCAs: s.RootCAs()}
									return use.run(t.Context(), t, c, urlOf(t, s.URL("/d/f")), urlOf(t, s.URL("/d/")))
								})
							})
						}
					})
				}
			}
		}
	}
}

// shortages are errors about this machine's resources, not about the network or the server.
var shortages = []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM}

// eachCall runs use with trouble at each call in turn, until use makes no more calls.
func eachCall(t *testing.T, x *trouble, use func(*ftpexec.Client) error) {
	t.Helper()
	errno := x.err.(syscall.Errno)
	for x.n = 1; ; x.n++ {
		x.struck.Store(false)
		c := &ftpexec.Client{Dial: x.dial, NoEPSV: true}
		err := use(c)
		c.CloseIdleConnections()
		switch {
		case !x.struck.Load() && err != nil:
			t.Errorf("%v, without trouble", err)
			return
		case !x.struck.Load():
			return
		case err == nil: // QUIT, the alert at the end of TLS, and a question after a whole file may fail
			continue
		}
		handshake, local := errors.Is(err, ftpexec.ErrTLS) && !x.data, slices.Contains(shortages, errno)
		want := expectation{is: []error{errno}, as: []any{new(*net.OpError)}, temporary: !handshake && !local, timeout: errno.Timeout(), once: errno.Error()}
		if e := (*ftpexec.Error)(nil); errors.As(err, &e) && localfile.Failed(e) != local {
			t.Errorf("%s %d: %v: local %v, want %v", x.call, x.n, err, !local, local)
		}
		if bad := want.check(err); bad != nil {
			t.Errorf("%s %d: %v", x.call, x.n, bad)
		}
		if kind := map[string]error{"dial": ftpexec.ErrConnect}[x.call]; !handshake && !errors.Is(err, ftpexec.ErrLost) && !(kind != nil && errors.Is(err, kind)) {
			t.Errorf("%s %d: %v is of the wrong kind", x.call, x.n, err)
		}
		if x.call == "dial" {
			return
		}
	}
}

func TestCausesOfResolving(t *testing.T) {
	tests := []struct {
		err  *net.DNSError
		want expectation
	}{
		{&net.DNSError{Err: "no such host", Name: "nosuch.invalid", IsNotFound: true},
			expectation{as: []any{new(*net.DNSError), new(*net.OpError)}, once: "cannot find the host"}},
		{&net.DNSError{Err: "i/o timeout", Name: "nosuch.invalid", IsTimeout: true},
			expectation{is: []error{ftpexec.ErrConnect}, as: []any{new(*net.DNSError), new(*net.OpError)}, temporary: true, timeout: true, once: "i/o timeout"}},
		{&net.DNSError{Err: "dial udp 127.0.0.1:53: socket: too many open files", Name: "nosuch.invalid", IsTemporary: true},
			expectation{is: []error{ftpexec.ErrConnect, syscall.EMFILE}, as: []any{new(*net.DNSError), new(*net.OpError)}, once: "too many open files"}},
	}
	for _, tt := range tests {
		for _, use := range uses {
			x := &trouble{control: "nosuch.invalid:21", call: "dial", err: tt.err}
			err := use.run(t.Context(), t, &ftpexec.Client{Dial: x.dial}, urlOf(t, "ftp://nosuch.invalid/d/f"), urlOf(t, "ftp://nosuch.invalid/d/"))
			if bad := tt.want.check(err); bad != nil {
				t.Errorf("%s: %v", use.name, bad)
			}
		}
	}
}

// TestCauseOfAReset sends a real reset, because splice(2) reports it differently.
func TestCauseOfAReset(t *testing.T) {
	for _, text := range []string{"contents", noise(1<<20, 3)} {
		k := newKit(t, map[string]string{"/f": text})
		k.faulty(func(p *testserver.Conn) testserver.Action {
			return testserver.EndDataAfter(int64(len(text)/2), testserver.Reset)
		})
		_, err := k.get("/f", Options{Retries: -1})
		if !errors.Is(err, syscall.ECONNRESET) || !errors.As(err, new(*net.OpError)) || !errors.As(err, new(*ftpexec.Error)) {
			t.Errorf("got %v, want ECONNRESET", err)
		}
	}
}

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
				file.Scheme, dir.Scheme = "ftps", "ftps"
			case "other":
				file.Host, dir.Host = "other.invalid", "other.invalid"
			}
			if bad := tt.want.check(use.run(t.Context(), t, c, file, dir)); bad != nil {
				t.Errorf("%s, %s: %v", tt.name, use.name, bad)
			}
		}
	}
}
