//go:build linux

package interop

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// Kind names one of the servers.
type Kind string

// The servers of the table.
const (
	Vsftpd    Kind = "vsftpd"
	Proftpd   Kind = "proftpd"
	PureFTPd  Kind = "pure-ftpd"
	Pyftpdlib Kind = "pyftpdlib"
	Inetutils Kind = "inetutils"
	Netkit    Kind = "ftpd-ssl"
	Twisted   Kind = "twisted"
	Aioftp    Kind = "aioftp"
	Globus    Kind = "globus"
	Library   Kind = "ftpserverlib"
)

// flavour is what the harness and the tests know about one server.
type flavour struct {
	kind      Kind
	pkg       string // the Debian package; "" for the Go module
	configure func(*site) program
	banner    string // distinguishes its greeting from the others; "" if it does not greet
	// inetd marks a server that serves one connection on its standard input and output instead of listening itself.
	inetd bool
	// tls says that the harness can set up explicit TLS (RFC 4217), implicit that it can set up TLS from the first byte.
	tls, implicit bool
	// noUser says that the harness can only set up anonymous logins.
	noUser bool
	// caps says that the server can limit the number of its connections.
	caps bool
	// noFacts says that the server has neither SIZE nor MDTM, noActive that it has neither EPRT nor PORT, noRest that
	// it has no REST, noASCII that it does not convert texts, and takesAUTH that it accepts AUTH TLS without having
	// TLS.
	noFacts, noActive, noRest, noASCII, takesAUTH bool
	// breaksOff says that it breaks off the listing of a directory with a name that is not UTF-8.
	breaksOff bool
	// noSquid says that squid does not understand its replies: squid requires a 331 (aioftp omits it for anonymous
	// users), a 550 for a missing file (globus sends 500), and that a directory is refused before the 150
	// (ftpserverlib).
	noSquid bool
	// disorder says that the replies to commands sent ahead may be out of order.
	disorder bool
	// noIPv6 says that the harness does not set it up on ::1, noIdle that it cannot tell it how long a client may be silent.
	noIPv6, noIdle bool
	// slowNames says that each name that it does not find costs a time-out, so that the names take minutes.
	slowNames bool
	// upstream says that it is a relay, and needs a server behind it; named, that the user's name says which.
	upstream, named bool
	// refuses are the names of oddNames that the server cannot serve.
	refuses []string
}

var servers = []flavour{
	{kind: Vsftpd, pkg: "vsftpd", configure: configureVsftpd, banner: "vsFTPd", tls: true, implicit: true, caps: true},
	{kind: Proftpd, pkg: "proftpd-core", configure: configureProftpd, banner: "ProFTPD", tls: true, implicit: true, caps: true},
	{kind: PureFTPd, pkg: "pure-ftpd", configure: configurePureFTPd, banner: "Pure-FTPd", tls: true, caps: true, noIdle: true, refuses: []string{backslashName}},
	{kind: Pyftpdlib, pkg: "python3-pyftpdlib", configure: python(pyftpdlibServer), banner: "pyftpdlib", tls: true, caps: true, refuses: []string{latin1Name}},
	{kind: Inetutils, pkg: "inetutils-ftpd", configure: configureInetutils, banner: "GNU inetutils", inetd: true},
	{kind: Netkit, pkg: "ftpd-ssl", configure: configureNetkit, banner: "Linux-ftpd", inetd: true, takesAUTH: true},
	{kind: Twisted, pkg: "python3-twisted", configure: python(twistedServer), banner: "Twisted", caps: true, noRest: true, noASCII: true, breaksOff: true, refuses: []string{unicodeName, latin1Name}},
	{kind: Aioftp, pkg: "python3-aioftp", configure: python(aioftpServer), banner: "220 welcome", implicit: true, caps: true, noFacts: true, noActive: true, noSquid: true, breaksOff: true, disorder: true, refuses: []string{latin1Name}},
	{kind: Globus, pkg: "globus-gridftp-server-progs", configure: configureGlobus, banner: "GridFTP", noSquid: true, noUser: true, caps: true, refuses: []string{unicodeName, latin1Name}},
	{kind: Library, configure: configureLibrary, banner: "ftpserverlib", noSquid: true, tls: true, implicit: true},
}

// Options say how to set up a server. The zero value is a server without TLS.
type Options struct {
	// TLS makes the server require TLS for logins and data: explicit TLS (RFC 4217), or with Implicit TLS from the first
	// byte. vsftpd and proftpd also require that data connections resume the session of the control connection.
	TLS, Implicit bool
	// NoTLS13 keeps proftpd from TLS 1.3.
	NoTLS13 bool
	// Renegotiate is after how many KiB of data proftpd asks for another handshake of TLS 1.2; 0 means never.
	Renegotiate int
	// Host and Port are where it listens; empty: a free port of 127.0.0.1.
	Host string
	Port int
	// More are further lines of vsftpd's or proftpd's configuration, or arguments of pure-ftpd.
	More []string
	// Upstream is the address of the server behind a relay.
	Upstream string
	// IPv6 makes the server listen on ::1 instead of 127.0.0.1.
	IPv6 bool
	// MaxClients is the number of connections that the server takes; 0 means its default.
	MaxClients int
	// MaxListing is how many names pure-ftpd lists; 0 means its default.
	MaxListing int
	// OnePort gives vsftpd one port for data, and one connection for each client.
	OnePort bool
	// Idle is how many seconds a client may be silent; 0 means the server's default. pure-ftpd knows only minutes.
	Idle int
}

