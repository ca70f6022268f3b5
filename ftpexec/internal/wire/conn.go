// Package wire provides the connections of an FTP session: the control connection, which sends flights of commands and
// receives their replies in order, and the data connection of a transfer.
//
// It bounds every wait and every reply, protects both connections with TLS, opens data connections without waiting for
// them, and traces the dialogue with secrets masked. The caller decides which commands are sent and what their replies
// mean.
package wire

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"example.com/ftpfetch/internal/network/tcp"
)

// DialFunc opens a connection, as [net.Dialer.DialContext] does.
type DialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// Config configures a Conn. It must not be changed while in use.
type Config struct {
	Host    string // the name or address to resolve, and the name that a certificate must be for
	Address string // host:port of the control connection
	Dial    DialFunc
	Direct  bool // Dial is a net.Dialer with its defaults
	Proxied bool // Dial goes through a proxy, whose address the connections have

	Greets      bool        // a late greeting is not taken for a wait for TLS
	ImplicitTLS bool        // TLS from the first byte
	TLSConfig   *tls.Config // a private copy with ServerName and its own session cache; nil without TLS

	ConnectTimeout time.Duration // for each TCP connect, and the TLS handshake of the control connection
	Timeout        time.Duration // for each reply, and the longest time without a byte of data
	MinRate        int64         // of data, in bytes per second over each RateTime; 0 means no limit
	RateTime       time.Duration

	MaxListing int64 // the most bytes of a listing; each line counts lineCost more

	Secrets *Secrets // to be masked in every text
}

// Tracer gets the events of a control connection. Texts have no CR LF, and no secrets.
type Tracer interface {
	Connected(remote string, proxied bool) // remote is the address of the server, or of a proxy
	Secured(tls.ConnectionState)
	Command(text string, joined bool) // joined: in the same flight as the command before it
	Reply(Reply)
	Note(text string) // what the client does or decides
	Closed(err error) // why the connection cannot be used; nil if it can
}

// Conn is the control connection of a session and its current data connection. One goroutine at a time may use it, but
// any goroutine may call Close, Abandon, Err and Ended.
type Conn struct {
	cfg        Config
	ctx        context.Context // of the current operation
	br         *lineReader
	quickAck   func()        // acknowledges what has been read
	silent     bool          // nothing has been sent since the last reply came
	asked      string        // the command whose reply is read; "" for the greeting
	ending     bool          // the reply ends a transfer
	limit      time.Duration // for the next line of that reply
	begun      func()        // called when the first line of a reply of several has come
	last       time.Time     // when all of its lines must have come; zero if it has one line so far
	out        []Line        // sent and not answered: the end of lines
	lines      []Line        // the last flight
	text       []byte        // the last flight as sent; a buffer
	flightSize int           // commands in the last flight
	timers     bool          // the connections of Dial do not support deadlines

	here         here         // opens data connections in the caller's goroutine
	dataTLS      *tls.Config  // for data connections; nil: no TLS
	clearData    bool         // no TLS on data connections, in spite of dataTLS
	listener     net.Listener // active mode: where the server connects to next
	final        *Reply       // of the transfer, if it came in place of the preliminary one
	advanceReply *Reply       // to the command that Advance sent, if it came before the final one
	ahead        bool         // the port of the next data connection is the one that Advance asked for
	left         leaving

	mu      sync.Mutex // guards the following against Close and the goroutine that opens the data connection
	tracer  Tracer     // may be nil
	conn    net.Conn
	data    *Data
	dataErr error // why data could not be opened
	broken  error // why the connection cannot be used any more
	closed  bool
}

// New returns a Conn that is not connected yet; see [Conn.Connect].
func New(cfg Config) *Conn { return &Conn{cfg: cfg, ctx: context.Background(), begun: func() {}} }

// Begin starts an operation under ctx: the end of ctx closes both connections. The caller calls stop when the operation
// ends.
func (c *Conn) Begin(ctx context.Context) (stop func()) {
	c.ctx = ctx
	c.mu.Lock()
	c.dataErr = nil // the failure of an earlier transfer does not concern this one
	c.mu.Unlock()
	if ctx.Done() == nil {
		return func() {}
	}
	end := context.AfterFunc(ctx, c.Close)
	return func() {
		if !end() { // Close may come later
			c.fail(ErrLost)
		}
	}
}

// Connect opens the control connection and returns the greeting.
func (c *Conn) Connect() (r Reply, err error) {
	var conn net.Conn
	err = c.setUp("no connection", func(ctx context.Context) (err error) {
		conn, err = opened(c.cfg.Dial(ctx, "tcp", c.cfg.Address))
		return err
	})
	if err == nil {
		c.timers = conn.SetReadDeadline(time.Time{}) != nil
		conn = c.bounded(conn)
		if c.tracer != nil {
			c.tracer.Connected(conn.RemoteAddr().String(), c.cfg.Proxied)
		}
		if c.cfg.ImplicitTLS {
			conn, err = c.handshake(conn)
			if IsOneOf(err, io.EOF, syscall.ECONNRESET) {
				err = fmt.Errorf("%w%.0w", err, ErrLost) // as before a greeting
			}
		}
	}
	if err == nil {
		err = c.adopt(conn)
	}
	if err == nil {
		r, err = c.greeting()
		if disconnected(err) {
			err = fmt.Errorf("the server closed it before the greeting: %w", explain(err))
		}
	}
	return r, c.fail(err)
}

