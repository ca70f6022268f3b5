package wire

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"example.com/ftpfetch/internal/guard"
	"example.com/ftpfetch/internal/local/localfile"
)

// Data is a data connection that opens in the background, so that RETR is under way during the TCP handshake. TLS
// starts when RETR has been sent, not earlier, because some servers start it only then, and otherwise hang. The first
// Read waits until the connection is open.
//
// One goroutine at a time may use a Data, but any goroutine may call Close.
type Data struct {
	net.Conn // nil until ready
	control  *Conn
	cancel   context.CancelFunc // ends the opening
	own      bool               // cancel ends nothing else, and must be called in the end
	asked    context.Context    // for TLS: ends when RETR or a listing has been sent, which lets TLS start
	sent     context.CancelFunc // ends asked
	socket   chan struct{}      // closed when there is a socket to connect, perhaps after ready; may be nil
	ready    chan struct{}      // closed when Conn, raw and err are set
	err      error
	raw      net.Conn // the TCP connection under Conn, if open is set
	tail     *tail    // raw under TLS
	open     atomic.Bool

	connect time.Duration // bounds the opening
	stall   time.Duration
	pace    pace
	waiting time.Time // when the wait for the next byte began

	finished bool  // the final reply has come already, so the data should be near
	whole    bool  // all bytes have come, so only the end is missing
	listing  bool  // the data is a listing
	left     int64 // of MaxListing
	read     int64 // bytes that Read has returned
	last     byte  // of them
	ended    bool  // the server has closed the connection
	cut      error // why TLS is not up, if it has done so before that
}

// ErrMute means that a server has said that a listing is over, and leaves the data connection open without a byte. Another
// try would bring the same. An empty directory is not certain.
var ErrMute = errors.New("a data connection without data or end")

// ErrOpen is what Read returns after [Data.Whole] if the server leaves the connection open. The connections stay usable.
var ErrOpen = errors.New("the data connection stays open")

// graceAfterWhole bounds the wait for the end of the data after its last byte. Then the final reply decides.
const graceAfterWhole = 2 * time.Second

// graceAfterFinal bounds the wait for data after the server has said that it sent all of it.
const graceAfterFinal = 5 * time.Second

// lineCost is the memory, in bytes, that a line of a listing takes beyond its text.
const lineCost = 32

// openData starts to open a data connection with dial, which may close socket before the connection is open. The end of
// ctx closes the connection.
func (c *Conn) openData(ctx context.Context, socket chan struct{}, dial dialing) *Data {
	ctx, cancel := context.WithCancel(ctx)
	d := c.newData(cancel)
	d.own = true
	d.socket = socket
	if c.dataTLS != nil && !c.clearData {
		d.asked, d.sent = context.WithCancel(ctx)
	}
	go func() {
		defer close(d.ready)
		d.err = d.dial(ctx, dial)
		d.open.Store(d.err == nil)
		switch {
		case d.err == nil && d.asked != nil:
			d.err = guard.Do(func() error { return d.secure(ctx, c.dataTLS) })
		case d.err != nil && ctx.Err() == nil: // otherwise the data connection is not wanted any more
			c.dataFailed(d.err)
		}
	}()
	return d
}

// newData returns a Data that is not open yet. cancel ends the opening.
func (c *Conn) newData(cancel context.CancelFunc) *Data {
	return &Data{
		control: c,
		cancel:  cancel,
		sent:    func() {},
		ready:   make(chan struct{}),
		stall:   c.cfg.Timeout,
		connect: c.connectTimeout(),
		pace:    pace{rate: c.cfg.MinRate, over: c.cfg.RateTime},
	}
}

// dialing opens a data connection.
type dialing = func(context.Context) (net.Conn, error)

// dial opens the TCP connection within the connect timeout.
func (d *Data) dial(ctx context.Context, dial dialing) error {
	opening, stop := context.WithCancel(ctx)
	defer stop()
	// The dialer would set a deadline of ctx on the socket, which costs more.
	timeout := time.AfterFunc(d.connect, stop)
	err := guard.Do(func() (err error) {
		d.raw, err = opened(dial(opening))
		return err
	})
	timeout.Stop()
	if err != nil && ctx.Err() == nil && opening.Err() != nil {
		err = os.ErrDeadlineExceeded
	}
	return d.dialled(err)
}

