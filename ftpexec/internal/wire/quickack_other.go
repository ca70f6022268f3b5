//go:build !linux

package wire

import "net"

// quickAck does nothing: only Linux has TCP_QUICKACK.
func quickAck(net.Conn) {}
