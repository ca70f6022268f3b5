package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// Data is a data connection that is being opened while its owner goes on: the RETR is under way during the
// TCP handshake. TLS starts as soon as the RETR has left, and no earlier: there are servers that start it only
// then, and lock up otherwise. The first Read waits for it all.
//
// Data belongs to one goroutine; Close may come from any.
type Data struct {
	net.Conn // nil until ready
	control  *Conn
	cancel   context.CancelFunc
	asked    chan struct{} // closed when the command of the transfer has left
	ready    chan struct{} // closed when Conn, raw and err are set
	err      error
	raw      net.Conn // under TLS: what Conn stands on

	stall   time.Duration
	pace    pace
	waiting time.Time // since when the next octet is waited for

	finished bool // the final reply has come already: there is nothing to wait long for
	listing  bool // of a listing, of which left octets may come
	left     int64
	octets   int64 // that have come
	ended    bool  // the server has closed it
}

// graceAfterFinal bounds the wait for data when the server has said already that it sent all.
const graceAfterFinal = 5 * time.Second

// lineCost is what one name takes in memory beyond its octets.
const lineCost = 32

// openData begins to open a data connection, by open. ctx covers all of its life.
func (c *Conn) openData(ctx context.Context, open func(context.Context) (net.Conn, error)) *Data {
	ctx, cancel := context.WithCancel(ctx)
	d := &Data{control: c, cancel: cancel, asked: make(chan struct{}), ready: make(chan struct{}), stall: c.cfg.StallTimeout,
		pace: pace{rate: c.cfg.LeastRate, over: c.cfg.LeastTime}}
	secure := c.dataTLS
	go func() {
		defer close(d.ready)
		opening, stop := context.WithTimeout(ctx, c.cfg.ConnectTimeout)
		d.raw, d.err = open(opening)
		stop()
		switch {
		case d.err == nil && secure != nil:
			d.err = d.secure(ctx, secure)
			return
		case d.err == nil:
			d.Conn = d.raw
			return
		case errors.Is(d.err, syscall.ECONNRESET): // it was open, however shortly
			d.err = fmt.Errorf("%w: %w", ErrLost, plain(d.err))
		default:
			d.err = &DataDialError{d.err}
		}
		if ctx.Err() == nil { // else it is not wanted any more
			c.dataFailed(d.err)
		}
	}()
	return d
}

// secure puts TLS on the connection. What bounds it is the wait of a Read: a server may take long before its
// 150, and starts TLS only then.
func (d *Data) secure(ctx context.Context, config *tls.Config) error {
	select {
	case <-d.asked:
	case <-ctx.Done():
		return ctx.Err()
	}
	conn := tls.Client(d.raw, config)
	d.Conn = conn
	err := conn.HandshakeContext(ctx)
	if err != nil && ctx.Err() == nil && !transport(err) {
		return handshakeError(err)
	}
	return err
}

// begun tells that the command of the transfer has left.
func (d *Data) begun() {
	select {
	case <-d.asked:
	default:
		close(d.asked)
	}
}

// Wait returns when the connection is open, or with why it is not.
func (d *Data) Wait() error {
	if err := d.wait(); err != nil {
		return d.failed(err)
	}
	return nil
}

// Read reads octets as the server sent them. It fails with [ErrTimeout] where none came for the stall timeout, or
// fewer than the least rate wants.
func (d *Data) Read(p []byte) (int, error) {
	if err := d.wait(); err != nil {
		return 0, d.failed(err)
	}
	n, err := d.Conn.Read(p)
	d.octets += int64(n)
	if d.listing {
		if d.left -= int64(n + lineCost*bytes.Count(p[:n], []byte("\n"))); d.left < 0 {
			return 0, d.failed(ErrListing)
		}
	}
	switch slow := d.pace.count(n, time.Since(d.waiting)); {
	case errors.Is(err, io.EOF):
		d.ended = true
		return n, err
	case slow != nil:
		return n, d.failed(slow)
	case err != nil:
		return n, d.failed(err)
	}
	return n, nil
}

// failed gives a read error its meaning and ends the session. Where the server has said already that the
// listing is complete, there is just no more of it: it may not have opened a connection for no names.
func (d *Data) failed(err error) error {
	err = d.Reason(err)
	if d.finished && d.listing && d.octets == 0 && !errors.Is(err, ErrListing) && !errors.Is(err, ErrTLSHandshake) && !errors.Is(err, ErrCertificate) {
		d.ended = true
		return io.EOF
	}
	d.control.Abandon(err)
	return d.control.Err()
}

// TCP returns the connection under d where octets may be taken from it as they are: open, in clear, plain
// TCP; else nil. The caller calls [Data.ExtendBy] before every read. Where a least rate is to be kept it is nil:
// a splice does not tell the time that it waits for the server from that for the file.
func (d *Data) TCP() *net.TCPConn {
	if d.pace.rate > 0 || d.wait() != nil {
		return nil
	}
	tcp, _ := d.Conn.(*net.TCPConn)
	return tcp
}

// ExtendBy gives the next octet t.
func (d *Data) ExtendBy(t time.Duration) error { return d.Conn.SetReadDeadline(time.Now().Add(t)) }

// Reason gives a read error its meaning; io.EOF stays.
func (d *Data) Reason(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return timedOut("no data", d.Patience())
	}
	return explain(err)
}

// transport reports an error of the connection under TLS; an alert of the other side is none.
func transport(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op != "remote error"
}

// Patience is the stall timeout: how long there may be no octet.
func (d *Data) Patience() time.Duration {
	if d.finished {
		return min(d.stall, graceAfterFinal)
	}
	return d.stall
}

// wait returns when octets may be read.
func (d *Data) wait() error {
	patience := time.NewTimer(d.Patience())
	defer patience.Stop()
	select {
	case <-d.ready:
	case <-patience.C:
		return os.ErrDeadlineExceeded
	}
	if d.err != nil {
		return d.err
	}
	d.waiting = time.Now()
	return d.ExtendBy(min(d.Patience(), d.pace.left()))
}

// Close ends the connection, opened or not.
func (d *Data) Close() error {
	d.cancel()
	<-d.ready
	if d.raw == nil {
		return nil
	}
	return d.raw.Close()
}

// Octets returns how many octets Read has returned.
func (d *Data) Octets() int64 { return d.octets }