// dialled ends the dialling of raw: it returns the error for err.
func (d *Data) dialled(err error) error {
	switch {
	case err == nil:
		d.raw = d.control.bounded(d.raw)
		d.Conn = d.raw
		return nil
	case errors.Is(err, syscall.ECONNRESET): // it was open for a moment
		return because(ErrLost, err)
	}
	return &DataDialError{because(ErrConnect, err)}
}

// secure starts TLS on the connection. Only the timeout of Read bounds it: a server may take long before its 150 and
// may start TLS only then.
func (d *Data) secure(ctx context.Context, config *tls.Config) error {
	<-d.asked.Done()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	d.tail = &tail{Conn: d.raw}
	conn := tls.Client(d.tail, config)
	d.Conn = conn
	err := conn.HandshakeContext(ctx)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return dataHandshakeError(err)
}

// tail is a TCP connection under TLS. The data should end with close_notify, which comes before the end of TCP.
type tail struct {
	net.Conn
	ended bool
}

func (t *tail) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	t.ended = errors.Is(err, io.EOF)
	return n, err
}

// Abrupt reports whether the data has ended under TLS without close_notify. It may have been cut.
func (d *Data) Abrupt() bool { return d.cut == nil && d.tail != nil && d.tail.ended }

// Cut returns an error if the server has closed the connection before TLS was up on it. Then Read returns io.EOF. Some
// servers do that if they have nothing to send. The caller must know from elsewhere that there was nothing.
func (d *Data) Cut() error { return d.cut }

// Wait waits until the connection is open, or has ended. It returns an error if it cannot be opened.
func (d *Data) Wait() error {
	err := d.failed(d.wait())
	if d.cut != nil {
		return nil
	}
	return err
}

// Read reads the bytes that the server sends. It fails with [ErrTimeout] if no byte comes for the stall timeout, or if
// the server is slower than the least rate.
func (d *Data) Read(p []byte) (int, error) {
	if err := d.wait(); err != nil {
		return 0, d.failed(err)
	}
	n, err := d.Conn.Read(p)
	d.read += int64(n)
	if n > 0 {
		d.last = p[n-1]
	}
	if d.listing {
		if d.left -= int64(n + lineCost*bytes.Count(p[:n], []byte("\n"))); d.left < 0 {
			return 0, d.failed(ErrListing)
		}
	}
	slow := d.Slow(int64(n), time.Since(d.waiting))
	switch {
	case errors.Is(err, io.EOF):
		d.ended = true
		return n, err
	case n == 0 && d.whole && errors.Is(err, os.ErrDeadlineExceeded):
		return 0, ErrOpen
	}
	return n, d.failed(cmp.Or(slow, err))
}

// closings are the errors of a connection that the server has closed.
var closings = []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE}

// failed explains a read error and abandons the connection. After one that was cut the final reply is due: failed returns
// io.EOF. If the server has already said that a listing is complete
// and the connection could not be opened, or has ended without a byte, failed returns io.EOF: a server may open no
// connection for an empty listing.
func (d *Data) failed(err error) error {
	if err == nil {
		return nil
	}
	err = d.Reason(err)
	if errors.Is(err, errCutShort) && IsOneOf(err, closings...) {
		d.cut = err
		d.ended = true
		return io.EOF
	}
	none := !d.open.Load() && !localfile.Failed(err) || errors.Is(err, ErrLost)
	if d.finished && d.listing && d.read == 0 && none {
		d.ended = true
		return io.EOF
	}
	d.control.Abandon(err)
	return d.control.Err()
}

// mostSpliced is the highest least rate, in bytes per second, at which TCP may be used. A splice does not show how long
// it waited for the server and how long for the file. While the file is slow, a server that is not slow still brings
// much more.
const mostSpliced = 1 << 10

// TCP returns the TCP connection of d if the caller may read from it directly, else nil. It may if the connection is
// open, without TLS, and has no least rate or a very low one. The caller must call [Data.ExtendBy] before every read,
// and [Data.Slow] after one that the deadline has ended.
func (d *Data) TCP() *net.TCPConn {
	if d.pace.rate > mostSpliced || d.wait() != nil {
		return nil
	}
	whole, _ := d.Conn.(*net.TCPConn)
	return whole
}

