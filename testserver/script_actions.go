package testserver

import (
	"io"
	"strconv"
	"strings"
)

// Action is something that a scripted server does. Actions run one after the other, in
// the order given. Data actions (SendData and so on) wait for the client to
// connect to the port that a Reply opened; if none is open they do nothing.
// Every action ends when the client goes away or the server is closed. An error
// ends the connection.
//
// Write your own with the methods of [Conn]:
//
//	func(c *testserver.Conn) error {
//		_, err := fmt.Fprintf(c, "550 %s, really?\r\n", c.Line())
//		return err
//	}
type Action func(*Conn) error

// Reply sends text, byte for byte, and CRLF unless text already ends in it, in
// one write. text may hold several lines and several replies.
//
// If text holds "{port}", or "{hi}" and "{lo}", Reply opens a port for the data
// connection, and sends its number, or the two bytes of that, in their place.
// After a positive reply to AUTH a TLS handshake is expected. After PROT P data
// connections begin with one when the first byte is sent on them.
func Reply(text string) Action {
	return func(sc *Conn) error {
		sent := withCRLF(text)
		if strings.Contains(text, "{port}") || strings.Contains(text, "{hi}") {
			addr, err := sc.listen()
			if err != nil {
				return err
			}
			sent = strings.NewReplacer("{port}", strconv.Itoa(addr.Port),
				"{hi}", strconv.Itoa(addr.Port>>8), "{lo}", strconv.Itoa(addr.Port&0xff)).Replace(sent)
		}
		sc.ready = sc.ready || text[:min(1, len(text))] == "2"
		return sc.send([]byte(sent))
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

// Call calls f, which may block; Close waits for it.
func Call(f func()) Action {
	return func(*Conn) error {
		f()
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
