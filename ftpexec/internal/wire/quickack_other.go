//go:build !linux

package wire

import "net"

// quickAck is for Linux; elsewhere the system decides.
func quickAck(net.Conn) {}