// ExtendBy sets the read deadline to t from now, or to when the server must have sent enough. It ignores an error: if
// the connection has ended, the next read shows that, perhaps after the last data.
func (d *Data) ExtendBy(t time.Duration) {
	_ = d.Conn.SetReadDeadline(time.Now().Add(min(t, d.pace.left())))
}

// Slow counts n bytes and the time spent waiting for them. It returns an error if the server is slower than the least
// rate.
func (d *Data) Slow(n int64, waited time.Duration) error { return d.pace.count(n, waited) }

// Reason explains a read error. It returns io.EOF unchanged.
func (d *Data) Reason(err error) error {
	switch {
	case d.whole && errors.Is(err, os.ErrDeadlineExceeded):
		return ErrOpen
	case errors.Is(err, os.ErrDeadlineExceeded) && d.finished && d.listing && d.read == 0:
		const what = "the server says that the listing is over, but no data came"
		return fmt.Errorf("%w%.0w", timedOut(what, d.Patience()), ErrMute)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return silent("no data", d.Patience())
	}
	return explain(err)
}

// Patience returns the stall timeout, or a shorter time if the final reply or the last byte has come.
func (d *Data) Patience() time.Duration {
	switch {
	case d.whole:
		return min(d.stall, graceAfterWhole)
	case d.finished:
		return min(d.stall, graceAfterFinal)
	}
	return d.stall
}

// Whole says whether all bytes have come, so that the next Read finds the end or returns [ErrOpen].
func (d *Data) Whole(all bool) { d.whole = all }

// More reports whether a byte has come after all, although the server left the connection open.
func (d *Data) More() bool {
	_ = d.Conn.SetReadDeadline(time.Now().Add(time.Millisecond))
	n, _ := d.Conn.Read(make([]byte, 1))
	return n > 0
}

// wait waits until the connection is open, and sets the deadline for the next read.
func (d *Data) wait() error {
	select {
	case <-d.ready:
	default:
		select {
		case <-d.ready:
		case <-time.After(d.Patience()):
			return os.ErrDeadlineExceeded
		}
	}
	if d.err != nil {
		return d.err
	}
	d.waiting = time.Now()
	d.ExtendBy(d.Patience())
	return nil
}

// Close closes the connection, or stops opening it.
func (d *Data) Close() error {
	select {
	case <-d.ready:
	default:
		d.cancel()
		<-d.ready
	}
	if d.own {
		d.cancel()
	}
	if d.open.Load() {
		_ = d.raw.Close() // the end of a handshake may have closed it
	}
	return nil
}

// drop reads and drops n bytes, and reports whether the data ended after them.
func (d *Data) drop(n int64) bool {
	if d.wait() != nil {
		return false
	}
	_ = d.Conn.SetReadDeadline(time.Now().Add(dropTime))
	came, err := io.Copy(io.Discard, io.LimitReader(d.Conn, n+1))
	return err == nil && came == n && !d.Abrupt()
}

// InLine reports whether the last byte that Read has returned is in the midst of a line.
func (d *Data) InLine() bool { return d.read > 0 && d.last != '\n' }

// Received returns how many bytes Read has returned.
func (d *Data) Received() int64 { return d.read }

// pace checks whether a server keeps the least rate. It must send rate * over bytes in each stretch of that duration. A
// stretch ends as soon as that many bytes have come. Only the time spent waiting for bytes counts, not the time in
// which the receiver is busy.
type pace struct {
	rate int64         // bytes per second; 0 means no least rate
	over time.Duration // the length of a stretch

	bytes  int64 // of this stretch
	waited time.Duration
}

// count adds n bytes, and the time spent waiting for them. It returns an error if the stretch ends with too few.
func (p *pace) count(n int64, waited time.Duration) error {
	if p.rate <= 0 {
		return nil
	}
	p.bytes += n
	p.waited += waited
	switch {
	case float64(p.bytes) >= float64(p.rate)*p.over.Seconds():
		p.bytes = 0
		p.waited = 0
	case p.waited >= p.over:
		return fmt.Errorf("%w: %d bytes in %s, fewer than %d per second",
			ErrTimeout, p.bytes, lasting(p.over), p.rate)
	}
	return nil
}

func (p *pace) left() time.Duration {
	if p.rate <= 0 {
		return math.MaxInt64
	}
	return p.over - p.waited
}
