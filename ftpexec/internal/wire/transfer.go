package wire

import (
	"context"
	"net"
	"time"
)

// begun interprets the reply to the command of a transfer. The library waits for a preliminary 1yz. Some
// servers leave it out and complete at once, with or without data before that: then the final reply is kept
// for when the library asks for it.
func (c *Control) begun(verb string, r Reply) (string, error) {
	switch r.first() {
	case 2:
		c.final = &r
		if c.data != nil {
			c.data.finished = true
		}
	case 1:
	case 3:
		return "", &UnexpectedError{verb, r}
	default:
		return "", nil
	}
	c.transfer, c.ended = verb, nil
	if c.data != nil && verb != "RETR" {
		c.data.listing, c.data.left = true, c.cfg.MaxListing
	}
	return "150 " + oneLine(r.last()), nil
}

// finish gives the library the final reply of a transfer, as 226 where it is any 2yz. After another one the
// connection is not used again: servers say more than one thing then (426, 226). Every end of data passes here.
func (c *Control) finish() error {
	if c.data != nil && c.data.listing && !c.data.ended {
		return ErrListing // the library has given up on a line that is too long
	}
	r, err := c.finalReply()
	if err == nil {
		err = c.Ended()
	}
	if err != nil {
		return err
	}
	c.transfer, c.final, c.ended = "", nil, &r
	if r.ok() {
		return c.answer("226 " + oneLine(r.last()))
	}
	c.fail(&ReplyError{r})
	return c.answer(oneLine(r.String()))
}

// finalReply passes over preliminary replies, such as restart markers (RFC 959 section 5.4).
func (c *Control) finalReply() (Reply, error) {
	if c.final != nil {
		return *c.final, nil
	}
	for range maxDelays {
		if r, err := c.read(c.cfg.ReplyTimeout); err != nil || r.first() != 1 {
			return r, err
		}
	}
	return Reply{}, syntaxError("", "no final reply but preliminary ones")
}

// dial opens a TCP connection within the connect timeout.
func (c *Control) dial(address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(c.ctx, c.cfg.ConnectTimeout)
	defer cancel()
	conn, err := c.cfg.Dial(ctx, "tcp", address)
	if err != nil && ctx.Err() != nil && c.ctx.Err() == nil {
		return nil, timedOut("no connection", c.cfg.ConnectTimeout)
	}
	return conn, err
}

// dialData begins to open a data connection and returns at once. Of address only the port counts: data
// comes from the host that the control connection leads to, whatever a reply to PASV says.
func (c *Control) dialData(address string) (net.Conn, error) {
	_, portText, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	open := c.accept
	if c.listener == nil {
		host, err := c.server()
		if err != nil {
			return nil, err
		}
		target := net.JoinHostPort(host, portText)
		open = func(ctx context.Context) (net.Conn, error) { return c.cfg.Dial(ctx, "tcp", target) }
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		if c.listener != nil {
			c.listener.Close()
		}
		return nil, net.ErrClosed
	}
	c.dataErr = nil
	c.data = openData(c.ctx, dataOpening{
		open: open, connect: c.cfg.ConnectTimeout, stall: c.cfg.StallTimeout, pace: pace{rate: c.cfg.LeastRate, over: c.cfg.LeastTime}, tls: c.dataTLS, failed: c.dataFailed, fatal: c.Abandon,
	})
	return c.data, nil
}

// server is the host to dial for data: the address that the control connection has found, or, where only a
// proxy knows that, the name that it was given.
func (c *Control) server() (string, error) {
	if c.cfg.Proxied {
		return c.cfg.Host, nil
	}
	host, _, err := net.SplitHostPort(c.conn.RemoteAddr().String())
	return host, err
}

// dataErrGrace is how long a reply may still come once the data connection has failed: a server that refuses
// the transfer closes its data port at the same time.
const dataErrGrace = time.Second

// dataFailed wakes the control connection: the server would wait for the data connection in vain.
func (c *Control) dataFailed(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dataErr = err
	c.conn.SetReadDeadline(time.Now().Add(dataErrGrace))
}

// forgetData makes an earlier transfer's failure no affair of the commands to come.
func (c *Control) forgetData() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dataErr = nil
}

// setReadDeadline bounds the next read, more tightly where the data connection has failed.
func (c *Control) setReadDeadline(limit time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dataErr != nil {
		limit = min(limit, dataErrGrace)
	}
	return c.conn.SetReadDeadline(time.Now().Add(limit))
}

// timeout is the error for a reply that did not come within limit.
func (c *Control) timeout(limit time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dataErr != nil {
		return c.dataErr
	}
	return timedOut("no reply", limit)
}
