//go:build !linux

// Package tcp sets options of sockets that package net does not know, as far as the system can.
package tcp

import "net"

func QuickAck(net.Conn) func() { return func() {} } // only Linux has TCP_QUICKACK

func Gather(net.Conn, int) {} // only Linux is known to keep its promise
