package testserver

import (
	"io"
	"strconv"
	"strings"
)

// Action is something that a Script does. Actions run in the order given, each
// when the one before is done. Data actions (SendData and so on) wait for the
// client to connect to the port that OpenData opened; where none is open they
// do nothing. When the client goes away, or the Script is closed, every action
// ends. An error ends the connection.
//
// An Action of your own uses the methods of [Conn]:
//
//	func(c *testserver.Conn) error {
//		_, err := fmt.Fprintf(c, "550 %s, really?\r\n", c.Line())
//		return err
//	}
type Action func(*Conn) error

// Reply sends text, octet for octet, with CRLF behind it unless it ends in
// CRLF already. It may hold several lines and several replies.
func Reply(text string) Action { return ReplyBytes([]byte(withCRLF(text))) }

// ReplyBytes sends exactly b, with one write.
func ReplyBytes(b []byte) Action {
	return func(sc *Conn) error { return sc.send(b) }
}

// Trickle is Reply with one write, and so mostly one segment, for each octet.
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

// Endless sends text(0), text(1) and so on, octet for octet, until the client
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

// Silence says nothing, and nothing more, until the client goes away.
// Commands are recorded still.
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

// ResetConn resets the control connection (RST). What was sent before and not
// yet read by the client may be lost.
func ResetConn() Action {
	return func(sc *Conn) error {
		sc.reset()
		return errOver
	}
}

// DiscardInput loses the commands that arrived behind this one, as servers do
// that flush their input at login. They stay in Commands.
func DiscardInput() Action {
	return func(sc *Conn) error {
		sc.discard()
		return nil
	}
}

// CloseIfMore closes the control connection when anything has arrived behind
// this command, as some servers do upon AUTH.
func CloseIfMore() Action {
	return func(sc *Conn) error {
		if !sc.pending() {
			return nil
		}
		return CloseConn()(sc)
	}
}

// Call calls f, which may block; Close of the Script waits for it.
func Call(f func()) Action {
	return func(*Conn) error {
		f()
		return nil
	}
}

// StartTLS expects a TLS handshake from here on. It works for AUTH only.
func StartTLS() Action {
	return func(sc *Conn) error {
		sc.startTLS(sc.config)
		return nil
	}
}

// Protect does what PROT says: with P, data connections opened later begin
// with a TLS handshake when the first octet is sent on them.
func Protect() Action {
	return func(sc *Conn) error {
		_, arg := splitCommand(sc.line)
		sc.private = arg == "P"
		return nil
	}
}

// OpenData opens a port for the data connection and answers as PASV or EPSV,
// whichever the command is, demands.
func OpenData() Action {
	return func(sc *Conn) error {
		if verb, _ := splitCommand(sc.line); verb == "PASV" {
			return OpenDataAs("227 Entering Passive Mode (127,0,0,1,{hi},{lo})")(sc)
		}
		return OpenDataAs("229 Entering Extended Passive Mode (|||{port}|)")(sc)
	}
}

// OpenDataAs opens a port for the data connection and sends reply, in which
// {port} stands for the port, {hi} and {lo} for its two octets.
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

// SendData sends contents, octet for octet, and leaves the connection open.
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

// ResetData resets the data connection (RST). What was sent before and not yet
// read by the client may be lost.
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
