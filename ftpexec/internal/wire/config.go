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
	"strconv"
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

	Secrets *Secrets    // to be masked in every text
	Trace   func(Event) // nil means no trace
	Number  int         // of the connection, for the trace
}

// EventKind is the kind of an [Event].
type EventKind int

const (
	EventNote    EventKind = iota // something that the client did or decided, such as connecting or falling back to PASV
	EventCommand                  // a command, as sent
	EventReply                    // one line of a reply, as received
)

// String returns "note", "command" or "reply".
func (k EventKind) String() string {
	names := []string{"note", "command", "reply"}
	if k < 0 || int(k) >= len(names) {
		return "EventKind(" + strconv.Itoa(int(k)) + ")"
	}
	return names[k]
}

// Event is one step of the dialogue with a server.
type Event struct {
	Kind   EventKind
	Text   string // without CR LF; secrets are masked, but it is not escaped for a terminal
	Flight int    // for a command, the number of the write that carried it, from 1 on each connection
	Server string // host:port of the URL
	Conn   int    // the number of the control connection among those of the Client, from 1; 0 if the event is about none
}
