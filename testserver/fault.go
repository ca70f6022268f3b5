package testserver

// FaultPoint says where in a dialogue the server is when it asks
// [Options].Fault what should go wrong.
type FaultPoint struct {
	Conn     int    // number of the control connection, from 1
	Verb     string // in upper case; "" is the greeting, before any command
	Arg      string // everything after the verb's space
	Open     int    // control connections that are open now, this one included
	Transfer int    // for RETR, NLST, LIST, MLSD, STOR, APPE: number of the transfer on this server, from 1; else 0
}

// Ending is what happens to a connection.
type Ending int

// The endings of a connection.
const (
	intact  Ending = iota // nothing happens to it
	Closed                // closed (FIN)
	Reset                 // reset (RST): the client may lose bytes that it has not read yet
	Stalled               // stays open and silent until the client goes away or the server is closed
)

// Fault is what goes wrong with one command. With the zero value nothing does.
type Fault struct {
	// Reply is sent instead of handling the command. It may hold several
	// replies; the last CRLF may be left out.
	Reply string
	// Final replaces the final (2yz to 5yz) reply, after the command was
	// handled: a lying 226, a wrong size.
	Final string
	// Before happens to the control connection instead of handling the
	// command, After happens to it after the final reply. If After is Stalled
	// the final reply is not sent.
	Before, After Ending
	// Data happens to the passive data connection once Octets bytes have been
	// sent on it (under TLS, bytes of TLS records). The server itself does not
	// notice and sends 226: use Final for a truthful 426.
	Data   Ending
	Octets int64
}
