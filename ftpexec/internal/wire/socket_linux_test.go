package wire

import (
	"bufio"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"example.com/ftpfetch/internal/testkit/must"
)

// TestQuickAck checks that the kernel acknowledges a reply at once if another one of its flight is awaited, and only then.
func TestQuickAck(t *testing.T) {
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	acknowledged := make(chan bool)
	go func() {
		server, err := l.Accept()
		if err != nil {
			return
		}
		defer server.Close()
		in := bufio.NewScanner(server)
		for ok := true; ok; ok = in.Scan() {
			if in.Text() == "NOOP 2" {
				<-acknowledged
			}
			if _, err := io.WriteString(server, "220 OK\r\n"); err != nil {
				return
			}
		}
	}()
	c := New(Config{Address: l.Addr().String(), Dial: new(net.Dialer).DialContext, ConnectTimeout: time.Minute, Timeout: 10 * time.Second})
	defer c.Close()
	must.Get(c.Connect())(t)
	acknowledge := c.quickAck
	c.quickAck = func() {
		if acknowledge(); !quick(t, c.conn.(*net.TCPConn)) {
			t.Error("TCP_QUICKACK is off")
		}
		acknowledged <- true
	}
	for range 5 {
		must.Do(t, c.Send(Line{Text: "NOOP 1"}, Line{Text: "NOOP 2"}))
		for range 2 {
			must.Get(c.Receive())(t)
		}
	}
}

// quick reports whether what c receives is acknowledged at once.
func quick(t *testing.T, c *net.TCPConn) (on bool) {
	raw, err := c.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) {
			n, err := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_QUICKACK)
			on = n == 1 && err == nil
		})
	}
	return on && err == nil
}
