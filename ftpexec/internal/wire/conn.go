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

// Conn is the connections of a session. It belongs to one goroutine; Close, Abandon, Err and Ended may be called
// from any.
type Conn struct {
	cfg    Config
	ctx    context.Context // of the operation under way
	br     *bufio.Reader
	out    []Line // sent, and not answered
	batch  int    // commands in the last flight
	flight int    // flights so far

	dataTLS  *tls.Config  // for data connections; nil in clear
	listener net.Listener // active mode: where the server connects to next
	final    *Reply       // of the transfer, where it came in place of the preliminary one

	mu      sync.Mutex // guards the following, and the setting of conn, against Close and the data connection
	conn    net.Conn
	data    *Data
	dataErr error // why data could not be opened
	broken  error // why the connection cannot go on
	closed  bool
}

// New returns a connection that is not made yet; see [Conn.Connect].
func New(cfg Config) *Conn { return &Conn{cfg: cfg, ctx: context.Background()} }

// Begin puts what follows under ctx: its end closes both connections. The caller calls stop when the operation is
// over.
func (c *Conn) Begin(ctx context.Context) (stop func()) {
	c.ctx = ctx
	c.mu.Lock()
	c.dataErr = nil // an earlier transfer's failure is no affair of this one
	c.mu.Unlock()
	end := context.AfterFunc(ctx, func() { c.Close() })
	return func() { end() }
}

// Connect opens the control connection, up to the greeting, and returns that.
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
	ctx, cancel := context.WithTimeout(c.ctx, c.cfg.ConnectTimeout)
	defer cancel()
	conn, err := c.cfg.Dial(ctx, "tcp", address)
	if err != nil && ctx.Err() != nil && c.ctx.Err() == nil {
		return nil, timedOut("no connection", c.cfg.ConnectTimeout)
	}
	return conn, err
}

// adopt takes conn as the control connection, unless Close came first.
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

// greeting waits for the 220, past any 120.
func (c *Conn) greeting() (Reply, error) {
	for range maxDelays {
		r, err := c.read(c.cfg.ReplyTimeout)
		var closing *ReplyError
		switch {
		case errors.As(err, &closing):
			closing.Err = ErrConnect
			return r, closing
		case err != nil || r.OK():
			return r, err
		case r.First() == 3: // seen from servers that mistake their own input; what they answer to a flight cannot be trusted
			return r, &AheadError{syntaxError(r.String(), "no greeting")}
		case r.First() != 1:
			return r, &ReplyError{r, ErrConnect}
		}
	}
	return Reply{}, syntaxError("", "no greeting but delays")
}

// Note traces what the client does.
func (c *Conn) Note(text string) { c.trace(EventNote, text) }

// Abandon closes the connection; every further use of it fails with err, or with what failed before.
func (c *Conn) Abandon(err error) {
	c.fail(err)
	c.Close()
}

// fail keeps the first error, and returns it: nothing that comes after it can be trusted. nil is none.
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

// Err returns why the connection cannot be used any more; nil while it can.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.broken
}

// Ended returns what ended the operation before its own end: the cause of its context, or [ErrLost] after Close; nil
// where neither has happened. An end of data is believed only where Ended, called after that end and after the final
// reply, returns nil. Closing the control connection makes a server end its data in an orderly way, which looks like
// the end of the file. The context is the one that Begin was given: its end precedes what it causes, whereas contexts
// derived from it end in any order.
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

// Quit says goodbye, which may fail, and closes the connection.
func (c *Conn) Quit() {
	c.write([]Line{{Text: "QUIT", Shown: "QUIT"}})
	c.Close()
}

// Close ends both connections at once. What waits on them returns.
func (c *Conn) Close() error {
	c.mu.Lock()
	c.closed = true
	conn, data := c.conn, c.data
	c.mu.Unlock()
	var err error
	if conn != nil {
		err = conn.Close()
	}
	if data != nil {
		data.Close()
	}
	return err
}

// IPv4 reports whether the control connection is over IPv4, as PASV needs. Through a proxy only an IPv6 address as
// the host tells that it is not.
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

// read reads one reply, within limit, and traces it.
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
	r.Text = c.cfg.Secrets.mask(r.Text)
	c.traceReply(r)
	if r.Code == 421 {
		return r, &ReplyError{r, ErrLost}
	}
	return r, nil
}

// setReadDeadline bounds the next read, more tightly where the data connection has failed.
func (c *Conn) setReadDeadline(limit time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dataErr != nil {
		limit = min(limit, dataErrGrace)
	}
	return c.conn.SetReadDeadline(time.Now().Add(limit))
}

// late is the error for a reply that did not come within limit.
func (c *Conn) late(limit time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dataErr != nil {
		return c.dataErr
	}
	return timedOut("no reply", limit)
}

var errStray = fmt.Errorf("%w: a reply that nothing was asked for", ErrProtocol)
