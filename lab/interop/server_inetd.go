//go:build linux

package interop

import (
	"fmt"
	"net"
	"sync"
)

// inetd does what inetd(8) does: it listens, and makes every connection the standard input and output of a new process.
type inetd struct {
	listener *net.TCPListener
	procs    *group
	program  program
	wait     sync.WaitGroup
}

func listenInetd(addr string, procs *group, p program) (*inetd, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	d := &inetd{listener: l.(*net.TCPListener), procs: procs, program: p}
	d.wait.Go(d.accept)
	return d, nil
}

func (d *inetd) accept() {
	for {
		conn, err := d.listener.AcceptTCP()
		if err != nil {
			return
		}
		if err := d.serve(conn); err != nil {
			fmt.Fprintln(d.procs.log, err)
		}
	}
}

func (d *inetd) serve(conn *net.TCPConn) error {
	defer conn.Close()
	// File returns a duplicate, in blocking mode as an inetd's child expects.
	socket, err := conn.File()
	if err != nil {
		return err
	}
	defer socket.Close()
	return d.procs.start(d.program, socket)
}

func (d *inetd) close() error {
	err := d.listener.Close()
	d.wait.Wait()
	return err
}
