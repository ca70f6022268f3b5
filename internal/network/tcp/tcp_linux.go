// Package tcp sets options of sockets that package net does not know, as far as the system can.
package tcp

import (
	"crypto/tls"
	"net"
	"syscall"
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
