package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"example.com/ftpfetch/internal/local/localfile"
)

// Line is a command as it is sent.
type Line struct {
	Text     string // without CR LF
	Arg      string // sent after Text and a space, if it is not ""
	Shown    string // what a trace shows in place of Text and Arg; "" if it shows them
	Transfer bool   // it starts a transfer: the reply may take longer
}

// shown returns the line as a trace shows it.
func (l Line) shown() string {
	switch {
	case l.Shown != "":
		return l.Shown
	case l.Arg != "":
		return l.Text + " " + l.Arg
	}
	return l.Text
}

// aheadTimeout bounds the wait for a reply after another one of its flight has come. A server that loses the commands
// after the first never replies to them.
const aheadTimeout = 10 * time.Second

// ErrUnsendable means a command with CR, LF or NUL in its argument, which would start another command.
var ErrUnsendable = errors.New("the argument contains CR, LF or NUL, which FTP cannot send")

// Send sends commands in one write, a flight. It first discards the replies that an earlier operation has left.
func (c *Conn) Send(flight ...Line) error {
	for len(c.out) > 0 {
		if _, err := c.Receive(); err != nil {
			return err
		}
	}
	if err := c.Err(); err != nil {
		return err
	}
	if c.br.Buffered() > 0 && !c.left.noop {
		return c.fail(c.stray())
	}
	c.lines = c.lines[:0]
	if c.left.noop && flight[0].Text != "EPSV" && flight[0].Text != "PASV" {
		c.lines = append(c.lines, Line{Text: "NOOP"})
	}
	c.lines = append(c.lines, flight...)
	c.flightSize = len(c.lines)
	c.ahead = c.ahead && slices.ContainsFunc(flight, func(l Line) bool { return l.Transfer })
	err := c.write(c.lines)
	c.out = c.lines[len(c.lines)-len(flight):]
	transfers := func(l Line) bool { return l.Transfer }
	if err == nil && c.data != nil && slices.ContainsFunc(flight, transfers) {
		c.data.sent()
	}
	return c.fail(c.lost(err))
}

func (c *Conn) write(flight []Line) error {
	const unsendable = "\r\n\x00"
	text := c.text[:0]
	for _, line := range flight {
		if strings.ContainsAny(line.Text, unsendable) || strings.ContainsAny(line.Arg, unsendable) {
			return ErrUnsendable
		}
		text = append(text, line.Text...)
		if line.Arg != "" {
			text = append(append(text, ' '), line.Arg...)
		}
		text = append(text, "\r\n"...)
	}
	c.text = text
	if c.tracer != nil {
		for i, line := range flight {
			c.tracer.Command(line.shown(), i > 0)
		}
	}
	_ = c.conn.SetWriteDeadline(time.Now().Add(c.cfg.Timeout))
	c.silent = false
	_, err := c.conn.Write(text)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return timedOut("command not accepted", c.cfg.Timeout)
	case errors.Is(err, io.EOF): // a tunnel
		return io.ErrUnexpectedEOF
	}
	return err
}

// Receive returns the reply to the oldest command that has not been answered.
func (c *Conn) Receive() (r Reply, err error) {
	if err = c.Err(); err != nil {
		return r, err
	}
	if err = c.synchronize(); err != nil {
		return r, err
	}
	if c.advanceReply != nil {
		r = *c.advanceReply
		c.advanceReply = nil
	} else {
		c.asked = c.out[0].Text
		c.ending = false
		r, err = c.answer(c.out[0].Transfer, c.patience())
	}
	if err == nil {
		c.out = c.out[1:]
	}
	return r, c.fail(c.lost(err))
}

// answer reads the reply to a command. The final reply of an earlier transfer answers no other command.
func (c *Conn) answer(transfer bool, limit time.Duration) (Reply, error) {
	r, err := c.read(limit)
	if c.left.skip {
		r, err = c.afterStrays(r, err, limit)
	}
	if err == nil {
		err = c.strayed(r)
	}
	if err == nil && !transfer && (r.Code == 226 || r.Code == 426) {
		err = Disorder(r)
	}
	return r, err
}

// Ask sends a command and returns its reply. A preliminary reply is an error. If informs is set, Ask waits less long,
// because the caller can do without the reply.
func (c *Conn) Ask(line string, informs bool) (Reply, error) {
	limit := c.cfg.Timeout
	if informs {
		limit = min(limit, aheadTimeout)
	}
	return c.AskFor(line, limit)
}

// AskFor is Ask for a command that the server may answer late: it waits up to limit for the reply.
func (c *Conn) AskFor(line string, limit time.Duration) (Reply, error) {
	if err := c.Send(Line{Text: line}); err != nil {
		return Reply{}, err
	}
	c.out = nil
	if err := c.synchronize(); err != nil {
		return Reply{}, err
	}
	c.asked = line
	c.ending = false
	r, err := c.answer(false, limit)
	switch {
	case err == nil && r.First() == 1:
		err = &ReplyError{r, ErrProtocol}
	case err == nil && c.br.Buffered() > 0:
		err = c.stray()
	}
	return r, c.fail(err)
}

