package ftpexec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ftpfetch/ftpexec/internal/wire"
	"example.com/ftpfetch/urlparse"
)

// body is a Response's Body in image type, and the source of one in ASCII type.
type body struct {
	ctx    context.Context // of Open; an io.Reader's methods take no context
	s      *session
	conn   *wire.Conn // the session's while the body is open
	url    *urlparse.URL
	op     Command // RETR
	stop   func()  // ends the hold of ctx on conn
	setUp  string  // what sets up the next data connection; "" if it cannot be sent ahead
	more   func() bool
	data   io.Reader
	wire   *wire.Data
	size   int64 // bytes expected, from the offset on; -1 if unknown
	text   bool  // ASCII type: the number of bytes is not that of the server's file
	offset int64
	n      atomic.Int64

	over atomic.Bool // err is set
	mu   sync.Mutex  // guards err against Close
	err  error       // how the body ended: io.EOF or an *Error; nil if it has not
}

func (b *body) Read(p []byte) (int, error) {
	if err := b.ended(); err != nil || len(p) == 0 {
		return 0, err
	}
	n, err := b.data.Read(p)
	return n, b.advance(n, err)
}

// ended returns how the body ended, or nil if it has not.
func (b *body) ended() error {
	if !b.over.Load() {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// advance counts n bytes. It ends the body if err is not nil or too many bytes have come.
func (b *body) advance(n int, err error) error {
	got := b.n.Add(int64(n))
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.err != nil: // Close was called
	case b.size >= 0 && got > b.size:
		b.fail(fmt.Errorf("%w: more than the %d bytes announced", ErrTruncated, b.size))
	case err == io.EOF:
		b.complete()
	case err != nil:
		b.fail(err)
	default:
		return nil
	}
	return b.err
}

// complete ends the body at the end of the data. It succeeds if the final reply is 2yz and the size is as announced.
func (b *body) complete() {
	b.wire.Close()
	ahead := b.sendAhead()
	final, e := finish(b.conn, b.url, b.op, b.n.Load(), b.size < 0)
	err := b.short(b.size)
	switch {
	case e != nil && (final == nil || err == nil):
		err = e
	case e == nil && err == nil:
		err = b.confirm()
	}
	if ahead {
		b.s.sentAhead(b.conn, b.setUp)
	}
	if err == nil {
		b.release()
		b.end(io.EOF)
		return
	}
	if ahead { // which may be why
		b.s.client.learn(b.url, isLate)
	}
	b.fail(err)
	if e := b.err.(*Error); final != nil && e.Reply == nil {
		e.Reply = final
		e.readLimits(b.op, b.conn.Secure())
	}
}

// sendAhead sends the set-up of the next transfer if the data is whole and another transfer follows.
func (b *body) sendAhead() bool {
	if b.more == nil || b.setUp == "" || b.size < 0 || b.n.Load() != b.size || b.s.client.habits(b.url).late || !b.more() {
		return false
	}
	b.conn.Ahead(wire.Line{Text: b.setUp, Shown: b.setUp})
	return true
}

// short returns an error if the body does not have size bytes. A size of -1 is unknown.
func (b *body) short(size int64) error {
	if got := b.n.Load(); size >= 0 && got != size {
		return fmt.Errorf("%w: %d of %d bytes", ErrTruncated, got, size)
	}
	return nil
}

// confirm asks for the size with MLST (RFC 3659 section 7) if nothing else has told it. Without a size only the final
// reply says that the file is complete. A reply that MLST does not have (250 and 5yz) may be a second one.
func (b *body) confirm() error {
	if b.size < 0 && !b.text {
		r, err := b.conn.Ask("MLST "+b.op.Arg, true)
		switch size := sizeFact(r); {
		case err != nil:
			return err
		case r.Code != 250 && r.First() != 5:
			return &wire.ReplyError{Reply: r, Err: ErrTruncated}
		case size >= 0:
			b.size = max(0, size-b.offset)
		}
	}
	if err := b.conn.Ended(); err != nil { // it may have ended during MLST
		return err
	}
	err := b.short(b.size)
	if err == nil && b.wire.Abrupt() {
		err = b.s.client.abrupt(b.conn, b.url, b.size >= 0)
	}
	return err
}

// end ends the body.
func (b *body) end(err error) {
	b.err = err
	b.over.Store(true)
}

// fail ends the transfer and closes the connection, on which data may still be coming.
func (b *body) fail(err error) {
	b.conn.Abandon(err)
	b.end(failure(b.url, b.op, b.conn.Secure(), err).unless(b.ctx))
	b.release()
}

// release gives the session back.
func (b *body) release() {
	b.stop()
	if b.s.end(b.conn, false) {
		b.s.client.put(b.s)
	}
}

// Close ends the transfer. Any goroutine may call it. After a complete transfer it does nothing.
func (b *body) Close() error {
	if !b.over.Load() {
		b.conn.Abandon(errClosed) // makes a Read that holds the lock return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.fail(errClosed)
	}
	return nil
}

var errClosed = errors.New("body closed before its end")

// chunk (in bytes) and slice bound one step of straight, which counts between the steps. lastLook is how long the step
// takes that only looks whether bytes have come since the one before.
const (
	chunk    = 1 << 20
	slice    = 500 * time.Millisecond
	lastLook = time.Millisecond
)

// buffers are for a WriteTo that cannot use splice.
var buffers = sync.Pool{New: func() any { b := make([]byte, 256<<10); return &b }}

// WriteTo writes the rest of the body to w. Without TLS it copies straight from the socket (splice(2) on Linux) to an
// *os.File that is a regular file. It returns an error of w unchanged.
func (b *body) WriteTo(w io.Writer) (int64, error) {
	if file, ok := w.(*os.File); ok && !b.over.Load() {
		info, err := file.Stat() // a device refuses only after bytes have left the socket, which are then lost
		if tcp := b.wire.TCP(); tcp != nil && err == nil && info.Mode().IsRegular() {
			return b.straight(file, tcp)
		}
	}
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	return io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{b}, *buf)
}

// straight copies in steps, without a buffer in this process. Each step takes what has come before it waits for more.
// The transfer has stalled if none came until a step that began after the stall timeout, however many steps that took.
func (b *body) straight(file *os.File, tcp *net.TCPConn) (written int64, err error) {
	defer b.wire.Gather(tcp)()
	progress := time.Now()
	for !b.over.Load() {
		left := b.wire.Patience() - time.Since(progress)
		if err := b.wire.ExtendBy(min(slice, max(left, lastLook))); err != nil {
			b.advance(0, b.wire.Reason(err))
			break
		}
		n, err := file.ReadFrom(&io.LimitedReader{R: tcp, N: chunk})
		written += n
		if n > 0 {
			progress = time.Now()
		}
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded) && (n > 0 || left > 0):
			err = nil
		case err == nil && n < chunk:
			err = io.EOF
		case err != nil:
			socket := socketError(err)
			if socket == nil {
				return written, err
			}
			err = socket
		}
		b.advance(int(n), b.wire.Reason(err))
	}
	if err := b.ended(); err != io.EOF {
		return written, err
	}
	return written, nil
}

// socketError returns err as an error of the socket, or nil if it is one of the file. A splice reports both in the same
// way.
func socketError(err error) error {
	var op *net.OpError
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, net.ErrClosed) || errors.As(err, &op) {
		return err
	}
	for _, errno := range socketErrors {
		if errors.Is(err, errno) {
			return &net.OpError{Op: "read", Net: "tcp", Err: errno}
		}
	}
	return nil
}
