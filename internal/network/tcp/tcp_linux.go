// Package tcp sets socket options that package net does not offer, if the system has them.
package tcp

import (
	"crypto/tls"
	"net"
	"syscall"
)

// QuickAck returns a function that makes the kernel acknowledge received data at once. A server that does not set
// TCP_NODELAY holds back the next of several replies until the last one is acknowledged, which takes 40 ms or more
// without this option. The kernel clears the option when data is sent.
func QuickAck(conn net.Conn) func() {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	return option(conn, syscall.IPPROTO_TCP, syscall.TCP_QUICKACK, 1)
}

// Gather makes the kernel report c as readable only when n bytes, or the end, have arrived. That saves the processor
// time of waking up for each packet.
func Gather(c net.Conn, n int) { option(c, syscall.SOL_SOCKET, syscall.SO_RCVLOWAT, n)() }

// option returns a function that sets a socket option. It ignores errors, because the options only save time.
func option(conn net.Conn, level, name, value int) (set func()) {
	if socket, ok := conn.(syscall.Conn); ok {
		if raw, err := socket.SyscallConn(); err == nil {
			do := func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), level, name, value) }
			return func() { _ = raw.Control(do) }
		}
	}
	return func() {}
}
