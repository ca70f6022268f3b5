package wire

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Placeholder is the password that the library is given. PASS leaves with what Config.Password returns.
const Placeholder = "-"

// aheadTimeout bounds the wait for a reply once another one of its flight has come. A server that loses
// what stands behind a command never answers it.
const aheadTimeout = 10 * time.Second

// Control is a control connection, made to be the net.Conn under jlaffaye/ftp: what the library writes are
// commands, what it reads are replies. It belongs to one goroutine; [Control.Close] may come from any.
type Control struct {
	cfg  Config
	ctx  context.Context // of the operation under way; a net.Conn's methods take none
	conn net.Conn
	br   *bufio.Reader

	// What the library sees.
	in    []byte       // written, not yet a whole line
	out   bytes.Buffer // to be read
	asked string       // the command whose reply it reads next; "" for none

	// What the server sees.
	script     [][]string // flights to come
	sequential bool       // send one command, wait for its reply
	oneByOne   bool       // sequential for good: this server needs it
	ahead      []string   // sent and not answered
	stale      int        // the first of ahead, which an earlier operation left: nobody will ask for them
	answers    []answer   // received and not asked for
	batch      int        // commands in the last write; 0 once all are answered
	flight     int        // writes so far

	loginType bool        // the next TYPE I is the library's Login's own
	transfer  string      // RETR, NLST, ...: its final reply is due; "" for none
	final     *Reply      // the final reply, where it came in place of the preliminary one
	last      Last        // the command asked last, and its reply
	ended     *Reply      // the final reply of the last transfer, once it has come
	dataTLS   *tls.Config // for data connections; nil in clear

	passive  bool         // PASV was used
	listener net.Listener // active mode: where the server connects to next

	mu      sync.Mutex // guards the following, and the setting of conn, against Close and the data connection
	data    *Data
	dataErr error // why data could not be opened
	broken  error // why the connection cannot go on
	closed  bool
}

// answer is a reply that the library has not asked for yet.
type answer struct {
	line  string // the command
	text  string // the reply as the library wants it
	reply Reply
}

// New returns a control connection that is dialled when the library calls its DialFunc.
func New(cfg Config) *Control {
	if cfg.Secrets == nil {
		cfg.Secrets = new(Secrets)
	}
	return &Control{cfg: cfg, ctx: context.Background()}
}

// Begin puts the following commands and their transfer under ctx: its end closes both connections. flights
// are the commands to come, in the order of sending, those of one flight in one write; sequential sends them
// in the same order one at a time. The caller calls end when the operation is over.
func (c *Control) Begin(ctx context.Context, flights [][]string, sequential bool) (end func()) {
	c.ctx, c.script, c.sequential = ctx, flights, sequential || c.oneByOne
	c.answers, c.last, c.ended, c.stale = nil, Last{}, nil, len(c.ahead)
	c.forgetData()
	stop := context.AfterFunc(ctx, func() { c.Close() })
	return func() { stop() }
}

// Last is what the library asked last.
type Last struct {
	Verb  string
	Reply *Reply // nil: none came
}

// Last returns the command that the library asked last, and the server's reply.
func (c *Control) Last() Last { return c.last }

// Final returns the final reply of the last transfer; nil until it has come.
func (c *Control) Final() *Reply { return c.ended }

// Abandon closes the connection; every further use of it fails with err, or with what failed before. It may be
// called from any goroutine.
func (c *Control) Abandon(err error) {
	c.fail(err)
	c.Close()
}

// Err returns why the connection cannot be used any more; nil while it can.
func (c *Control) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.broken
}

