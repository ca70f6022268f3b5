// Package wire is the connections of one FTP session: the control connection, which sends flights of commands and
// receives their replies in order, and the data connection of a transfer.
//
// It bounds every wait and every reply, puts TLS on both connections, opens data connections without waiting for
// them, traces it all with secrets masked, and knows no library. Which commands are sent, and what their replies
// mean, is its caller's affair.
package wire

import (
	"context"
	"crypto/tls"
	"net"
	"time"
)

// Config says how the connections of one session behave. It is not changed once in use.
type Config struct {
	Host    string // name or address to resolve, and the name that a certificate must bear
	Address string // host:port of the control connection
	Dial    func(ctx context.Context, network, address string) (net.Conn, error)
	Proxied bool // Dial goes through a proxy, whose address the connections bear; Host leads to the server

	ImplicitTLS bool        // TLS from the first octet
	TLSConfig   *tls.Config // a private copy, with ServerName and a session cache of its own; nil without TLS

	ConnectTimeout time.Duration // for a TCP connection
	ReplyTimeout   time.Duration // for every reply, the final one too
	StallTimeout   time.Duration // for data: the longest time without one octet
	LeastRate      int64         // of data, octets a second in each LeastTime; 0: any
	LeastTime      time.Duration

	MaxListing int64 // octets of a listing, at most, where each line costs lineCost more

	Secrets *Secrets    // what no text may show
	Trace   func(Event) // nil: no trace
}

// EventKind says what an [Event] tells.
type EventKind int

const (
	EventNote    EventKind = iota // what the client does or decides: connected, TLS, falling back
	EventCommand                  // a command, as sent
	EventReply                    // one line of a reply, as received
)

// Event is one step of the dialogue with a server.
type Event struct {
	Kind   EventKind
	Text   string // octets without CR LF, secrets masked; not escaped for a terminal
	Flight int    // for a command: the number of the write that carried it, from 1 on each connection
}
