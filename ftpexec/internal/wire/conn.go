package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"
)

// Conn is the control connection of a session and its current data connection. One goroutine at a time may use it, but
// any goroutine may call Close, Abandon, Err and Ended.
type Conn struct {
	cfg    Config
	ctx    context.Context // of the current operation
	br     *bufio.Reader
	out    []Line // sent and not answered
	batch  int    // commands in the last flight
	flight int    // flights so far

	dataTLS  *tls.Config  // for data connections; nil: unencrypted
	listener net.Listener // active mode: where the server connects to next
	final    *Reply       // of the transfer, if it came in place of the preliminary one
	early    *Reply       // to the command that Ahead sent, if it came before the final one

	mu      sync.Mutex // guards the following against Close and the goroutine that opens the data connection
	conn    net.Conn
	data    *Data
	dataErr error // why data could not be opened
	broken  error // why the connection cannot be used any more
	closed  bool

	stopConnect context.CancelFunc // ends the dial or the TLS handshake
}

// New returns a Conn that is not connected yet; see [Conn.Connect].
func New(cfg Config) *Conn { return &Conn{cfg: cfg, ctx: context.Background()} }

// Begin starts an operation under ctx: the end of ctx closes both connections. The caller must call stop at the end of
// the operation.
func (c *Conn) Begin(ctx context.Context) (stop func()) {
	c.ctx = ctx
	c.mu.Lock()
	c.dataErr = nil // the failure of an earlier transfer does not concern this one
	c.mu.Unlock()
	end := context.AfterFunc(ctx, func() { c.Close() })
	return func() { end() }
}

// Connect opens the control connection and returns the greeting.
func (c *Conn) Connect() (r Reply, err error) {
	conn, err := c.dial(c.cfg.Address)
	if err == nil {
		through := ""
		if c.cfg.Proxied {
			through = c.cfg.Address + " through the proxy at "
		}
		c.Note("connected to " + through + conn.RemoteAddr().String())
		if c.cfg.ImplicitTLS {
			conn, err = c.handshake(conn)
		}
	}
	if err == nil {
		err = c.adopt(conn)
	}
	if err == nil {
		r, err = c.greeting()
	}
	return r, c.fail(err)
}

// dial opens a TCP connection within the connect timeout.
func (c *Conn) dial(address string) (net.Conn, error) {
	ctx, cancel := c.connecting()
	defer cancel()
	conn, err := c.cfg.Dial(ctx, "tcp", address)
	if err == nil {
		return conn, nil
	}
	if ended := c.Ended(); ended != nil {
		return nil, ended
	}
	if ctx.Err() != nil {
		return nil, timedOut("no connection", c.cfg.ConnectTimeout)
	}
	return nil, err
}

// connecting returns a context for a step of the connection's set-up. Close ends it.
func (c *Conn) connecting() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(c.ctx, c.cfg.ConnectTimeout)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopConnect = cancel; c.closed {
		cancel()
	}
	return ctx, cancel
}

// adopt makes conn the control connection, unless Close was called first.
func (c *Conn) adopt(conn net.Conn) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		conn.Close()
		return net.ErrClosed
	}
	c.conn, c.br = conn, bufio.NewReader(conn)
	return nil
}

// maxDelays bounds how often a server may say "ready in nnn minutes" (RFC 959 section 5.4).
const maxDelays = 8

// greeting waits for the 220 and passes over any 120.
func (c *Conn) greeting() (Reply, error) {
	for range maxDelays {
		r, err := c.read(c.cfg.Timeout)
		var closing *ReplyError
		switch {
		case errors.As(err, &closing):
			closing.Err = ErrConnect
			return r, closing
		case err != nil || r.OK():
			return r, err
		case r.First() == 3: // some servers send it; their replies to a flight cannot be trusted
			return r, &AheadError{syntaxError(r.String(), "no greeting")}
		case r.First() != 1:
			return r, &ReplyError{r, ErrConnect}
		}
	}
	return Reply{}, syntaxError("", "no greeting but delays")
}

// Note traces what the client does.
func (c *Conn) Note(text string) { c.trace(Noted, text) }

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
// connection is closed, a server ends its data in an orderly way, which looks like the end of the file. Ended checks the
// context that Begin was given, because that ends before anything that its end causes. Contexts derived from it end in
// any order.
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
	c.write([]Line{{Text: "QUIT", Shown: "QUIT"}})
	c.Close()
}

// Close closes both connections. Calls that are waiting on them return.
func (c *Conn) Close() error {
	c.mu.Lock()
	c.closed = true
	conn, data, stopConnect := c.conn, c.data, c.stopConnect
	c.mu.Unlock()
	var err error
	if stopConnect != nil {
		stopConnect()
	}
	if conn != nil {
		err = conn.Close()
	}
	if data != nil {
		data.Close()
	}
	return err
}

// IPv4 reports whether the control connection is over IPv4, which PASV and PORT require. Through a proxy it assumes
// IPv4 unless the host is an IPv6 address.
func (c *Conn) IPv4() bool {
	if c.cfg.Proxied {
		return !strings.Contains(c.cfg.Host, ":")
	}
	return c.conn != nil && c.RemoteAddr().IP.To4() != nil
}

// RemoteAddr returns the server's address, or the proxy's.
func (c *Conn) RemoteAddr() *net.TCPAddr { return tcpAddr(c.conn.RemoteAddr()) }

func tcpAddr(a net.Addr) *net.TCPAddr {
	if t, ok := a.(*net.TCPAddr); ok {
		return t
	}
	return &net.TCPAddr{}
}

// read reads one reply within limit and traces it. It returns 421 as an error.
func (c *Conn) read(limit time.Duration) (Reply, error) {
	if err := c.setReadDeadline(limit); err != nil {
		return Reply{}, err
	}
	r, err := readReply(c.br)
	quickAck(c.conn)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return r, c.late(limit)
	case errors.Is(err, io.EOF):
		return r, io.ErrUnexpectedEOF
	case err != nil:
		return r, c.masked(err)
	}
	r.Text = c.cfg.Secrets.Mask(r.Text)
	c.traceReply(r)
	if r.Code == 421 {
		return r, &ReplyError{r, ErrLost}
	}
	return r, nil
}

// setReadDeadline bounds the next read. The bound is short if the data connection has failed.
func (c *Conn) setReadDeadline(limit time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dataErr != nil {
		limit = min(limit, grace(c.dataErr))
	}
	return c.conn.SetReadDeadline(time.Now().Add(limit))
}

// late returns the error for a reply that did not come within limit.
func (c *Conn) late(limit time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dataErr != nil {
		return c.dataErr
	}
	return timedOut("no reply", limit)
}

var errStray = fmt.Errorf("%w: a reply without a command", ErrProtocol)
