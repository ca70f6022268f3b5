package ftptest

import (
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// memoryConn is one end of a connection of a Network.
type memoryConn struct {
	network       *Network
	local, remote *net.TCPAddr
	peer          *memoryConn

	// Guarded by network.mu.
	received    []byte // received data that was not read yet
	ended       bool   // the peer sends no more (FIN)
	broken      bool   // the peer has reset the connection (RST)
	closed      bool
	resets      bool // Close sends RST instead of FIN
	read, write deadline
}

// bufferSize is the number of unread bytes that a connection holds.
const bufferSize = 64 << 10

var _ net.Conn = (*memoryConn)(nil)

// Read waits for a byte, the end, or the deadline.
func (c *memoryConn) Read(p []byte) (int, error) {
	c.network.mu.Lock()
	defer c.network.mu.Unlock()
	for {
		switch {
		case c.closed:
			return 0, c.failed("read", net.ErrClosed)
		case c.read.passed():
			return 0, c.failed("read", os.ErrDeadlineExceeded)
		case c.broken:
			return 0, c.failed("read", os.NewSyscallError("read", syscall.ECONNRESET))
		case len(c.received) > 0:
			n := copy(p, c.received)
			c.received = c.received[n:]
			c.network.changed.Broadcast()
			return n, nil
		case c.ended:
			return 0, io.EOF
		}
		c.network.changed.Wait()
	}
}

// Write waits until all of p is in the peer's buffer.
func (c *memoryConn) Write(p []byte) (n int, err error) {
	c.network.mu.Lock()
	defer c.network.mu.Unlock()
	for {
		switch {
		case c.closed:
			return n, c.failed("write", net.ErrClosed)
		case c.write.passed():
			return n, c.failed("write", os.ErrDeadlineExceeded)
		case c.broken:
			return n, c.failed("write", os.NewSyscallError("write", syscall.ECONNRESET))
		case c.peer.ended || c.peer.closed:
			return n, c.failed("write", os.NewSyscallError("write", syscall.EPIPE))
		}
		room := min(len(p)-n, bufferSize-len(c.peer.received))
		c.peer.received = append(c.peer.received, p[n:n+room]...)
		n += room
		if room > 0 { // otherwise two waiting writers would wake each other forever
			c.network.changed.Broadcast()
		}
		if n == len(p) {
			return n, nil
		}
		c.network.changed.Wait()
	}
}

// Close resets the connection if received bytes were not read, as TCP does.
func (c *memoryConn) Close() error {
	c.network.mu.Lock()
	defer c.network.mu.Unlock()
	if c.closed {
		return c.failed("close", net.ErrClosed)
	}
	c.close(c.resets || len(c.received) > 0)
	return nil
}

// close is Close with the lock held.
func (c *memoryConn) close(reset bool) {
	c.closed, c.peer.ended = true, true
	c.peer.broken = c.peer.broken || reset
	c.read.stop()
	c.write.stop()
	c.network.changed.Broadcast()
}

// CloseWrite sends FIN.
func (c *memoryConn) CloseWrite() error {
	c.network.mu.Lock()
	defer c.network.mu.Unlock()
	c.peer.ended = true
	c.network.changed.Broadcast()
	return nil
}

// SetLinger makes Close reset the connection if sec is 0.
func (c *memoryConn) SetLinger(sec int) error {
	c.network.mu.Lock()
	defer c.network.mu.Unlock()
	c.resets = sec == 0
	return nil
}

func (c *memoryConn) LocalAddr() net.Addr  { return c.local }
func (c *memoryConn) RemoteAddr() net.Addr { return c.remote }

func (c *memoryConn) SetDeadline(t time.Time) error {
	return c.bound(t, &c.read, &c.write)
}

func (c *memoryConn) SetReadDeadline(t time.Time) error { return c.bound(t, &c.read) }

func (c *memoryConn) SetWriteDeadline(t time.Time) error { return c.bound(t, &c.write) }

func (c *memoryConn) bound(t time.Time, deadlines ...*deadline) error {
	c.network.mu.Lock()
	defer c.network.mu.Unlock()
	if c.closed {
		return c.failed("set", net.ErrClosed)
	}
	for _, d := range deadlines {
		d.stop()
		d.at = t
		if !t.IsZero() {
			d.timer = time.AfterFunc(time.Until(t), c.network.changed.Broadcast)
		}
	}
	c.network.changed.Broadcast()
	return nil
}

func (c *memoryConn) failed(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Source: c.local, Addr: c.remote, Err: err}
}

// deadline ends the waits of a Read or a Write.
type deadline struct {
	at    time.Time // zero: never
	timer *time.Timer
}

func (d *deadline) passed() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }

func (d *deadline) stop() {
	if d.timer != nil {
		d.timer.Stop()
	}
}