// Server is a running server. Anonymous users get Tree.Public, the user UserName with the password UserPassword gets
// Tree.Home.
type Server struct {
	Kind    Kind
	Addr    string         // "127.0.0.1:port" or "[::1]:port"
	RootCAs *x509.CertPool // trusts the server's certificate; nil without TLS

	flavour  flavour
	implicit bool
	upstream string // the address of the server behind it, if it is a relay
	dir      string // configuration, log and scratch files of this server
	procs    *group
	inetd    *inetd // nil if the server listens itself
}

// startTimeout bounds the start of a server, from its first process to its greeting. It is long enough to tell a hanging
// server from a busy machine.
const startTimeout = 2 * time.Minute

// Start runs a server and returns when it greets. The caller must close it. ctx bounds only the start.
func Start(ctx context.Context, kind Kind, tree *Tree, o Options) (*Server, error) {
	all := slices.Concat(servers, others)
	i := slices.IndexFunc(all, func(f flavour) bool { return f.kind == kind })
	if i < 0 {
		return nil, fmt.Errorf("interop: no server %q", kind)
	}
	f := all[i]
	if o.TLS && !o.Implicit && !f.tls || o.Implicit && !f.implicit {
		return nil, fmt.Errorf("interop: no TLS set-up for %s", kind)
	}
	return start(ctx, f, tree, o)
}

// start retries if another program has taken the port in the meantime.
func start(ctx context.Context, f flavour, tree *Tree, o Options) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	var errs []error
	for range portAttempts {
		s, err := startOnce(ctx, f, tree, o)
		if err == nil {
			return s, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("interop: %s does not start: %w", f.kind, errors.Join(errs...))
}

// New is Start for tests: it fails the test if the server does not start, closes the server when the test ends, and shows
// its log if the test failed.
func New(tb testing.TB, kind Kind, tree *Tree, o Options) *Server {
	tb.Helper()
	s, err := Start(tb.Context(), kind, tree, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("log of %s:\n%s", kind, s.log())
		}
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// startOnce configures and runs the server, and waits for its greeting.
func startOnce(ctx context.Context, f flavour, tree *Tree, o Options) (s *Server, err error) {
	st, err := newSite(tree, o)
	if err != nil {
		return nil, err
	}
	s = &Server{Kind: f.kind, Addr: st.addr(), RootCAs: st.roots, flavour: f, implicit: o.Implicit, upstream: o.Upstream, dir: st.dir}
	p := f.configure(st)
	if err = st.err; err == nil {
		err = s.run(p)
	}
	if err == nil {
		err = s.awaitGreeting(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w\n%s", err, s.log()), s.Close())
	}
	return s, nil
}

func (s *Server) run(p program) (err error) {
	if s.procs, err = newGroup(s.logPath()); err != nil {
		return err
	}
	if s.flavour.inetd {
		s.inetd, err = listenInetd(s.Addr, s.procs, p)
		return err
	}
	return s.procs.start(p, nil)
}

// URL returns the ftp URL of an url-path (which starts with "/") for an anonymous user.
func (s *Server) URL(path string) string {
	if s.flavour.named {
		return "ftp://" + Escape(s.anonymous()) + ":" + Escape(anonymousPassword) + "@" + s.Addr + path
	}
	return "ftp://" + s.Addr + path
}

// anonymousPassword is what the harness sends with anonymous.
const anonymousPassword = "ftpfetch@example.com"

// anonymous is the user name of anonymous users. To Squid it says which server is meant.
func (s *Server) anonymous() string {
	if s.flavour.named {
		return "anonymous@" + s.upstream
	}
	return "anonymous"
}

// Close kills the server's processes, waits for them and removes its files.
func (s *Server) Close() error {
	var errs []error
	if s.inetd != nil {
		errs = append(errs, s.inetd.close())
	}
	if s.procs != nil {
		errs = append(errs, s.procs.close())
	}
	errs = append(errs, os.RemoveAll(s.dir))
	return errors.Join(errs...)
}

// CAFile is the path of a PEM file with the certificate that RootCAs trusts.
func (s *Server) CAFile() string { return filepath.Join(s.dir, "server.pem") }

func (s *Server) logPath() string { return filepath.Join(s.dir, "log") }

// log returns what the server wrote to its standard output and error.
func (s *Server) log() string {
	text, err := os.ReadFile(s.logPath())
	if err != nil {
		return err.Error()
	}
	return string(text)
}
