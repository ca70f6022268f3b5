package testserver

import (
	"errors"
	"io"
	"strconv"
	"strings"
)

// Action is something that a server does about a command. Every Action ends when the client goes away or the server is
// closed. An error ends the connection.
//
// Write your own with the fields and methods of [Conn]:
//
//	func(c *testserver.Conn) error {
//		_, err := fmt.Fprintf(c, "550 %s, really?\r\n", c.Arg)
//		return err
//	}
type Action func(*Conn) error

// errOver ends the connection.
var errOver = errors.New("the connection is over")

// Ending is what happens to a connection.
type Ending int

// The endings of a connection.
const (
	intact  Ending = iota // nothing happens to it
	Closed                // closed (FIN), under TLS after close_notify
	Reset                 // reset (RST): the client may lose bytes that it has not read yet
	Stalled               // stays open and silent until the client goes away or the server is closed
)

// Do does one action after the other.
func Do(actions ...Action) Action {
	return func(c *Conn) error { return c.act(actions) }
}

// Reply sends text, byte for byte, and CRLF unless text already ends in it, in one write. text may hold several lines and
// several replies; "" sends nothing.
//
// If text holds "{port}", or "{hi}" and "{lo}", Reply opens a port for the data connection, and sends its number, or the
// two bytes of that, in their place. After a positive reply of a script to AUTH a TLS handshake is expected. After PROT P
// data connections begin with one when the first byte is sent on them.
func Reply(text string) Action {
	return func(c *Conn) error {
		if text == "" {
			return nil
		}
		sent := withCRLF(text)
		if strings.Contains(text, "{port}") || strings.Contains(text, "{hi}") {
			addr, err := c.listen()
			if err != nil {
				return err
			}
			sent = strings.NewReplacer("{port}", strconv.Itoa(addr.Port),
				"{hi}", strconv.Itoa(addr.Port>>8), "{lo}", strconv.Itoa(addr.Port&0xff)).Replace(sent)
		}
		_, err := c.Write([]byte(sent))
		return err
	}
}

func withCRLF(s string) string { return strings.TrimSuffix(s, "\r\n") + "\r\n" }

// End ends the control connection. Commands are still recorded if it is Stalled.
func End(e Ending) Action {
	return func(c *Conn) error {
		c.end(e)
		return errOver
	}
}

// Data sends contents, byte for byte, on the data connection, and then ends that, or leaves it open if no Ending is given.
// It waits for the client to connect to the port that a Reply has opened; if none is open it does nothing.
func Data(contents string, end ...Ending) Action {
	return func(c *Conn) error {
		if contents != "" || len(end) == 0 {
			c.sendData(contents)
		}
		for _, e := range end {
			c.endData(e)
		}
		return nil
	}
}

// Transfer does what an honest server does for RETR or NLST: 150, contents, 226.
func Transfer(contents string) Action {
	return Do(Reply("150 Here it comes."), Data(contents), Data("", Closed), Reply("226 Transfer complete."))
}

// sendData sends contents, under TLS after a handshake even if there are none.
func (c *Conn) sendData(contents string) {
	if data, _ := c.accept(); data != nil {
		_, _ = io.WriteString(data, contents)
	}
}

func (c *Conn) endData(e Ending) {
	data, below := c.accept()
	switch {
	case data == nil:
	case e == Stalled:
		_, _ = io.Copy(io.Discard, below) // until the client closes it
		return
	case e == Reset:
		below.reset()
	default:
		_ = data.Close()
	}
	c.dropData()
}

// wish is what [Final] and [Cut] want of the honest server.
type wish struct {
	final  []Action // in place of the final reply
	ending Ending   // of the data connection
	room   int64    // bytes before that
}

// Final lets the honest server handle the command, and does actions in place of its final (2yz to 5yz) reply: a lying 226,
// a wrong size, an end.
func Final(actions ...Action) Action {
	return func(c *Conn) error {
		c.final = actions
		return nil
	}
}

// Cut lets the honest server handle the command, and ends the data connection once octets bytes of the contents have been
// sent on it, under TLS without close_notify. The server does not notice and sends 226: use Final for a truthful 426.
func Cut(octets int64, e Ending) Action {
	return func(c *Conn) error {
		c.ending, c.room = e, octets
		return nil
	}
}
