package tcp

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/ftpfetch/internal/rules/must"
)

// pair returns both ends of a connection that was there at once.
func pair(t *testing.T, address string) (here net.Conn, there *net.TCPConn) {
	l := must.Get(net.Listen("tcp", address))(t)
	defer l.Close()
	here, _, _ = Connect(l.Addr().(*net.TCPAddr), nil)
	if here == nil || here.RemoteAddr() != l.Addr() {
		t.Fatal("no connection, although the peer is near")
	}
	there = must.Get(l.Accept())(t).(*net.TCPConn)
	t.Cleanup(func() { here.Close(); there.Close() })
	return here, there
}

func TestConnect(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		here, there := pair(t, address)
		must.Get(io.WriteString(there, "x"))(t)
		must.Do(t, there.Close())
		if got, err := io.ReadAll(here); string(got) != "x" || err != nil {
			t.Errorf("%s: %q, %v", address, got, err)
		}
	}
	for want, breaks := range map[error]func(here net.Conn, there *net.TCPConn) error{
		net.ErrClosed:             func(here net.Conn, _ *net.TCPConn) error { return here.Close() },
		os.ErrDeadlineExceeded:    func(here net.Conn, _ *net.TCPConn) error { return here.SetReadDeadline(time.Unix(1, 0)) },
		error(syscall.ECONNRESET): func(_ net.Conn, there *net.TCPConn) error { return errors.Join(there.SetLinger(0), there.Close()) },
	} {
		here, there := pair(t, "127.0.0.1:0")
		must.Do(t, breaks(here, there))
		if _, err := here.Read(make([]byte, 1)); !errors.Is(err, want) || errors.As(err, new(*os.PathError)) {
			t.Errorf("%v, want %v", err, want)
		}
	}
}

// TestConnectRefused compares the error with that of package net.
func TestConnectRefused(t *testing.T) {
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	must.Do(t, l.Close())
	conn, open, _ := Connect(l.Addr().(*net.TCPAddr), nil)
	_, want := net.Dial("tcp", l.Addr().String())
	if _, err := open(t.Context()); conn != nil || !errors.Is(err, syscall.ECONNREFUSED) || err.Error() != want.Error() {
		t.Errorf("%v, want %v", err, want)
	}
}

// TestConnectFar connects to a peer that first does not answer, because its queue is full. Who has given up gets no
// connection, even if it is there.
func TestConnectFar(t *testing.T) {
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	raw := must.Get(l.(*net.TCPListener).SyscallConn())(t)
	must.Do(t, raw.Control(func(fd uintptr) { must.Do(t, syscall.Listen(int(fd), 1)) }))
	to := l.Addr().(*net.TCPAddr)
	for range 2 {
		defer must.Get(net.Dial("tcp", to.String()))(t).Close()
	}
	ctx, cancel := context.WithCancel(t.Context())
	given, up, _ := Connect(to, nil)
	conn, open, _ := Connect(to, nil)
	unused, late, _ := Connect(to, nil)
	if given != nil || conn != nil || unused != nil {
		t.Fatal("connected to a queue that is full")
	}
	cancel()
	if _, err := up(ctx); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("given up: %v", err)
	}
	for range 2 {
		must.Get(l.Accept())(t).Close()
	}
	conn = must.Get(open(t.Context()))(t)
	defer conn.Close()
	for range 2 {
		must.Get(io.WriteString(must.Get(l.Accept())(t), "x"))(t)
	}
	if _, err := late(ctx); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("given up too late: %v", err)
	}
	if n, err := conn.Read(make([]byte, 2)); n != 1 {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// TestItself connects a socket with itself, as the kernel may do where nobody listens.
func TestItself(t *testing.T) {
	fd := must.Get(unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0))(t)
	defer unix.Close(fd)
	must.Do(t, unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	must.Do(t, unix.Connect(fd, must.Get(unix.Getsockname(fd))(t)))
	if !itself(fd) {
		t.Error("taken for another's")
	}
}
