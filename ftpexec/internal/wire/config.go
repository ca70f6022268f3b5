// Package wire provides the connections of an FTP session: the control connection, which sends flights of commands and
// receives their replies in order, and the data connection of a transfer.
//
// It bounds every wait and every reply, protects both connections with TLS, opens data connections without waiting for
// them, and traces the dialogue with secrets masked. The caller decides which commands are sent and what their replies
// mean.
package wire

import (
	"context"
	"crypto/tls"
	"net"
	"time"
)

// Config configures a Conn. It must not be changed while in use.
type Config struct {
	Host    string // the name or address to resolve, and the name that a certificate must be for
	Address string // host:port of the control connection
	Dial    func(ctx context.Context, network, address string) (net.Conn, error)
	Proxied bool // Dial goes through a proxy: the connections have its address, and Host leads to the server

	ImplicitTLS bool        // TLS from the first byte
	TLSConfig   *tls.Config // a private copy with ServerName and its own session cache; nil without TLS

	ConnectTimeout time.Duration // for each TCP connect, and the TLS handshake of the control connection
	Timeout        time.Duration // for each reply, and the longest time without a byte of data
	MinRate        int64         // of data, in bytes per second over each RateTime; 0 means no limit
	RateTime       time.Duration

	MaxListing int64 // the most bytes of a listing; each line counts lineCost more

	Secrets *Secrets // to be masked in every text
	// Trace, if not nil, gets the dialogue: a mark, a text without CR LF, and the number of flights so far.
	Trace func(mark byte, text string, flight int)
}

// The marks of what Config.Trace gets.
const (
	Noted    = '*' // something that the client did or decided
	Sent     = '>' // a command
	Received = '<' // one line of a reply
)
