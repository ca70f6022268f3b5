package wire

import (
	"crypto/tls"
	"net"
	"syscall"
)

// quickAck makes the kernel acknowledge at once what has been read. A server that does not set TCP_NODELAY holds back the
// next reply of a flight until the last one is acknowledged, which takes 40 ms or more without the option. The kernel
// forgets the option, so quickAck sets it after every read.
func quickAck(conn net.Conn) {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	setOption(conn, syscall.IPPROTO_TCP, syscall.TCP_QUICKACK, 1)
}

// gather makes the kernel report that c can be read only when n bytes are there, or its end.
func gather(c net.Conn, n int) { setOption(c, syscall.SOL_SOCKET, syscall.SO_RCVLOWAT, n) }

// setOption sets an option of a socket. If that fails, only time is lost.
func setOption(conn net.Conn, level, option, value int) {
	if socket, ok := conn.(syscall.Conn); ok {
		if raw, err := socket.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), level, option, value) })
		}
	}
}
