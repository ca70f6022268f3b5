//go:build !linux

package tcp

import (
	"context"
	"net"
)

func QuickAck(net.Conn) func() { return func() {} } // only Linux has TCP_QUICKACK

func Gather(net.Conn, int) {} // only Linux is known to keep its promise

func Connect(_ *net.TCPAddr, dial func(context.Context) (net.Conn, error)) (net.Conn, func(context.Context) (net.Conn, error)) {
	return nil, dial
}