// Ended returns what ended the operation before its own end: the cause of its context, or [net.ErrClosed] after
// Close; nil where neither has happened. An end of data is believed only where Ended, called after that end and
// after the final reply, returns nil. Closing the control connection makes a server end its data in an orderly
// way, which looks like the end of the file. The context is the one that Begin was given: its end precedes what
// it causes, whereas contexts derived from it end in any order.
func (c *Control) Ended() error {
	if c.ctx.Err() != nil {
		return context.Cause(c.ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	return nil
}

// Secure reports whether the control connection is under TLS.
func (c *Control) Secure() bool { return c.dataTLS != nil }

// Data returns the data connection opened last, or nil.
func (c *Control) Data() *Data { return c.data }

// DialFunc is the library's: the first call opens the control connection, every later one a data connection.
func (c *Control) DialFunc(_, address string) (net.Conn, error) {
	if c.conn == nil {
		if err := c.connect(); err != nil {
			return nil, c.fail(err)
		}
		return c, nil
	}
	return c.dialData(address)
}

// Write takes commands from the library.
func (c *Control) Write(p []byte) (int, error) {
	c.in = append(c.in, p...)
	for {
		line, rest, ok := bytes.Cut(c.in, []byte("\r\n"))
		if !ok {
			return len(p), nil
		}
		c.in = rest
		if err := c.command(string(line)); err != nil {
			return 0, c.fail(err)
		}
	}
}

// Read gives replies to the library.
func (c *Control) Read(p []byte) (int, error) {
	if c.out.Len() == 0 {
		if err := c.await(); err != nil {
			return 0, c.fail(err)
		}
	}
	return c.out.Read(p)
}

// Ask sends a command that the library does not know, and returns its reply.
func (c *Control) Ask(line string) (Reply, error) { return c.askWithin(line, c.cfg.ReplyTimeout) }

// Probe is [Control.Ask] where the answer only informs: it is not waited for so long.
func (c *Control) Probe(line string) (Reply, error) {
	return c.askWithin(line, min(c.cfg.ReplyTimeout, aheadTimeout))
}

func (c *Control) askWithin(line string, limit time.Duration) (Reply, error) {
	err := c.Err()
	if err == nil {
		err = c.settle()
	}
	if err != nil {
		return Reply{}, c.fail(err)
	}
	r, err := c.exchangeWithin(line, limit)
	if err != nil {
		return r, c.fail(err)
	}
	return r, nil
}

// command answers by itself what the library asks on its own account, and asks the server the rest.
func (c *Control) command(line string) error {
	if err := c.Err(); err != nil {
		return err
	}
	verb, _, _ := strings.Cut(line, " ")
	switch {
	case verb == "FEAT" && !c.cfg.UTF8:
		c.loginType = true
		return c.answer(features(false))
	case line == "TYPE I" && c.loginType:
		c.loginType = false
		return c.answer("200 image type is asked for when it is needed")
	case verb == "EPSV" && c.cfg.Listen != nil:
		return c.active()
	case verb == "EPSV" && c.cfg.NoEPSV && c.IPv4():
		return c.answer("502 not used on this host")
	case verb == "PASV" && c.cfg.Listen != nil:
		return c.answer("502 active mode was asked for")
	case verb == "PASV" && !c.IPv4():
		return c.answer("522 PASV is for IPv4")
	case verb == "QUIT":
		return c.write([]string{line})
	}
	c.passive = c.passive || verb == "PASV"
	c.loginType = verb == "FEAT"
	return c.ask(line)
}

// answer gives the library a reply of our own.
func (c *Control) answer(text string) error {
	c.asked = ""
	c.out.WriteString(text + "\r\n")
	return nil
}

// await reads from the server until the library has what it waits for.
func (c *Control) await() error {
	if err := c.Err(); err != nil {
		return err
	}
	line := c.asked
	c.asked = ""
	switch {
	case line != "":
		verb, _, _ := strings.Cut(line, " ")
		c.last = Last{Verb: verb}
		a, err := c.answerTo(line)
		if err != nil {
			return err
		}
		c.last.Reply = &a.reply
		return c.answer(a.text)
	case c.transfer != "":
		return c.finish()
	}
	return errors.New("no reply is due")
}

// fail keeps the first error: nothing that comes after it can be trusted.
func (c *Control) fail(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken == nil {
		c.broken = err
	}
	return c.broken
}

// Close ends both connections at once. What waits on them returns.
func (c *Control) Close() error {
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

// adopt takes conn as the control connection, unless Close came first.
func (c *Control) adopt(conn net.Conn) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		conn.Close()
		return net.ErrClosed
	}
	c.conn, c.br = conn, bufio.NewReader(conn)
	return nil
}

// RemoteAddr returns the server's address; the library insists on a *net.TCPAddr.
func (c *Control) RemoteAddr() net.Addr { return tcpAddr(c.conn.RemoteAddr()) }

// LocalAddr returns this end's address.
func (c *Control) LocalAddr() net.Addr { return tcpAddr(c.conn.LocalAddr()) }

// SetDeadline does nothing: the bounds are set here, for every reply. So do the other two.
func (c *Control) SetDeadline(time.Time) error { return nil }

// SetReadDeadline does nothing.
func (c *Control) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing.
func (c *Control) SetWriteDeadline(time.Time) error { return nil }

// IPv4 reports whether the control connection is over IPv4, as PASV needs. Behind a proxy only an IPv6
// address as the host tells that it is not.
func (c *Control) IPv4() bool {
	if c.cfg.Proxied {
		return !strings.Contains(c.cfg.Host, ":")
	}
	return c.conn != nil && tcpAddr(c.conn.RemoteAddr()).IP.To4() != nil
}

// PASVMayHelp reports whether a data port that cannot be reached was one of EPSV, where PASV could have been used.
func (c *Control) PASVMayHelp() bool { return c.IPv4() && !c.passive }

func tcpAddr(a net.Addr) *net.TCPAddr {
	if t, ok := a.(*net.TCPAddr); ok {
		return t
	}
	return &net.TCPAddr{}
}

// read reads one reply, within limit, and traces it.
func (c *Control) read(limit time.Duration) (Reply, error) {
	if err := c.setReadDeadline(limit); err != nil {
		return Reply{}, err
	}
	r, err := readReply(c.br)
	quickAck(c.conn)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return r, c.timeout(limit)
	case errors.Is(err, io.EOF):
		return r, io.ErrUnexpectedEOF
	case err != nil:
		return r, c.masked(err)
	}
	r.Text = c.mask(r.Text)
	c.traceReply(r)
	if r.Code == 421 {
		return r, &ReplyError{r}
	}
	return r, nil
}

