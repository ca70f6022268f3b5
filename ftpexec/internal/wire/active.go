package wire

import (
	"context"
	"fmt"
	"net"
	"strings"
)

// active answers the library's EPSV with a port of our own that the server has been told by EPRT (RFC 2428)
// or PORT (RFC 959): the data connection that the library then opens is the one that the server makes.
func (c *Control) active() error {
	if err := c.settle(); err != nil {
		return err
	}
	local := tcpAddr(c.conn.LocalAddr())
	l, err := c.cfg.Listen(c.ctx, local.IP)
	if err != nil {
		return err
	}
	here := &net.TCPAddr{IP: local.IP, Port: tcpAddr(l.Addr()).Port}
	r, err := c.announce(here)
	if err == nil && !r.ok() {
		err = fmt.Errorf("%w: %w", ErrActive, &ReplyError{r})
	}
	if err != nil {
		l.Close()
		return err
	}
	c.listener = l
	return c.answer(fmt.Sprintf("229 (|||%d|)", here.Port))
}

func (c *Control) announce(here *net.TCPAddr) (Reply, error) {
	four := here.IP.To4()
	family := 1
	if four == nil {
		family = 2
	}
	r, err := c.exchange(fmt.Sprintf("EPRT |%d|%s|%d|", family, here.IP, here.Port))
	if err != nil || r.ok() || four == nil {
		return r, err
	}
	host := strings.ReplaceAll(four.String(), ".", ",")
	return c.exchange(fmt.Sprintf("PORT %s,%d,%d", host, here.Port>>8, here.Port&0xff))
}

// accept waits for the server's connection, and turns away anyone else's.
func (c *Control) accept(ctx context.Context) (net.Conn, error) {
	defer c.listener.Close()
	stop := context.AfterFunc(ctx, func() { c.listener.Close() })
	defer stop()
	server := tcpAddr(c.conn.RemoteAddr()).IP
	for {
		conn, err := c.listener.Accept()
		if err != nil {
			return nil, err
		}
		if tcpAddr(conn.RemoteAddr()).IP.Equal(server) {
			return conn, nil
		}
		conn.Close()
	}
}
