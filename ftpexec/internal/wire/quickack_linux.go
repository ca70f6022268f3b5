package wire

import (
	"crypto/tls"
	"net"
	"syscall"
)

// quickAck asks for an acknowledgement at once. A server that does not set TCP_NODELAY holds back the next
// reply of a flight until the last one is acknowledged, 40 ms and more later. The kernel forgets the
// option, so it is set after every read. Where it cannot be set nothing is lost but time.
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
