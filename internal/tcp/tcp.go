// Package tcp does with TCP connections what package net does not, or with more system calls, as far as the system can.
package tcp

import (
	"context"
	"net"
	"os"
)

// Open opens a connection, unless ctx ends before.
type Open = func(ctx context.Context) (net.Conn, error)

// Socket is a connection that Connect has made.
type Socket struct {
	*os.File
	peer net.Addr
}

// LocalAddr returns no address.
func (s Socket) LocalAddr() net.Addr { return &net.TCPAddr{} }

// RemoteAddr returns the peer's address.
func (s Socket) RemoteAddr() net.Addr { return s.peer }

// Read fails with the errors of package net.
func (s Socket) Read(p []byte) (int, error) {
	n, err := s.File.Read(p)
	if file, ok := err.(*os.PathError); ok && file.Err == os.ErrClosed {
		err = net.ErrClosed
	} else if ok {
		err = &net.OpError{Op: "read", Net: "tcp", Addr: s.peer, Err: os.NewSyscallError("read", file.Err)}
	}
	return n, err
}
