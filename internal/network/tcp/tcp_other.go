//go:build !linux

// Package tcp sets socket options that package net does not offer, if the system has them.
package tcp

import "net"

func QuickAck(net.Conn) func() { return func() {} } // only Linux has TCP_QUICKACK

func Gather(net.Conn, int) {} // only Linux is known to honor SO_RCVLOWAT
