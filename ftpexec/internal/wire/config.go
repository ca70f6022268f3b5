// Package wire is what lies under jlaffaye/ftp: the control connection and the data connections of one FTP
// session, as net.Conns that the library gets through its DialFunc.
//
// The library decides what is asked; this package decides how it travels. It bounds every wait, gives the
// library replies in the exact codes that it knows, answers by itself what the library asks on its own
// account, sends commands ahead of the question in flights, opens data connections without waiting for
// them, and traces it all with secrets masked.
package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"
)

// Config says how the connections of one session behave. It is not changed once in use.
type Config struct {
	Host    string // name or address to resolve, and the name that a certificate must bear
	Address string // host:port of the control connection
	Dial    func(ctx context.Context, network, address string) (net.Conn, error)
	Proxied bool                                                          // Dial goes through a proxy, whose address the connections bear; Host leads to the server
	Listen  func(ctx context.Context, local net.IP) (net.Listener, error) // for active mode; nil means passive mode

	ImplicitTLS bool        // TLS from the first octet
	ExplicitTLS bool        // AUTH TLS (RFC 4217)
	TryTLS      bool        // with ExplicitTLS: go on in clear where the server refuses AUTH by 5yz
	TLSConfig   *tls.Config // a private copy, with ServerName and a session cache of its own; nil without TLS

	ConnectTimeout time.Duration // for a TCP connection
	ReplyTimeout   time.Duration // for every reply, the final one too
	StallTimeout   time.Duration // for data: the longest time without one octet
	LeastRate      int64         // of data, octets a second in each LeastTime; 0: any
	LeastTime      time.Duration

	MaxListing int64 // octets of a listing, at most, where each line costs lineCost more

	NoEPSV bool // PASV at once
	UTF8   bool // FEAT goes out after the login, and OPTS UTF8 ON where it is offered

	Anonymous bool     // what Password gives is no secret
	Secrets   *Secrets // those that a client has used on any connection; nil: this connection has its own

	Password func(ctx context.Context) (string, error) // asked after 331, or when PASS travels ahead
	Account  func(ctx context.Context) (string, error) // asked after 332
	Trace    func(Event)                               // nil: no trace
}

// TimeoutError is an [ErrTimeout] that says what did not come.
type TimeoutError struct{ What string }

func (e *TimeoutError) Error() string { return ErrTimeout.Error() + ": " + e.What }

// Is makes e an [ErrTimeout].
func (e *TimeoutError) Is(target error) bool { return target == ErrTimeout }

func timedOut(what string, limit time.Duration) error {
	return &TimeoutError{fmt.Sprintf("%s for %v", what, limit)}
}

// DataDialError is an [ErrDataDial] with its cause.
type DataDialError struct{ Err error }

func (e *DataDialError) Error() string { return ErrDataDial.Error() + ": " + e.Err.Error() }

// Is makes e an [ErrDataDial].
func (e *DataDialError) Is(target error) bool { return target == ErrDataDial }

// Unwrap returns the cause.
func (e *DataDialError) Unwrap() error { return e.Err }

// EventKind says what an [Event] tells.
type EventKind int

const (
	EventNote    EventKind = iota // what the client decides
	EventCommand                  // a command, as sent
	EventReply                    // a line of a reply, as received
)

// Event is one step of the dialogue. Secrets are masked.
type Event struct {
	Kind   EventKind
	Text   string // octets, without CR LF
	Flight int    // for a command: the number, from 1, of the write that carried it
}

var (
	// ErrTimeout: a reply, or an octet of data, did not come in time.
	ErrTimeout = errors.New("timed out")
	// ErrLost: replies to commands that were sent ahead did not come, or not in order. One command at a time may work.
	ErrLost = errors.New("replies lost")
	// ErrDataDial: the server's data port cannot be reached.
	ErrDataDial = errors.New("data connection cannot be opened")
	// ErrListing: a listing is longer than Config.MaxListing, or one of its lines than the library takes.
	ErrListing = errors.New("listing too long")
	// ErrPassive: the reply to EPSV or PASV names no port.
	ErrPassive = errors.New("no usable port in the reply")
	// ErrActive: the server takes neither EPRT nor PORT.
	ErrActive = errors.New("server refuses active mode")
	// ErrSecret: a password or account holds CR, LF or NUL, which FTP cannot send.
	ErrSecret = errors.New("password or account holds CR, LF or NUL, which FTP cannot send")
	// ErrTLSUnavailable: the server does not offer the TLS that was asked for.
	ErrTLSUnavailable = errors.New("server does not offer TLS")
	// ErrTLSHandshake: TLS was agreed on but could not be established.
	ErrTLSHandshake = errors.New("TLS handshake failed")
	// ErrGreeting: the server turned the connection away in its greeting.
	ErrGreeting = errors.New("server turns the connection away")
)
