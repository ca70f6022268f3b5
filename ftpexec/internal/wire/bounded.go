package wire

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

var errNoConn = errors.New("Dial returned neither a connection nor an error")

// opened returns what a Dial function has returned.
func opened(conn net.Conn, err error) (net.Conn, error) {
	if err == nil && conn == nil {
		return nil, errNoConn
	}
	return conn, err
}

// bounded returns a connection of Dial that knows deadlines. If it knows none of its own, as one through an SSH tunnel, it gets
// timers in their place.
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

func (t *timed) Read(p []byte) (int, error) {
	defer t.read.start(t.Conn)()
	n, err := t.Conn.Read(p)
	return n, t.read.reason(err)
}

func (t *timed) Write(p []byte) (int, error) {
	defer t.write.start(t.Conn)()
	n, err := t.Conn.Write(p)
	return n, t.write.reason(err)
}

func (t *timed) SetReadDeadline(at time.Time) error {
	t.read.set(at)
	return nil
}

func (t *timed) SetWriteDeadline(at time.Time) error {
	t.write.set(at)
	return nil
}

func (t *timed) SetDeadline(at time.Time) error {
	t.read.set(at)
	t.write.set(at)
	return nil
}

// timer is a deadline of a timed. It runs only while a call waits.
type timer struct {
	mu     sync.Mutex
	at     time.Time   // zero: never
	alarm  *time.Timer // of the call that waits; nil if none does
	passed bool
}

func (t *timer) set(at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at = at
	if t.alarm != nil {
		t.alarm.Reset(t.left())
	}
}

func (t *timer) left() time.Duration {
	if t.at.IsZero() {
		return never
	}
	return time.Until(t.at)
}

const never = 100 * 365 * 24 * time.Hour

// start begins a call that waits for conn. stop ends it.
func (t *timer) start(conn net.Conn) (stop func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.alarm = time.AfterFunc(t.left(), func() {
		t.mu.Lock()
		t.passed = true
		t.mu.Unlock()
		conn.Close()
	})
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.alarm.Stop()
		t.alarm = nil
	}
}

// reason returns the error of a call: the deadline if that is why the connection is closed.
func (t *timer) reason(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil && t.passed {
		return os.ErrDeadlineExceeded
	}
	return err
}
