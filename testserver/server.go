package testserver

import (
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	ftpserver "github.com/fclairamb/ftpserverlib"
	"github.com/spf13/afero"

	"example.com/ftpfetch/internal/throwaway"
)

// closeTimeout bounds Close: a hook of the caller may never return.
const closeTimeout = 10 * time.Second

// Server is an FTP server. [Start] and [New] start the embedded one, [NewScript] one that plays a
// dialogue. All methods may be used concurrently.
type Server struct {
	recorder
	address

	fs       afero.Fs
	id       *throwaway.Identity // nil without TLS
	listener net.Listener

	running sync.WaitGroup // everything that Close waits for
	state   sync.Mutex
	open    map[int]interface{ abort() } // the control connections by number
	conns   int                          // control connections since the start
	closed  bool
}

// enter numbers a connection and keeps what begin makes of it until leave.
func enter[C interface{ abort() }](s *Server, raw net.Conn, begin func(w *wire) C) (c C, closed bool) {
	s.state.Lock()
	defer s.state.Unlock()
	s.conns++
	c = begin(newWire(raw, &s.recorder, s.conns, false))
	if s.open == nil {
		s.open = map[int]interface{ abort() }{}
	}
	s.open[s.conns] = c
	return c, s.closed
}

// leave drops a connection of which nothing is left.
func (s *Server) leave(conn int) {
	s.state.Lock()
	defer s.state.Unlock()
	delete(s.open, conn)
}

// embedded is github.com/fclairamb/ftpserverlib behind its fronts.
type embedded struct {
	*Server
	opts Options

	controlTLS, dataTLS *tls.Config // nil without TLS

	passive    sync.Mutex // held while the library handles EPSV or PASV ...
	passiveFor *front     // ... of this connection

	transfers int // transfer commands since the start; guarded by state
}

// Start starts a server. The caller must close it.
func Start(o *Options) (*Server, error) {
	if o == nil {
		o = &Options{}
	}
	s := &embedded{Server: &Server{fs: o.FS}, opts: *o}
	if err := s.prepare(); err != nil {
		return nil, fmt.Errorf("testserver: %w", err)
	}
	l, err := listen(o.Network)
	if err != nil {
		return nil, fmt.Errorf("testserver: %w", err)
	}
	s.address = address{tcp: l.Addr().(*net.TCPAddr), scheme: o.TLS.scheme()}
	s.listener = l
	if err := s.serve(); err != nil {
		return nil, err
	}
	return s.Server, nil
}

// New is Start for a test: it closes the server when the test ends, and fails
// tb if the server does not start or close.
func New(tb testing.TB, o *Options) *Server {
	tb.Helper()
	s, err := Start(o)
	return closing(tb, s, err)
}

