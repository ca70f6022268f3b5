//go:build !linux

package tcp

import "net"

func QuickAck(net.Conn) func() { return func() {} } // only Linux has TCP_QUICKACK

func Gather(net.Conn, int) {} // only Linux is known to keep its promise

func Connect(_ *net.TCPAddr, dial Open) (net.Conn, Open, error) { return nil, dial, nil }
