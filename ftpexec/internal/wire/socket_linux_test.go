package wire

import (
	"bufio"
	"io"
	"net"
	"syscall"
	"testing"
	"time"
)

// TestQuickAck checks that the kernel acknowledges a reply at once if another one of its flight is awaited, and only then.
func TestQuickAck(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
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
	if _, err := c.Connect(); err != nil {
		t.Fatal(err)
	}
	acknowledge := c.quickAck
	c.quickAck = func() {
		if acknowledge(); !quick(t, c.conn.(*net.TCPConn)) {
			t.Error("TCP_QUICKACK is off")
		}
		acknowledged <- true
	}
	for range 5 {
		if err := c.Send(Line{Text: "NOOP 1"}, Line{Text: "NOOP 2"}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := c.Receive(); err != nil {
				t.Fatal(err)
			}
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
