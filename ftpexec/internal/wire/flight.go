package wire

import (
	"errors"
	"os"
	"slices"
	"strings"
	"time"
)

// Line is a command as it travels.
type Line struct {
	Text     string // without CR LF
	Shown    string // Text for a trace
	Transfer bool   // it moves data: it may take its time to begin
}

// aheadTimeout bounds the wait for a reply once another one of its flight has come. A server that loses what stands
// after a command never answers it.
const aheadTimeout = 10 * time.Second

// ErrUnsendable: what is to be sent holds CR, LF or NUL, which would be another command.
var ErrUnsendable = errors.New("what is to be sent holds CR, LF or NUL, which FTP cannot send")

// Send sends commands in one write: a flight. Replies that an earlier operation has not waited for are received
// first, and thrown away.
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
	c.out, c.batch = flight, len(flight)
	err := c.write(flight)
	if err == nil && c.data != nil && slices.ContainsFunc(flight, func(l Line) bool { return l.Transfer }) {
		c.data.begun()
	}
	return c.fail(c.lost(err))
}

func (c *Conn) write(flight []Line) error {
	var b strings.Builder
	for _, line := range flight {
		if strings.ContainsAny(line.Text, "\r\n\x00") {
			return ErrUnsendable
		}
		b.WriteString(line.Text + "\r\n")
	}
	c.flight++
	for _, line := range flight {
		c.trace(EventCommand, line.Shown)
	}
	if err := c.conn.SetWriteDeadline(time.Now().Add(c.cfg.ReplyTimeout)); err != nil {
		return err
	}
	_, err := c.conn.Write([]byte(b.String()))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return timedOut("command not taken", c.cfg.ReplyTimeout)
	}
	return err
}

// Receive returns the reply to the oldest command that has none.
func (c *Conn) Receive() (Reply, error) {
	if err := c.Err(); err != nil {
		return Reply{}, err
	}
	r, err := c.read(c.patience())
	if err == nil {
		c.out = c.out[1:]
	}
	return r, c.fail(c.lost(err))
}

// Ask sends a command and returns its reply, which is never a preliminary one. Where the answer only informs it is not
// waited for so long.
func (c *Conn) Ask(line string, informs bool) (Reply, error) {
	if err := c.Send(Line{Text: line, Shown: line}); err != nil {
		return Reply{}, err
	}
	limit := c.cfg.ReplyTimeout
	if informs {
		limit = min(limit, aheadTimeout)
	}
	c.out = nil
	r, err := c.read(limit)
	if err == nil && r.First() == 1 {
		err = &ReplyError{r, ErrProtocol}
	}
	return r, c.fail(err)
}

// patience is the bound for the next reply.
func (c *Conn) patience() time.Duration {
	if len(c.out) < c.batch && !c.out[0].Transfer {
		return min(c.cfg.ReplyTimeout, aheadTimeout)
	}
	return c.cfg.ReplyTimeout
}

// lost marks an error that may come of sending ahead: the connection ends, or replies stop or are none, while a
// flight of several commands is out. A server that has not answered the first of them just does not answer.
func (c *Conn) lost(err error) error {
	switch {
	case err == nil || c.batch < 2 || errors.As(err, new(*DataDialError)):
	case errors.Is(err, ErrTimeout) && len(c.out) < c.batch, errors.Is(err, ErrProtocol), disconnected(err):
		return &AheadError{explain(err)}
	}
	return err
}
