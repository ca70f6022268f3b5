package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

// Data is a data connection that is being opened while its owner goes on: the RETR is under way during the
// TCP handshake. The first Read waits for it; TLS starts with the first Read too, which is after the
// server's 150 (servers that start TLS only then would lock up otherwise).
//
// Data belongs to one goroutine; Close may come from any.
type Data struct {
	net.Conn // nil until ready; its addresses are not asked for by the library
	cancel   context.CancelFunc
	ready    chan struct{} // closed when Conn and err are set
	err      error

	stall time.Duration
	secs  *tls.Config // nil: in clear

	finished bool // the final reply has come already: there is nothing to wait long for
	listing  bool // of a listing, of which left octets may come
	left     int64
	ended    bool        // the server has closed it
	fatal    func(error) // called where reading fails: the session is over

	raw net.Conn // under TLS: what Conn stands on
}

// graceAfterFinal bounds the wait for data when the server has said already that it sent all.
const graceAfterFinal = 5 * time.Second

// openData starts open in the background. failed is called, from another goroutine, where it fails.
func openData(ctx context.Context, cfg *Config, open func(context.Context) (net.Conn, error), failed func(error)) *Data {
	ctx, cancel := context.WithTimeout(ctx, cfg.ConnectTimeout)
	d := &Data{cancel: cancel, ready: make(chan struct{}), stall: cfg.StallTimeout, secs: cfg.TLSConfig}
	go func() {
		defer cancel()
		conn, err := open(ctx)
		if err != nil {
			d.err = &DataDialError{err}
			failed(d.err)
		} else {
			d.secure(conn)
		}
		close(d.ready)
	}()
	return d
}

// secure sets the connection to read from. The handshake comes with the first Read.
func (d *Data) secure(conn net.Conn) {
	d.raw, d.Conn = conn, conn
	if d.secs != nil {
		d.Conn = tls.Client(conn, d.secs)
	}
}

// Wait returns when the connection is open, or with why it is not.
func (d *Data) Wait() error {
	if err := d.wait(); err != nil {
		return d.failed(err)
	}
	return nil
}

// Read reads octets as the server sent them. It fails with [ErrTimeout] where none came for the stall timeout.
func (d *Data) Read(p []byte) (int, error) {
	if err := d.wait(); err != nil {
		return 0, d.failed(err)
	}
	n, err := d.Conn.Read(p)
	if d.listing {
		if d.left -= int64(n); d.left < 0 {
			return 0, d.failed(ErrListing)
		}
	}
	switch {
	case errors.Is(err, io.EOF):
		d.ended = true
		return n, err
	case err != nil:
		return n, d.failed(err)
	}
	return n, nil
}

// failed gives a read error its meaning and ends the session. Where the server has said already that the
// listing is complete, there is just no more of it: it may not have opened a connection for no names.
func (d *Data) failed(err error) error {
	err = d.Reason(err)
	if d.finished && d.listing && !errors.Is(err, ErrListing) && !errors.Is(err, ErrTLSHandshake) {
		d.ended = true
		return io.EOF
	}
	d.fatal(err)
	return err
}

// TCP returns the connection under d where octets may be taken from it as they are: opened, in clear, plain
// TCP; else nil. The caller calls [Data.Extend] before every read.
func (d *Data) TCP() *net.TCPConn {
	if d.wait() != nil {
		return nil
	}
	tcp, _ := d.Conn.(*net.TCPConn)
	return tcp
}

// Extend gives the next octet the whole stall timeout.
func (d *Data) Extend() error { return d.ExtendBy(d.Patience()) }

// ExtendBy gives the next octet t.
func (d *Data) ExtendBy(t time.Duration) error { return d.Conn.SetReadDeadline(time.Now().Add(t)) }

// Reason gives a read error its meaning: [ErrTimeout] for a deadline, [ErrTLSHandshake] for a failed handshake.
func (d *Data) Reason(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("%w: no data for %v", ErrTimeout, d.Patience())
	}
	if d.handshaking() && !transport(err) {
		return fmt.Errorf("%w: %w", ErrTLSHandshake, err)
	}
	return err
}

// handshaking reports TLS that is not established yet.
func (d *Data) handshaking() bool {
	secure, ok := d.Conn.(*tls.Conn)
	return ok && !secure.ConnectionState().HandshakeComplete
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

func (d *Data) wait() error {
	<-d.ready
	if d.err != nil {
		return d.err
	}
	return d.Extend()
}

// Close ends the connection, opened or not.
func (d *Data) Close() error {
	d.cancel()
	<-d.ready
	if d.err != nil {
		return nil
	}
	return d.raw.Close()
}

// Write refuses: nothing is ever sent to the server.
func (d *Data) Write([]byte) (int, error) { return 0, errors.New("data connection is for reading") }
