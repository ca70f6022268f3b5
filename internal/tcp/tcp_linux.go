package tcp

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"os"
	"reflect"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// QuickAck returns a function that makes the kernel acknowledge at once what has been read. A server that does not set
// TCP_NODELAY holds back the next reply of a flight until the last one is acknowledged, which takes 40 ms or more without
// the option. The kernel forgets the option when something is sent.
func QuickAck(conn net.Conn) func() {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	return option(conn, syscall.IPPROTO_TCP, syscall.TCP_QUICKACK, 1)
}

// Gather makes the kernel report that c can be read only when n bytes are there, or its end: a program takes less time than
// if it wakes up for each packet.
func Gather(c net.Conn, n int) { option(c, syscall.SOL_SOCKET, syscall.SO_RCVLOWAT, n)() }

// option returns a function that sets an option of a socket. If that fails, only time is lost.
func option(conn net.Conn, level, name, value int) (set func()) {
	if socket, ok := conn.(syscall.Conn); ok {
		if raw, err := socket.SyscallConn(); err == nil {
			do := func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), level, name, value) }
			return func() { _ = raw.Control(do) }
		}
	}
	return func() {}
}

// Connect starts to connect to an address, in fewer system calls than dial. conn is the connection if it is there at once,
// because the peer is near; otherwise open waits for it. It fails if there is no socket.
func Connect(to *net.TCPAddr, _ Open) (conn net.Conn, open Open, _ error) {
	family, addr := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Port: to.Port, Addr: [16]byte(to.IP.To16())})
	if ip := to.IP.To4(); ip != nil {
		family, addr = unix.AF_INET, &unix.SockaddrInet4{Port: to.Port, Addr: [4]byte(ip)}
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, &net.OpError{Op: "dial", Net: "tcp", Addr: to, Err: os.NewSyscallError("socket", err)}
	}
	done := func(uintptr) bool {
		if err = unix.Connect(fd, addr); err == nil && itself(fd) {
			err = unix.ECONNREFUSED
		}
		return err != unix.EINPROGRESS && err != unix.EALREADY && err != unix.EINTR
	}
	over := done(0)
	over = over || done(0) // the second call tells whether the first has come to an end
	s := Socket{os.NewFile(uintptr(fd), to.String()), to}
	if over && err == nil {
		return s, nil, nil
	}
	return nil, func(ctx context.Context) (net.Conn, error) {
		stop := context.AfterFunc(ctx, func() { _ = s.SetDeadline(time.Unix(1, 0)) })
		raw, failed := s.SyscallConn()
		if failed == nil && !over {
			failed = raw.Write(done)
		}
		if !stop() && failed == nil { // that deadline is set, or will be
			failed = os.ErrDeadlineExceeded
		}
		if failed = cmp.Or(failed, err); failed == nil {
			return s, nil
		}
		s.Close()
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: to, Err: os.NewSyscallError("connect", failed)}
	}, nil
}

// itself reports whether a socket is connected with itself: it has got the very port of this machine at which nobody listens.
func itself(fd int) bool {
	here, _ := unix.Getsockname(fd)
	there, _ := unix.Getpeername(fd)
	return reflect.DeepEqual(here, there)
}
