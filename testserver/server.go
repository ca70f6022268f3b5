package testserver

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/afero"

	"example.com/ftpfetch/internal/throwaway"
)

// Options configures a server. The zero value, and a nil *Options, mean an anonymous server without TLS, with an empty
// tree, on 127.0.0.1. FS, Tree, ModTime, Users and Home have no effect on a script.
//
// The honest server serves files that clients cannot change. It serves names byte for byte; no name can contain "/".
// "CWD /etc" takes an absolute path, "CWD " with an empty argument succeeds and changes nothing, and "-l" is a name.
// ABOR has no effect on a transfer under way.
type Options struct {
	// FS is the served tree, such as os.DirFS or an fstest.MapFS; nil means an empty one. It cannot be combined with
	// Tree, with one exception: what NewIOFS of github.com/spf13/afero returns is served as the afero.Fs below it. A
	// test can change that while the server runs, Tree adds to it, and its names can be any bytes.
	FS fs.FS
	// Tree is added to the served tree: path -> contents. A path that ends in "/" makes a directory. Paths are bytes,
	// not text; missing directories are created.
	Tree map[string]string
	// ModTime is the modification time of all files in Tree; zero means now.
	ModTime time.Time

	// Users holds name -> password. A user whose password is "" needs none: USER gets 230. The anonymous users
	// ("anonymous" and "ftp") are accepted with any password if they are not among Users.
	Users map[string]string
	// Home holds name -> working directory after login, default "/". Missing directories are created.
	Home map[string]string

	// Listen returns first the listener for control connections, and then one for each EPSV and PASV. Its address must
	// be a *net.TCPAddr. If Listen is nil, the server uses free ports of 127.0.0.1.
	Listen func() (net.Listener, error)
	// Scheme is the scheme of the server's URLs: "ftp", the default; "ftpes", where USER before AUTH TLS gets 530 and a
	// transfer without PROT P gets 521 (RFC 4217); or "ftps", where TLS begins with the first byte on both connections.
	Scheme string
	// TLSConfig, when set, is the configuration that the server starts from. It may set versions, session tickets and
	// certificates; without certificates the server uses one that RootCAs trusts. With "ftp" it makes the server accept
	// AUTH TLS. Set VerifyConnection to imitate servers such as vsftpd, which refuse a data connection that does not
	// resume the session of the control connection: it is called for data connections only.
	TLSConfig *tls.Config

	// Latency is the time of a round trip to the server: it sends the greeting, handles a command, and sends the first
	// byte on a data connection only so long after the client has connected or sent the command. Commands that come
	// together wait together, so that a test can tell what pipelining saves. TLS handshakes on the control connection
	// are not delayed. 0 means that the server answers at once.
	Latency time.Duration
	// Rate is how many bytes a second the server sends on each data connection, as through a slow line or a TCP window;
	// 0 means no limit. Bandwidth is the same for all data connections together. In a bubble of testing/synctest, with
	// connections in memory (Listen), a slow link takes no real time.
	Rate, Bandwidth int64

	// Fault, when set, returns the Action that the server runs before it sends the greeting and before it handles each
	// command, such as [Reply], [EndControl] or [EndDataAfter]; nil means none. If the Action sends nothing and does
	// not end the connection, the server goes on to handle the command. Fault may block, and its connection then waits.
	// Calls for different connections are concurrent.
	//
	//	case c.Transfer == 1: // the first transfer ends early, with a false 226
	//		return testserver.EndDataAfter(1000, testserver.Closed)
	//	case c.Verb == "SIZE":
	//		return testserver.ReplaceReply(testserver.Reply("213 5"))
	Fault func(*Conn) Action
}

// closeTimeout bounds Close: a function of the caller may never return.
const closeTimeout = 10 * time.Second

// Server is an FTP server that [Start] or [New] has started. All methods may be used concurrently.
type Server struct {
	recorder
	opts     Options
	files    afero.Fs // what the honest server serves
	link     *link
	steps    []Step // of a script, or of the honest server
	tcp      *net.TCPAddr
	listener net.Listener

	id                  *throwaway.Identity // nil without TLS
	controlTLS, dataTLS *tls.Config

	running   sync.WaitGroup // everything that Close waits for
	state     sync.Mutex
	open      map[int]*Conn // by number
	conns     int           // control connections since the start
	transfers int           // transfer commands since the start
	closed    bool
}

// Start starts an honest server or, with steps, a server that plays a script. The steps apply in order: if two match a
// command, the later one plays. A command that no step matches gets 502; most scripts begin with [Honest]. The caller
// must close the server.
func Start(o *Options, steps ...Step) (*Server, error) {
	s := &Server{steps: steps, open: map[int]*Conn{}}
	if o != nil {
		s.opts = *o
	}
	if err := s.start(); err != nil {
		return nil, fmt.Errorf("testserver: %w", err)
	}
	return s, nil
}

