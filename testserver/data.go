package testserver

import (
	"io"
	"maps"
	"net"
	"slices"
	"sync"
)

// dataListener wraps a passive listener of the library. Its connections are counted, tied to their control connection, and
// subject to faults.
type dataListener struct {
	net.Listener
	front *front
}

// Accept waits for the client. The library calls it when a transfer begins.
func (l *dataListener) Accept() (net.Conn, error) {
	raw, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &dataConn{wire: newWire(raw, &l.front.srv.recorder, 0, true), front: l.front}
	if ex := l.front.current(); ex != nil {
		c.ending, c.room = ex.ending, ex.room
	}
	if !l.front.hold(c) {
		_ = c.Close()
		return nil, net.ErrClosed
	}
	return c, nil
}

func (l *dataListener) Close() error {
	l.front.drop(l)
	return l.Listener.Close()
}

// hold keeps c for closeData. It returns false if the client is already gone.
func (f *front) hold(c io.Closer) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held[c] = struct{}{}
	return !f.ended
}

func (f *front) drop(c io.Closer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.held, c)
}

// wrap returns a dataListener on l, the library's listener for this connection.
func (f *front) wrap(l net.Listener) net.Listener {
	d := &dataListener{Listener: l, front: f}
	if !f.hold(d) {
		_ = l.Close()
	}
	return d
}

// closeData closes the data connections and their listeners, because the library would wait for a client that is gone.
func (f *front) closeData() {
	f.mu.Lock()
	held := slices.Collect(maps.Keys(f.held))
	f.mu.Unlock()
	for _, c := range held {
		_ = c.Close()
	}
}

// dataConn is a passive data connection that ends early if a fault says so.
type dataConn struct {
	*wire
	front  *front
	ending Ending
	room   int64 // bytes left before ending

	cut  bool
	once sync.Once
}

// Write sends what the fault allows. After a cut the rest vanishes without an error, so the server sends a lying 226.
func (c *dataConn) Write(p []byte) (int, error) {
	switch {
	case c.cut:
		return len(p), nil
	case c.ending == intact || int64(len(p)) < c.room:
		c.room -= int64(len(p))
		return c.wire.Write(p)
	}
	c.cut = true
	if n, err := c.wire.Write(p[:c.room]); err != nil {
		return n, err
	}
	return c.strike(len(p))
}

func (c *dataConn) strike(n int) (int, error) {
	switch c.ending {
	case Reset:
		c.wire.reset()
	case Stalled:
		// Wait until the client or the server ends the connection.
		_, _ = io.Copy(io.Discard, c.wire.Conn)
		return 0, net.ErrClosed
	default:
		_ = c.wire.Close()
	}
	return n, nil
}

func (c *dataConn) Close() error {
	c.front.drop(c)
	err := net.ErrClosed
	c.once.Do(func() { err = c.wire.Close() })
	return err
}
