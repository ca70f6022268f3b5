package testserver

// FaultPoint says where in a dialogue the server is when it asks
// [Options].Fault what is to go wrong.
type FaultPoint struct {
	Conn     int    // number of the control connection, from 1
	Verb     string // in upper case; "" is the greeting, before any command
	Arg      string // octets behind the verb's space
	Transfer int    // RETR, NLST, LIST, MLSD, STOR, APPE: how many of them the server got, this one included; else 0
}

// Ending is what becomes of a connection.
type Ending int

// The endings of a connection.
const (
	Intact  Ending = iota // nothing happens to it
	Closed                // closed (FIN)
	Reset                 // reset (RST): octets that the client has not read yet may be lost
	Stalled               // stays open and silent until the client goes away or the server is closed
)

// Fault is what goes wrong with one command. The zero value is: nothing.
type Fault struct {
	// Reply is sent in place of handling the command; one reply or several,
	// the last CRLF may be left out.
	Reply string
	// Final is sent in place of the final (2yz to 5yz) reply, after the
	// command was handled: a lying 226, a wrong size.
	Final string
	// Before is what becomes of the control connection in place of handling
	// the command, After what becomes of it after the final reply. Stalled
	// as After holds the final reply back.
	Before, After Ending
	// Data is what becomes of the passive data connection once Octets octets
	// were sent on it (under TLS, octets of TLS records). The server itself
	// does not notice and sends 226: use Final for a truthful 426.
	Data   Ending
	Octets int64
}
