package wire

import (
	"bufio"
	"io"
	"net"
	"syscall"
	"testing"
	"time"
)

// TestQuickAck checks that the kernel is to acknowledge what it receives at once,
// after every reply: it forgets that once both sides have sent.
func TestQuickAck(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		server, err := l.Accept()
		if err != nil {
			return
		}
		defer server.Close()
		in := bufio.NewScanner(server)
		for ok := true; ok; ok = in.Scan() {
			if _, err := io.WriteString(server, "220 OK\r\n"); err != nil {
				return
			}
		}
	}()
	c := New(Config{Address: l.Addr().String(), Dial: new(net.Dialer).DialContext, ConnectTimeout: time.Minute, Timeout: time.Minute})
	defer c.Close()
	if _, err := c.Connect(); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if err := c.Send(Line{Text: "NOOP", Shown: "NOOP"}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Receive(); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := c.conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	err = raw.Control(func(fd uintptr) {
		if on, err := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_QUICKACK); on == 0 {
			t.Errorf("TCP_QUICKACK is off (%v)", err)
		}
	})
	if err != nil {
		t.Error(err)
	}
}