func (c *Conn) patience() time.Duration {
	switch {
	case c.ahead && len(c.lines) < c.flightSize: // it is the reply to what Advance sent
		return min(c.cfg.Timeout, portTimeout)
	case len(c.out) < c.flightSize && !c.out[0].Transfer:
		return min(c.cfg.Timeout, aheadTimeout)
	}
	return c.cfg.Timeout
}

// portTimeout bounds the wait for the port that Advance has asked for, whose reply follows the final one at once, and for
// the data connection to it. A new connection costs less than more of either. Some routers lose the reply, or do not open
// the port, because they did not expect it.
const portTimeout = 2 * time.Second

// connectTimeout bounds the opening of the next data connection.
func (c *Conn) connectTimeout() time.Duration {
	if c.ahead {
		return min(c.cfg.ConnectTimeout, portTimeout)
	}
	return c.cfg.ConnectTimeout
}

// lost marks an error that commands sent ahead may have caused: with a flight of several commands, the connection ends,
// a reply is malformed, or replies stop after the first. If there is no first reply, the server just does not answer.
func (c *Conn) lost(err error) error {
	switch {
	case err == nil || c.flightSize < 2 || errors.As(err, new(*DataDialError)):
	case errors.Is(err, ErrTimeout) && len(c.out) < c.flightSize, errors.Is(err, ErrProtocol), disconnected(err):
		return &AheadError{explain(err)}
	}
	return err
}

// Transfer is what a data connection is opened for.
type Transfer interface {
	Send() error    // sends the command of the transfer
	Receive() error // receives the reply to it
}

// OpenData opens the data connection of a transfer. It dials port on host, or on the host of the
// control connection if host is "". After Listen it waits for the server to connect instead.
//
// It may return before the connection is open. Or it calls Send of transfer, and returns when the connection is open or
// has failed. If that takes long, another goroutine calls Receive meanwhile: a server that refuses a transfer need not
// accept the connection. OpenData then returns after Receive.
func (c *Conn) OpenData(host string, port int, transfer Transfer) (*Data, error) {
	d, address, err := c.startData(host, port)
	switch {
	case err != nil:
		return nil, err
	case address != "":
		if err := c.openHere(d, address, transfer); err != nil {
			return nil, err
		}
		if !c.here.unsent {
			return d, nil
		}
		err = d.err
	case d.socket != nil:
		select {
		case <-d.socket:
		case <-d.ready:
			err = d.err
		}
	}
	// No RETR without a socket: the server would wait for a connection that cannot come.
	if localfile.Failed(err) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.data = nil
		c.dataErr = nil
		return nil, err
	}
	return d, nil
}

// startData starts to open a data connection in another goroutine. If the connection can be opened in
// this one, startData leaves that to the caller and returns the address; otherwise the address is "".
func (c *Conn) startData(host string, port int) (d *Data, address string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		c.Unlisten()
		return nil, "", ErrLost
	}
	c.final = nil
	c.dataErr = nil
	if c.cfg.Direct && host == "" && c.listener == nil && c.dataTLS == nil && !c.remote() {
		c.data = c.newData(c.here.ready(c))
		remote := c.RemoteAddr().AddrPort().Addr()
		return c.data, netip.AddrPortFrom(remote, uint16(port)).String(), nil
	}
	switch {
	case host != "":
	case c.remote():
		host = c.cfg.Host
	default:
		host, _, _ = net.SplitHostPort(c.conn.RemoteAddr().String())
	}
	dial := c.cfg.Dial
	var socket chan struct{}
	if c.cfg.Direct && c.listener == nil {
		socket = make(chan struct{})
		dial = dialer(socket)
	}
	open := func(ctx context.Context) (net.Conn, error) {
		return dial(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	}
	if l := c.listener; l != nil {
		open = func(ctx context.Context) (net.Conn, error) { return c.accept(ctx, l) }
	}
	c.data = c.openData(c.ctx, socket, open)
	return c.data, "", nil
}

// dialer returns a function that dials a data connection and closes socket when there is one to connect. It sends no
// keep-alives: a data connection is never idle for long.
func dialer(socket chan struct{}) DialFunc {
	var once sync.Once
	made := func(string, string, syscall.RawConn) error {
		once.Do(func() { close(socket) })
		return nil
	}
	return (&net.Dialer{KeepAlive: -1, Control: made}).DialContext
}

// Listen opens a port for the server to connect to and returns its address. OpenData or Unlisten closes it.
func (c *Conn) Listen() (*net.TCPAddr, error) {
	c.Unlisten()
	local := tcpAddr(c.conn.LocalAddr()).IP
	l, err := new(net.ListenConfig).Listen(c.ctx, "tcp", net.JoinHostPort(local.String(), "0"))
	if err != nil {
		return nil, err
	}
	c.listener = l
	return &net.TCPAddr{IP: local, Port: tcpAddr(l.Addr()).Port}, nil
}

