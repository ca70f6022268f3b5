package wire

import (
	"crypto/tls"
	"net"
	"syscall"
)

// quickAck makes the kernel acknowledge at once what has been read. A server that does not set TCP_NODELAY holds back the
// next reply of a flight until the last one is acknowledged, which takes 40 ms or more without the option. The kernel
// forgets the option, so quickAck sets it after every read. If that fails, only time is lost.
func quickAck(conn net.Conn) {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	tcp, ok := conn.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_QUICKACK, 1)
	})
}
