package testserver

import (
	"errors"
	"io"
	"strconv"
	"strings"
)

// Action is what a server does about a command. Every Action returns when the client goes away or the server is closed.
// An error ends the connection.
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

// Sequence runs actions one after another.
func Sequence(actions ...Action) Action {
	return func(c *Conn) error { return c.act(actions) }
}

// Reply sends text, byte for byte, and CRLF unless text already ends in it, in one write. text may hold several lines
// and several replies; "" sends nothing.
//
// If text holds "{port}", or "{hi}" and "{lo}", Reply opens a port for the data connection, and sends its number, or
// the two bytes of the number, in their place. If a script gives AUTH a positive reply, the server expects a TLS
// handshake next. After PROT P it does a handshake on each data connection, when it sends the first byte there.
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

// EndControl ends the control connection in the way of e. If that is Stalled, the server still records commands.
func EndControl(e Ending) Action {
	return func(c *Conn) error {
		c.end(e)
		return errOver
	}
}

// Data sends contents, byte for byte, on the data connection. It then ends the connection, or leaves it open if no
// Ending is given. Data waits for the client to connect to the port that a Reply has opened; if no port is open, it
// does nothing.
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
	return Sequence(Reply("150 Here it comes."), Data(contents), Data("", Closed), Reply("226 Transfer complete."))
}

// sendData sends contents. Under TLS it does the handshake even if contents is empty.
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

// wish is what [ReplaceReply] and [EndDataAfter] ask of the honest server.
type wish struct {
	final  []Action // in place of the final reply
	ending Ending   // of the data connection
	room   int64    // bytes before the ending
}

// ReplaceReply lets the honest server handle the command, and does actions in place of its final reply, the one that
// says how the command ended (RFC 959 section 4.2): a false 226, a wrong size, an end.
func ReplaceReply(actions ...Action) Action {
	return func(c *Conn) error {
		c.final = actions
		return nil
	}
}

// EndDataAfter lets the honest server handle the command, and ends the data connection once it has sent this many bytes
// of the contents, under TLS without close_notify. The server then sends 226, as if all had come, unless e is Stalled;
// add ReplaceReply for a 426:
//
//	testserver.Sequence(
//		testserver.EndDataAfter(10, testserver.Closed),
//		testserver.ReplaceReply(testserver.Reply("426 Broken")))
func EndDataAfter(bytes int64, e Ending) Action {
	return func(c *Conn) error {
		c.ending, c.room = e, bytes
		return nil
	}
}
