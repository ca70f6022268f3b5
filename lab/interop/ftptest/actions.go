// Package ftptest has what the tests of this module need beyond testserver: rare faults of a scripted server, data
// connections that have a pace and are counted, and a network in memory.
package ftptest

import (
	"crypto/tls"
	"errors"
	"io"
	"net"

	"example.com/ftpfetch/testserver"
)

// Trickle is like [testserver.Reply], with one write, and so usually one TCP segment, for each byte.
func Trickle(text string) testserver.Action {
	return func(c *testserver.Conn) error {
		for _, b := range []byte(text + "\r\n") {
			if _, err := c.Write([]byte{b}); err != nil {
				return err
			}
		}
		return nil
	}
}

// Endless sends text(0), text(1) and so on until the client goes away.
func Endless(text func(i int) string) testserver.Action {
	return func(c *testserver.Conn) error { return endless(c, text) }
}

// EndlessData is like Endless, on the data connection.
func EndlessData(text func(i int) string) testserver.Action {
	return does(func(c *testserver.Conn) {
		if data := c.Data(); data != nil {
			_ = endless(data, text)
		}
	})
}

func endless(w io.Writer, text func(i int) string) error {
	for i := 0; ; i++ {
		if _, err := io.WriteString(w, text(i)); err != nil {
			return err
		}
	}
}

// does returns an Action that cannot fail.
func does(what func(c *testserver.Conn)) testserver.Action {
	return func(c *testserver.Conn) error {
		what(c)
		return nil
	}
}

// Call calls f, which may block.
func Call(f func()) testserver.Action { return does(func(*testserver.Conn) { f() }) }

// AcceptData waits for the data connection.
func AcceptData() testserver.Action { return does(func(c *testserver.Conn) { c.Data() }) }

// CutData closes the data connection without TLS's close_notify.
func CutData() testserver.Action {
	return func(c *testserver.Conn) error {
		if data := below(c); data != nil {
			_ = data.Close()
		}
		return testserver.Data("", testserver.Closed)(c)
	}
}

// SendInClear is like [testserver.Data], without the TLS that PROT P asks for.
func SendInClear(contents string) testserver.Action {
	return does(func(c *testserver.Conn) {
		if data := below(c); data != nil {
			_, _ = io.WriteString(data, contents)
			_ = data.Close()
		}
	})
}

// below returns the TCP connection for data.
func below(c *testserver.Conn) net.Conn {
	data := c.Data()
	if t, ok := data.(*tls.Conn); ok {
		return t.NetConn()
	}
	return data
}

// DiscardInput drops the commands that arrived after this one, as servers do that flush their input at login. They stay in
// Commands.
func DiscardInput() testserver.Action { return does(func(c *testserver.Conn) { c.Input() }) }

// CloseIfMore closes the control connection if a command has arrived after this one.
func CloseIfMore() testserver.Action {
	return func(c *testserver.Conn) error {
		if len(c.Input()) == 0 {
			return nil
		}
		return testserver.EndControl(testserver.Closed)(c)
	}
}

// Listen6 listens on ::1, for [testserver.Options].
func Listen6() (net.Listener, error) { return net.Listen("tcp6", "[::1]:0") }

// Resumed refuses connections that do not resume a TLS session, for the VerifyConnection of a server like vsftpd.
func Resumed(s tls.ConnectionState) error {
	if !s.DidResume {
		return errors.New("no session is resumed")
	}
	return nil
}
