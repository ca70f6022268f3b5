package wire

import (
	"context"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"example.com/ftpfetch/internal/guard"
)

// here opens data connections in the goroutine that uses them. For a small file that takes much less processor time
// than another goroutine, which the system wakes up on another processor. What it needs for that serves all transfers
// of the connection.
type here struct {
	dialer net.Dialer
	ctx    context.Context // of the dialling; nil at first
	cancel context.CancelCauseFunc
	stop   context.CancelFunc // calls cancel
	timer  *time.Timer        // calls overhear
	heard  chan struct{}
	late   *time.Timer // ends the dialling; set by overhear

	// Of the data connection that is being opened.
	transfer Transfer
	unsent   bool  // transfer.Send was not called
	sent     error // what it returned

	mu       sync.Mutex
	waits    time.Time // since when the dialling waits for the server; zero if it does not
	watching bool      // the timer runs
}

// patience is how long here waits for the server to accept the connection before it also waits for replies. A timer
// that runs is left to end: the runtime wakes a thread up to wait for each new one that is the next to end, which takes
// a quarter of the processor time of a small file.
const patience = 20 * time.Millisecond

// ready returns the function that ends the dialling of the next data connection.
func (h *here) ready(c *Conn) context.CancelFunc {
	if h.timer == nil {
		// It sends no keep-alives: a data connection is never idle for long.
		h.dialer = net.Dialer{KeepAlive: -1, Control: h.made}
		h.heard = make(chan struct{}, 1)
		h.timer = time.AfterFunc(time.Hour, func() {
			if h.due() {
				h.overhear(c)
			}
		})
		h.timer.Stop()
	}
	if h.ctx == nil || h.ctx.Err() != nil {
		ctx, cancel := context.WithCancelCause(context.Background())
		h.ctx = ctx
		h.cancel = cancel
		h.stop = func() { cancel(nil) }
	}
	return h.stop
}

// openHere opens d; see [Conn.OpenData]. It returns the error of Send. It does not call Send if there is no socket.
func (c *Conn) openHere(d *Data, address string, transfer Transfer) error {
	h := &c.here
	h.transfer = transfer
	h.unsent = true
	h.sent = nil
	ctx := h.ctx
	// Not DialTCP, which binds the socket first: that takes a local port that no other socket may have.
	conn, err := h.dialer.DialContext(ctx, "tcp", address)
	heard := !h.unsent && h.sent == nil && h.overheard()
	ended := err != nil && ctx.Err() != nil
	switch {
	case err == nil:
		d.raw = conn
	case context.Cause(ctx) == os.ErrDeadlineExceeded:
		ended = false
		err = os.ErrDeadlineExceeded
	}
	d.err = d.dialled(err)
	d.open.Store(d.err == nil)
	if d.err != nil && !ended && h.sent == nil { // otherwise the data connection is not wanted any more
		c.dataFailed(d.err)
	}
	close(d.ready)
	if heard {
		<-h.heard
		h.late.Stop()
	}
	return h.sent
}

// made is called when there is a socket, before it connects.
func (h *here) made(string, string, syscall.RawConn) error {
	if h.unsent {
		h.unsent = false
		if h.sent = h.transfer.Send(); h.sent == nil {
			h.watch()
		}
	}
	return h.sent
}

// watch starts to wait for the server.
func (h *here) watch() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waits = time.Now()
	if !h.watching {
		h.watching = true
		h.timer.Reset(patience)
	}
}

// overheard ends the wait, and reports whether overhear has been called.
func (h *here) overheard() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	called := h.waits.IsZero()
	h.waits = time.Time{}
	return called
}

// due is called when the timer ends. It reports whether to call overhear.
func (h *here) due() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	left := patience - time.Since(h.waits)
	h.watching = !h.waits.IsZero() && left > 0
	if h.watching {
		h.timer.Reset(left)
		return false
	}
	waits := !h.waits.IsZero()
	h.waits = time.Time{}
	return waits
}

// overhear receives the reply to the command of the transfer while the connection is still being opened. If that fails,
// there will be no transfer. It also bounds the time for the opening.
func (h *here) overhear(c *Conn) {
	cancel := h.cancel
	h.late = time.AfterFunc(c.connectTimeout()-patience, func() { cancel(os.ErrDeadlineExceeded) })
	if err := guard.Do(h.transfer.Receive); err != nil {
		cancel(err)
	}
	h.heard <- struct{}{}
}