// setUp does a step of the connection's set-up within the connect timeout, and no longer than the operation may take.
func (c *Conn) setUp(missing string, step func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(c.ctx, c.cfg.ConnectTimeout)
	defer cancel()
	err := step(ctx)
	if err != nil && ctx.Err() != nil {
		err = cmp.Or(c.Ended(), timedOut(missing, c.cfg.ConnectTimeout))
	}
	return err
}

// adopt makes conn the control connection, unless Close was called first.
func (c *Conn) adopt(conn net.Conn) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		conn.Close()
		return net.ErrClosed
	}
	c.conn = conn
	c.br = &lineReader{Reader: bufio.NewReader(conn), more: c.goesOn}
	c.quickAck = tcp.QuickAck(conn)
	return nil
}

// maxDelays bounds how often a server may say "ready in nnn minutes" (RFC 959 section 5.4).
const maxDelays = 8

func (c *Conn) greeting() (Reply, error) {
	c.begun = c.tryTLS()
	for range maxDelays {
		r, err := c.read(c.cfg.Timeout)
		c.begun()
		c.begun = func() {}
		var closing *ReplyError
		switch {
		case errors.As(err, &closing):
			closing.Err = ErrConnect
			return r, closing
		case err != nil || r.OK():
			return r, err
		case r.First() == 3: // some servers send it; their replies to a flight cannot be trusted
			return r, &AheadError{senseless("no greeting", r.String())}
		case r.First() != 1:
			return r, &ReplyError{r, ErrConnect}
		}
	}
	return Reply{}, senseless("no greeting but delays", "")
}

// Trace passes the further events to a Tracer, or to none if it is nil.
func (c *Conn) Trace(t Tracer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tracer = t
}

// Note traces what the client does.
func (c *Conn) Note(text string) {
	if c.tracer != nil {
		c.tracer.Note(text)
	}
}

// Abandon closes the connection. Every further use of it fails with err, or with an earlier error.
func (c *Conn) Abandon(err error) {
	c.fail(err)
	c.Close()
}

// fail keeps the first error and returns it, because nothing after it can be trusted. It returns nil for nil.
func (c *Conn) fail(err error) error {
	if err == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken == nil {
		c.broken = explain(err)
	}
	return c.broken
}

// Err returns why the connection cannot be used any more, or nil if it can.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.broken
}

// Ended returns what interrupted the operation: the cause of its context, or [ErrLost] after Close, or nil. The end of
// data counts as the end of the file only if Ended returns nil after it and after the final reply. If the control
// connection is closed, a server ends its data in an orderly way, which looks like the end of the file. Ended checks
// the context that Begin was given, because that ends before anything that its end causes. Contexts derived from it end
// in any order.
func (c *Conn) Ended() error {
	if c.ctx.Err() != nil {
		return context.Cause(c.ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrLost
	}
	return nil
}

// Quit sends QUIT, ignores any error, and closes the connection.
func (c *Conn) Quit() {
	c.write([]Line{{Text: "QUIT"}})
	c.Close()
}

// Close closes both connections. Calls that are waiting on them return.
func (c *Conn) Close() {
	c.mu.Lock()
	first := !c.closed
	c.closed = true
	conn := c.conn
	data := c.data
	tracer := c.tracer
	broken := c.broken
	c.mu.Unlock()
	if first && conn != nil && tracer != nil {
		tracer.Closed(broken)
	}
	if conn != nil {
		conn.Close()
	}
	if data != nil {
		data.Close()
	}
}

// IPv4 reports whether the control connection is over IPv4, which PASV and PORT require. If only the other end of a
// proxy or tunnel knows, IPv4 assumes so unless the host is an IPv6 address.
func (c *Conn) IPv4() bool {
	switch {
	case c.conn == nil:
		return false
	case c.remote():
		return !strings.Contains(c.cfg.Host, ":")
	}
	return c.RemoteAddr().IP.To4() != nil
}

// Peer returns the address of the server's machine; "" if the connection was not opened, or if its address is not known.
func (c *Conn) Peer() string {
	c.mu.Lock()
	open := c.conn != nil
	c.mu.Unlock()
	if !open || c.remote() {
		return ""
	}
	return c.RemoteAddr().IP.String()
}

// At reports whether address, an IPv4 address, is the server's, or whether the server's is not known.
func (c *Conn) At(address string) bool {
	return !c.IPv4() || c.remote() || c.RemoteAddr().IP.Equal(net.ParseIP(address))
}

// remote reports whether the address of the control connection is not the server's: it is a proxy's, or not a TCP
// address.
func (c *Conn) remote() bool {
	ip := c.RemoteAddr().IP
	return c.cfg.Proxied || ip == nil || ip.IsUnspecified()
}

// Remote returns the address of the other end, and Proxied reports whether it is a proxy.
func (c *Conn) Remote() string { return c.conn.RemoteAddr().String() }
func (c *Conn) Proxied() bool  { return c.cfg.Proxied }

// RemoteAddr returns the server's address, or the proxy's.
func (c *Conn) RemoteAddr() *net.TCPAddr { return tcpAddr(c.conn.RemoteAddr()) }

func tcpAddr(a net.Addr) *net.TCPAddr {
	if t, ok := a.(*net.TCPAddr); ok {
		return t
	}
	return &net.TCPAddr{}
}