// Unlisten closes the port that Listen opened.
func (c *Conn) Unlisten() {
	if c.listener != nil {
		c.listener.Close()
		c.listener = nil
	}
}

// accept waits for a connection from the server's address and closes all others.
func (c *Conn) accept(ctx context.Context, l net.Listener) (net.Conn, error) {
	defer l.Close()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	for {
		conn, err := l.Accept()
		if err != nil {
			return nil, err
		}
		if tcpAddr(conn.RemoteAddr()).IP.Equal(c.RemoteAddr().IP) {
			return conn, nil
		}
		conn.Close()
	}
}

// Began tells c that the server has accepted the command of a transfer with r. Some servers leave out the preliminary
// reply; then r is the final one, before or after the data.
func (c *Conn) Began(r Reply, listing bool) {
	if r.OK() {
		final := r
		c.final = &final
		c.data.finished = true
	}
	if listing {
		c.data.listing = true
		c.data.left = c.cfg.MaxListing
	}
}

// Finish returns the final reply of a transfer whose data has ended. After one that is not positive the connection
// cannot be used again, because servers may send several (426, 226). Every transfer must end with Finish. If alone is
// set, only the reply shows that the data is whole. Replies that have come after it then count too (226, 426).
func (c *Conn) Finish(alone bool) (Reply, error) {
	if err := c.Err(); err != nil {
		return Reply{}, err
	}
	if c.data.listing && !c.data.ended {
		return Reply{}, c.fail(ErrListing)
	}
	r, err := c.finalReply()
	for range maxDelays {
		if err != nil || !alone || !r.Ends() || c.br.Buffered() == 0 {
			break
		}
		r, err = c.readFinal(c.cfg.Timeout)
	}
	if err == nil {
		err = c.Ended()
	}
	if err == nil {
		err = c.ends(r, alone)
	}
	return r, c.fail(err)
}

// Advance sends the EPSV or PASV of the next transfer after the data of this one has ended, before Finish. The next
// Receive returns its reply. Finish or Receive returns an error of Advance.
func (c *Conn) Advance(line Line) {
	c.lines = append(c.lines[:0], line)
	c.out = c.lines
	c.flightSize = 2 // RETR was the first of the flight: Receive waits as for commands sent ahead
	c.ahead = true
	_ = c.write(c.out)
}

// refusals are the codes with which a server may refuse EPSV or PASV because a transfer is not over. A server reports
// the failure of a transfer whose data has come with other codes: 426, 451, 551 and so on.
var refusals = []int{425, 450, 500, 501, 502, 503, 504, 522, 530}

// finalReply returns the final reply of the transfer. Some servers first answer the command that Advance sent: with a
// port, or with a refusal. A refusal counts as that answer only if a positive final reply follows. After a port the
// connection cannot be used again: replies are out of order, and the next one may be too.
func (c *Conn) finalReply() (Reply, error) {
	if c.final != nil {
		return *c.final, nil
	}
	first, err := c.readFinal(c.cfg.Timeout)
	if err != nil || len(c.out) == 0 || !first.opens() && !slices.Contains(refusals, first.Code) {
		return first, err
	}
	limit := c.cfg.Timeout
	if !first.opens() {
		limit = min(limit, aheadTimeout)
	}
	final, err := c.readFinal(limit)
	if !first.opens() && (err != nil || !final.OK() || final.opens()) {
		return first, nil
	}
	if first.opens() {
		c.fail(Disorder(first))
		return final, err
	}
	early := first
	c.advanceReply = &early
	return final, err
}

// readFinal reads a reply and passes over preliminary ones, such as restart markers (RFC 959 section 5.4).
func (c *Conn) readFinal(limit time.Duration) (Reply, error) {
	c.ending = true
	for range maxDelays {
		if r, err := c.read(limit); err != nil || r.First() != 1 {
			return r, err
		}
	}
	return Reply{}, senseless("no final reply but preliminary ones", "")
}

// grace returns how long Conn waits for a reply after the data connection has failed with err. A server that refuses a
// transfer may close its data port before its reply arrives. The reply cannot explain a failure on this machine.
func grace(err error) time.Duration {
	if localfile.Failed(err) {
		return 0
	}
	return time.Second
}

// DataFailure ends the data connection of a transfer that the server has refused, and returns why it could not be
// opened.
func (c *Conn) DataFailure() error {
	c.mu.Lock()
	d := c.data
	c.mu.Unlock()
	if d == nil {
		return nil
	}
	d.Close()
	return d.err
}

// dataFailed shortens the wait for a reply, because the server may wait for the data connection in vain.
func (c *Conn) dataFailed(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dataErr = err
	c.conn.SetReadDeadline(time.Now().Add(grace(err)))
}