// ReplyError is a reply that ends the connection.
type ReplyError struct{ Reply Reply }

func (e *ReplyError) Error() string { return e.Reply.String() }

// write sends lines in one write: a flight. The placeholder of PASS becomes the password here.
func (c *Control) write(lines []string) error {
	var b bytes.Buffer
	for _, line := range lines {
		secret, err := c.secret(line)
		if err != nil {
			return err
		}
		b.WriteString(secret + "\r\n")
	}
	c.flight++
	for _, line := range lines {
		c.trace(EventCommand, c.shown(line))
	}
	if err := c.conn.SetWriteDeadline(time.Now().Add(c.cfg.ReplyTimeout)); err != nil {
		return err
	}
	_, err := c.conn.Write(b.Bytes())
	if err == nil && c.data != nil && slices.ContainsFunc(lines, transfers) {
		c.data.begun()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return timedOut("command not taken", c.cfg.ReplyTimeout)
	}
	return err
}

// transfers reports a command that moves data.
func transfers(line string) bool {
	verb, _, _ := strings.Cut(line, " ")
	return verb == "RETR" || verb == "NLST"
}

// known reports whether line was sent already, in this operation.
func (c *Control) known(line string) bool {
	return slices.Contains(c.ahead[c.stale:], line) ||
		slices.ContainsFunc(c.answers, func(a answer) bool { return a.line == line })
}
