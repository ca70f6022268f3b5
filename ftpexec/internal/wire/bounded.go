package wire

import (
	"errors"
	"math"
	"net"
	"os"
	"sync"
	"time"
)

var errNoConn = errors.New("no connection: Dial returned neither one nor an error")

// opened returns what a Dial function has returned.
func opened(conn net.Conn, err error) (net.Conn, error) {
	if err == nil && conn == nil {
		return nil, errNoConn
	}
	return conn, err
}

// bounded returns conn, which comes from Dial, with deadlines. If conn does not support them, such as a connection
// through an SSH tunnel, it gets timers in their place.
func (c *Conn) bounded(conn net.Conn) net.Conn {
	if c.timers {
		return &timed{Conn: conn}
	}
	return conn
}

// timed is a connection whose deadlines are timers. One that passes while a call waits closes the connection.
type timed struct {
	net.Conn
	read, write timer
}

func (t *timed) Read(p []byte) (int, error)          { return t.read.bound(t.Conn, t.Conn.Read, p) }
func (t *timed) Write(p []byte) (int, error)         { return t.write.bound(t.Conn, t.Conn.Write, p) }
func (t *timed) SetReadDeadline(at time.Time) error  { return t.read.set(at) }
func (t *timed) SetWriteDeadline(at time.Time) error { return t.write.set(at) }

// timer is a deadline of a timed. It runs only while a call waits.
type timer struct {
	mu     sync.Mutex
	at     time.Time   // zero: never
	alarm  *time.Timer // of the call that waits; nil if none does
	passed bool
}

func (t *timer) set(at time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at = at
	if t.alarm != nil {
		t.alarm.Reset(t.left())
	}
	return nil
}

// left returns how long a call may wait.
func (t *timer) left() time.Duration {
	if t.at.IsZero() {
		return math.MaxInt64
	}
	return time.Until(t.at)
}

// bound calls a method of conn that may wait. If the deadline passes meanwhile, it closes conn.
func (t *timer) bound(conn net.Conn, call func([]byte) (int, error), p []byte) (int, error) {
	t.mu.Lock()
	t.alarm = time.AfterFunc(t.left(), func() {
		t.mu.Lock()
		t.passed = true
		t.mu.Unlock()
		conn.Close()
	})
	t.mu.Unlock()
	n, err := call(p)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.alarm.Stop()
	t.alarm = nil
	if err != nil && t.passed {
		err = os.ErrDeadlineExceeded
	}
	return n, err
}