// New is Start for a test: it closes the server when the test ends, and fails tb if the server does not start or close.
func New(tb testing.TB, o *Options, steps ...Step) *Server {
	tb.Helper()
	s, err := Start(o, steps...)
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

func (s *Server) start() (err error) {
	s.opts.Scheme = cmp.Or(s.opts.Scheme, "ftp")
	if !slices.Contains([]string{"ftp", "ftpes", "ftps"}, s.opts.Scheme) {
		return fmt.Errorf("scheme %q is none of ftp, ftpes and ftps", s.opts.Scheme)
	}
	if s.link, err = newLink(&s.opts); err != nil {
		return err
	}
	if s.opts.Scheme != "ftp" || s.opts.TLSConfig != nil || s.steps != nil {
		if err := s.certify(); err != nil {
			return err
		}
	}
	if s.steps == nil {
		if err := s.plant(); err != nil {
			return err
		}
		s.steps = []Step{s.honest}
	}
	if s.listener, s.tcp, err = s.listen(); err != nil {
		return err
	}
	s.running.Go(s.serve)
	return nil
}

// listen returns a new listener and its address.
func (s *Server) listen() (net.Listener, *net.TCPAddr, error) {
	listen := s.opts.Listen
	if listen == nil {
		listen = listenAnywhere
	}
	l, err := listen()
	if err != nil {
		return nil, nil, err
	}
	if l == nil {
		return nil, nil, errors.New("no listener from Options.Listen")
	}
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		_ = l.Close()
		return nil, nil, fmt.Errorf("the address %v from Options.Listen is no *net.TCPAddr", l.Addr())
	}
	return l, addr, nil
}

// plant creates the tree.
func (s *Server) plant() error {
	switch served := s.opts.FS.(type) {
	case nil:
		s.files = afero.NewMemMapFs()
	case afero.IOFS:
		s.files = served.Fs
	default:
		if len(s.opts.Tree) > 0 {
			return errors.New("Options.Tree cannot add files to Options.FS: put them into one of the two")
		}
		s.files = rootless{afero.FromIOFS{FS: served}}
	}
	for name, contents := range s.opts.Tree {
		if err := s.add(name, contents); err != nil {
			return err
		}
	}
	for _, home := range s.opts.Home {
		if info, err := s.files.Stat(path.Clean(home)); err == nil && info.IsDir() {
			continue
		}
		if err := s.files.MkdirAll(path.Clean(home), 0o755); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) add(name, contents string) error {
	clean := path.Join("/", name)
	if strings.HasSuffix(name, "/") {
		return s.files.MkdirAll(clean, 0o755)
	}
	if err := s.files.MkdirAll(path.Dir(clean), 0o755); err != nil {
		return err
	}
	if err := afero.WriteFile(s.files, clean, []byte(contents), 0o644); err != nil {
		return err
	}
	if s.opts.ModTime.IsZero() {
		return nil
	}
	return s.files.Chtimes(clean, s.opts.ModTime, s.opts.ModTime)
}

// serve plays the steps on every connection.
func (s *Server) serve() {
	for {
		c, err := s.enter()
		if err != nil {
			return
		}
		s.running.Go(c.run)
		s.running.Go(func() {
			c.perform(newDialogue(c.Num, s.steps))
			c.waitEnd() // the connection stays until the client is gone
			s.leave(c.Num)
		})
	}
}

// enter waits for a client, and keeps its connection until leave.
func (s *Server) enter() (*Conn, error) {
	raw, err := s.listener.Accept()
	if err != nil {
		return nil, err
	}
	s.state.Lock()
	defer s.state.Unlock()
	s.conns++
	c := newConn(s, s.conns, raw)
	s.open[c.Num] = c
	if s.opts.Scheme == "ftps" {
		c.private = true
		c.startTLS(s.controlTLS)
	}
	if s.closed {
		c.abort()
	}
	return c, nil
}

// leave forgets a connection that has ended.
func (s *Server) leave(conn int) {
	s.state.Lock()
	defer s.state.Unlock()
	delete(s.open, conn)
}

// count returns how many of the connections up to conn are open, and the number of a transfer.
func (s *Server) count(conn int, transfer bool) (open, number int) {
	s.state.Lock()
	defer s.state.Unlock()
	if transfer {
		s.transfers++
		number = s.transfers
	}
	for n := range s.open {
		if n <= conn {
			open++
		}
	}
	return open, number
}

// OpenConnections returns how many control connections are open now: those whose client has not gone away yet.
func (s *Server) OpenConnections() int {
	s.state.Lock()
	defer s.state.Unlock()
	return len(s.open)
}

// Close stops the server, closes every connection and waits for the server's goroutines. It returns an error if they do
// not end in time, for example because a function of the caller blocks.
func (s *Server) Close() error {
	if s.listener == nil { // it was never started
		return nil
	}
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
		return errors.New("testserver: connections did not end: does a function of the caller block?")
	}
}

// Addr returns "host:port", IPv6 in brackets.
func (s *Server) Addr() string { return s.tcp.String() }

// URL returns "scheme://host:port" + path, without encoding path. A login may come before its first "/": "user@/path"
// or "user:password@/path".
func (s *Server) URL(path string) string {
	login := ""
	if i := strings.IndexByte(path, '/'); i > 0 {
		login, path = path[:i], path[i:]
	}
	return s.opts.Scheme + "://" + login + s.Addr() + path
}
