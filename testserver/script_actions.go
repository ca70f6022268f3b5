package testserver

import (
	"io"
	"strconv"
	"strings"
)

// Action is something that a Script does. Actions run one after the other, in
// the order given. Data actions (SendData and so on) wait for the client to
// connect to the port that OpenData opened; if none is open they do nothing.
// Every action ends when the client goes away or the Script is closed. An error
// ends the connection.
//
// Write your own with the methods of [Conn]:
//
//	func(c *testserver.Conn) error {
//		_, err := fmt.Fprintf(c, "550 %s, really?\r\n", c.Line())
//		return err
//	}
type Action func(*Conn) error

// Reply sends text, byte for byte, and CRLF unless text already ends in it.
// text may hold several lines and several replies.
func Reply(text string) Action { return ReplyBytes([]byte(withCRLF(text))) }

// ReplyBytes sends exactly b, in one write.
func ReplyBytes(b []byte) Action {
	return func(sc *Conn) error { return sc.send(b) }
}

// Trickle is like Reply, with one write, and so usually one TCP segment, for
// each byte.
func Trickle(text string) Action {
	return func(sc *Conn) error {
		for _, b := range []byte(withCRLF(text)) {
			if err := sc.send([]byte{b}); err != nil {
				return err
			}
		}
		return nil
	}
}

// Endless sends text(0), text(1) and so on, byte for byte, until the client
// goes away.
func Endless(text func(i int) string) Action {
	return func(sc *Conn) error {
		for i := 0; ; i++ {
			if err := sc.send([]byte(text(i))); err != nil {
				return err
			}
		}
	}
}

// Silence sends nothing more until the client goes away. Commands are still
// recorded.
func Silence() Action {
	return func(sc *Conn) error {
		sc.waitEnd()
		return errOver
	}
}

// CloseConn closes the control connection (FIN), under TLS with close_notify.
func CloseConn() Action {
	return func(sc *Conn) error {
		sc.hangUp()
		return errOver
	}
}

// ResetConn resets the control connection (RST). The client may lose what it
// has not read yet.
func ResetConn() Action {
	return func(sc *Conn) error {
		sc.reset()
		return errOver
	}
}

// DiscardInput drops the commands that arrived after this one, as servers do
// that flush their input at login. They stay in Commands.
func DiscardInput() Action {
	return func(sc *Conn) error {
		sc.discard()
		return nil
	}
}

// CloseIfMore closes the control connection if anything has arrived after this
// command, as some servers do on AUTH.
func CloseIfMore() Action {
	return func(sc *Conn) error {
		if !sc.pending() {
			return nil
		}
		return CloseConn()(sc)
	}
}

// Call calls f, which may block; the Script's Close waits for it.
func Call(f func()) Action {
	return func(*Conn) error {
		f()
		return nil
	}
}

// StartTLS expects a TLS handshake next. It works only as an answer to AUTH.
func StartTLS() Action {
	return func(sc *Conn) error {
		sc.startTLS(sc.config)
		return nil
	}
}

// Protect does what PROT says: after PROT P, data connections opened later
// begin with a TLS handshake when the first byte is sent on them.
func Protect() Action {
	return func(sc *Conn) error {
		_, arg := splitCommand(sc.line)
		sc.private = arg == "P"
		return nil
	}
}

// OpenData opens a port for the data connection and sends the reply to PASV or
// EPSV, whichever the command is.
func OpenData() Action {
	return func(sc *Conn) error {
		if verb, _ := splitCommand(sc.line); verb == "PASV" {
			return OpenDataAs("227 Entering Passive Mode (127,0,0,1,{hi},{lo})")(sc)
		}
		return OpenDataAs("229 Entering Extended Passive Mode (|||{port}|)")(sc)
	}
}

// OpenDataAs opens a port for the data connection and sends reply, in which
// {port} stands for the port, {hi} and {lo} for its two bytes.
func OpenDataAs(reply string) Action {
	return func(sc *Conn) error {
		addr, err := sc.listen()
		if err != nil {
			return err
		}
		text := strings.NewReplacer(
			"{port}", strconv.Itoa(addr.Port),
			"{hi}", strconv.Itoa(addr.Port>>8),
			"{lo}", strconv.Itoa(addr.Port&0xff),
		).Replace(reply)
		return Reply(text)(sc)
	}
}

// AcceptData waits for the data connection.
func AcceptData() Action {
	return func(sc *Conn) error {
		sc.accept()
		return nil
	}
}

// SendData sends contents, byte for byte, and leaves the connection open.
func SendData(contents string) Action {
	return func(sc *Conn) error {
		if c, _ := sc.accept(); c != nil {
			_, _ = io.WriteString(c, contents)
		}
		return nil
	}
}

// EndlessData sends text(0), text(1) and so on until the client closes the
// data connection.
func EndlessData(text func(i int) string) Action {
	return func(sc *Conn) error {
		c, _ := sc.accept()
		if c == nil {
			return nil
		}
		for i := 0; ; i++ {
			if _, err := io.WriteString(c, text(i)); err != nil {
				return nil
			}
		}
	}
}

// CloseData closes the data connection (FIN), under TLS with close_notify.
func CloseData() Action {
	return func(sc *Conn) error {
		if c, _ := sc.accept(); c != nil {
			_ = c.Close()
		}
		sc.dropData()
		return nil
	}
}

// CutData closes the TCP connection (FIN) without TLS's close_notify.
func CutData() Action {
	return func(sc *Conn) error {
		sc.accept()
		sc.dropData()
		return nil
	}
}

// ResetData resets the data connection (RST). The client may lose what it has
// not read yet.
func ResetData() Action {
	return func(sc *Conn) error {
		if _, below := sc.accept(); below != nil {
			below.reset()
		}
		sc.dropData()
		return nil
	}
}

// StallData does nothing until the client closes the data connection.
func StallData() Action {
	return func(sc *Conn) error {
		if _, below := sc.accept(); below != nil {
			_, _ = io.Copy(io.Discard, below)
		}
		return nil
	}
}
