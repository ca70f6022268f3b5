package testserver

import "net"

// bufferSize bounds one read from the socket. It is larger than a segment on the loopback interface, so that one read
// returns what a client sends with one write.
const bufferSize = 64 << 10

// wire is an accepted TCP connection, below TLS, that counts flights. Read and Write may each be used by one goroutine
// at a time.
type wire struct {
	net.Conn // not *net.TCPConn, whose ReadFrom would bypass the counters
	rec      *recorder
	num      int   // number of the control connection; 0 on data connections
	data     bool  // a data connection
	pace     *pace // of a data connection; nil if the link delays nothing

	buf, unread []byte // received and not yet read; owned by Read

	// Guarded by rec.mu.
	flight *flight // of the bytes received last
	open   bool    // nothing was sent since then
	epoch  int     // rec.epoch when the flight began
}

func newWire(c net.Conn, rec *recorder, num int, data bool) *wire {
	w := &wire{Conn: c, rec: rec, num: num, data: data}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if data {
		rec.data++
	} else {
		rec.control++
	}
	return w
}

// Read serves from the buffer first: only what comes from the socket can start a flight, however small p is.
func (w *wire) Read(p []byte) (int, error) {
	if len(w.unread) == 0 {
		if w.buf == nil {
			w.buf = make([]byte, bufferSize)
		}
		n, err := w.Conn.Read(w.buf)
		if n == 0 {
			return 0, err
		}
		w.received()
		w.unread = w.buf[:n]
	}
	n := copy(p, w.unread)
	w.unread = w.unread[n:]
	return n, nil
}

// received begins a new flight if something was sent since the last one.
func (w *wire) received() {
	w.rec.mu.Lock()
	defer w.rec.mu.Unlock()
	if !w.open || w.epoch != w.rec.epoch {
		w.begin()
	}
}

func (w *wire) begin() {
	w.open, w.epoch, w.flight = true, w.rec.epoch, &flight{conn: w.num}
	w.rec.flights = append(w.rec.flights, w.flight)
}

// Write ends the flight before it sends: the answer may arrive before the system call returns.
func (w *wire) Write(p []byte) (int, error) {
	w.rec.mu.Lock()
	w.open = false
	w.rec.mu.Unlock()
	if w.pace != nil {
		return w.pace.send(p, w.Conn.Write)
	}
	return w.Conn.Write(p)
}

// Close also ends the waits of the pace.
func (w *wire) Close() error {
	if w.pace != nil {
		w.pace.close()
	}
	return w.Conn.Close()
}

// tcp has the methods that TCP connections, and connections in memory, have beyond net.Conn.
type tcp interface {
	SetLinger(sec int) error
	CloseWrite() error
}

// reset closes the connection with RST instead of FIN.
func (w *wire) reset() {
	if c, ok := w.Conn.(tcp); ok {
		_ = c.SetLinger(0)
	}
	_ = w.Close()
}

// closeWrite sends FIN and leaves the connection open for reading.
func (w *wire) closeWrite() {
	if c, ok := w.Conn.(tcp); ok {
		_ = c.CloseWrite()
	}
}
