//go:build !linux

package wire

import "net"

func quickAck(net.Conn) func() { return func() {} } // only Linux has TCP_QUICKACK

func gather(net.Conn, int) {} // only Linux is known to keep its promise
