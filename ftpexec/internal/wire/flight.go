package wire

import (
	"errors"
	"os"
	"slices"
	"strings"
	"time"
)

// Line is a command as it is sent.
type Line struct {
	Text     string // without CR LF
	Shown    string // Text as a trace shows it
	Transfer bool   // it starts a transfer: the reply may take longer
}

// aheadTimeout bounds the wait for a reply after another one of its flight has come. A server that loses the commands
// after the first never replies to them.
const aheadTimeout = 10 * time.Second

// ErrUnsendable means a command with CR, LF or NUL in its argument, which would start another command.
var ErrUnsendable = errors.New("the argument contains CR, LF or NUL, which FTP cannot send")

// Send sends commands in one write, a flight. It first receives and discards the replies that an earlier operation has
// left.
func (c *Conn) Send(flight ...Line) error {
	for len(c.out) > 0 {
		if _, err := c.Receive(); err != nil {
			return err
		}
	}
	if err := c.Err(); err != nil {
		return err
	}
	if c.br.Buffered() > 0 {
		return c.fail(errStray)
	}
	c.out, c.flightSize = flight, len(flight)
	err := c.write(flight)
	if err == nil && c.data != nil && slices.ContainsFunc(flight, func(l Line) bool { return l.Transfer }) {
		c.data.sent()
	}
	return c.fail(c.lost(err))
}

func (c *Conn) write(flight []Line) error {
	text := make([]byte, 0, 256)
	for _, line := range flight {
		if strings.ContainsAny(line.Text, "\r\n\x00") {
			return ErrUnsendable
		}
		text = append(append(text, line.Text...), "\r\n"...)
	}
	mark := ">"
	for _, line := range flight {
		c.trace(mark, line.Shown)
		mark = ">>"
	}
	err := c.conn.SetWriteDeadline(time.Now().Add(c.cfg.Timeout))
	if c.silent = false; err == nil {
		_, err = c.conn.Write(text)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return timedOut("command not accepted", c.cfg.Timeout)
	}
	return err
}

// Receive returns the reply to the oldest command that has not been answered.
func (c *Conn) Receive() (r Reply, err error) {
	if err = c.Err(); err != nil {
		return r, err
	}
	if c.advanceReply != nil {
		r, c.advanceReply = *c.advanceReply, nil
	} else {
		r, err = c.answer(c.out[0].Transfer, c.patience())
	}
	if err == nil {
		c.out = c.out[1:]
	}
	return r, c.fail(c.lost(err))
}

// answer reads the reply to a command. The end of a transfer that has ended already answers no other command.
func (c *Conn) answer(transfer bool, limit time.Duration) (Reply, error) {
	r, err := c.read(limit)
	if err == nil && !transfer && (r.Code == 226 || r.Code == 426) {
		err = errStray
	}
	return r, err
}

// Ask sends a command and returns its reply. A preliminary reply is an error. If informs is set Ask waits less long:
// the caller can do without the reply.
func (c *Conn) Ask(line string, informs bool) (Reply, error) {
	if err := c.Send(Line{Text: line, Shown: line}); err != nil {
		return Reply{}, err
	}
	limit := c.cfg.Timeout
	if informs {
		limit = min(limit, aheadTimeout)
	}
	c.out = nil
	r, err := c.answer(false, limit)
	switch {
	case err == nil && r.First() == 1:
		err = &ReplyError{r, ErrProtocol}
	case err == nil && c.br.Buffered() > 0:
		err = errStray
	}
	return r, c.fail(err)
}

// patience returns the timeout for the next reply.
func (c *Conn) patience() time.Duration {
	if len(c.out) < c.flightSize && !c.out[0].Transfer {
		return min(c.cfg.Timeout, aheadTimeout)
	}
	return c.cfg.Timeout
}

// lost marks an error that commands sent ahead may have caused: with a flight of several commands, the connection ends, a
// reply is malformed, or replies stop after the first. If there is no first reply, the server just does not answer.
func (c *Conn) lost(err error) error {
	switch {
	case err == nil || c.flightSize < 2 || errors.As(err, new(*DataDialError)):
	case errors.Is(err, ErrTimeout) && len(c.out) < c.flightSize, errors.Is(err, ErrProtocol), disconnected(err):
		return &AheadError{explain(err)}
	}
	return err
}