func closing(tb testing.TB, s *Server, err error) *Server {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

func listen(network string) (net.Listener, error) {
	switch network {
	case "", "tcp4":
		return net.Listen("tcp4", "127.0.0.1:0")
	case "tcp6":
		return net.Listen("tcp6", "[::1]:0")
	}
	return nil, fmt.Errorf("network %q is neither tcp4 nor tcp6", network)
}

func (m TLSMode) scheme() string {
	return [...]string{tlsOff: "ftp", TLSOffered: "ftp", TLSRequired: "ftpes", TLSImplicit: "ftps"}[m]
}

// prepare creates the tree and the certificates.
func (s *embedded) prepare() error {
	if s.fs == nil {
		s.fs = afero.NewMemMapFs()
	}
	if err := s.plant(); err != nil {
		return err
	}
	if s.opts.TLS == tlsOff {
		return nil
	}
	var err error
	if s.id, err = newIdentity(); err != nil {
		return err
	}
	s.controlTLS, s.dataTLS, err = tlsConfigs(s.id, &s.opts)
	return err
}

func (s *embedded) plant() error {
	for name, contents := range s.opts.Tree {
		if err := s.add(name, contents); err != nil {
			return err
		}
	}
	for _, home := range s.opts.Home {
		if err := s.fs.MkdirAll(path.Clean(home), 0o755); err != nil {
			return err
		}
	}
	return nil
}

func (s *embedded) add(name, contents string) error {
	clean := path.Join("/", name)
	if strings.HasSuffix(name, "/") {
		return s.fs.MkdirAll(clean, 0o755)
	}
	if err := s.fs.MkdirAll(path.Dir(clean), 0o755); err != nil {
		return err
	}
	if err := afero.WriteFile(s.fs, clean, []byte(contents), 0o644); err != nil {
		return err
	}
	if s.opts.ModTime.IsZero() {
		return nil
	}
	return s.fs.Chtimes(clean, s.opts.ModTime, s.opts.ModTime)
}

func (s *embedded) serve() error {
	ftp := ftpserver.NewFtpServer(driver{s})
	if err := ftp.Listen(); err != nil {
		_ = s.listener.Close()
		return fmt.Errorf("testserver: %w", err)
	}
	s.running.Go(func() { _ = ftp.Serve() })
	return nil
}

// FS returns the served tree, nil for a script. The caller may change it while the server runs.
func (s *Server) FS() afero.Fs { return s.fs }

// Close stops the server, closes every connection and waits for the server's
// goroutines. It returns an error if they do not end, because a function of the
// caller does not return.
func (s *Server) Close() error {
	_ = s.listener.Close()
	s.state.Lock()
	s.closed = true
	open := slices.Collect(maps.Values(s.open))
	s.state.Unlock()
	for _, c := range open {
		c.abort()
	}
	s.stop()
	done := make(chan struct{})
	go func() {
		s.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-time.After(closeTimeout):
		return errors.New("testserver: connections did not end: does a hook block?")
	}
}

// acceptor gives the library a front for every control connection.
type acceptor struct {
	net.Listener
	srv *embedded
}

// Accept waits for a client. The library calls it from one goroutine, and
// numbers clients in the same order, from 1.
func (a *acceptor) Accept() (net.Conn, error) {
	raw, err := a.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return a.srv.admit(raw), nil
}

// admit starts the front of a connection.
func (s *embedded) admit(raw net.Conn) net.Conn {
	f, closed := enter(s.Server, raw, func(w *wire) *front { return newFront(s, w) })
	if s.opts.TLS == TLSImplicit {
		f.startTLS(s.controlTLS)
	}
	s.running.Add(1) // until front.maybeDone
	s.running.Go(f.run)
	if closed {
		f.abort()
	}
	return f
}

func (s *embedded) front(cc ftpserver.ClientContext) *front {
	s.state.Lock()
	defer s.state.Unlock()
	f, _ := s.open[int(cc.ID())].(*front)
	return f
}

// faultFor numbers transfers and asks Options.Fault what should go wrong.
func (s *embedded) faultFor(conn int, verb, arg string) Fault {
	p := FaultPoint{Conn: conn, Verb: verb, Arg: arg}
	if isTransfer(verb) {
		s.state.Lock()
		s.transfers++
		p.Transfer = s.transfers
		s.state.Unlock()
	}
	return s.fault(p)
}

func (s *embedded) fault(p FaultPoint) Fault {
	if s.opts.Fault == nil {
		return Fault{}
	}
	s.state.Lock()
	p.Open = len(s.open)
	s.state.Unlock()
	return s.opts.Fault(p)
}

// address is where a server listens.
type address struct {
	tcp    *net.TCPAddr
	scheme string
}

// Addr returns "host:port", IPv6 in brackets.
func (a *address) Addr() string { return a.tcp.String() }

// URL returns "scheme://host:port" + path, without encoding path. The scheme
// is ftpes with TLSRequired, ftps with TLSImplicit, else ftp.
func (a *address) URL(path string) string { return a.scheme + "://" + a.Addr() + path }

// URLAs is like URL, with userinfo: "user" or "user:password", already encoded.
func (a *address) URLAs(userinfo, path string) string {
	return a.scheme + "://" + userinfo + "@" + a.Addr() + path
}
