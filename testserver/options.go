package testserver

import (
	"crypto/tls"
	"time"

	"github.com/spf13/afero"
)

// TLSMode says how the embedded server treats TLS (RFC 4217).
type TLSMode int

// The TLS modes of [Options].
const (
	tlsOff      TLSMode = iota // AUTH gets 502
	TLSOffered                 // AUTH TLS is accepted, but everything works without it
	TLSRequired                // USER before AUTH TLS gets 530, a transfer without PROT P gets 521
	TLSImplicit                // TLS from the first byte, on both connections
)

// Options configures the embedded server. The zero value, and a nil *Options,
// mean an anonymous server without TLS, with an empty tree, on 127.0.0.1.
type Options struct {
	// FS is the served tree; nil means a new, empty afero.MemMapFs. It is an
	// afero.Fs rather than an fs.FS because the server's driver needs one, and so
	// that a test can change files while the server runs. Use afero.FromIOFS to
	// serve an fs.FS.
	FS afero.Fs
	// Tree is added to FS: path -> contents. A path that ends in "/" makes a
	// directory. Paths are bytes, not text; missing directories are created.
	Tree map[string]string
	// ModTime is the modification time of all files in Tree; zero means now.
	ModTime time.Time

	// Users holds name -> password. A user whose password is "" needs none: USER
	// gets 230. The anonymous users ("anonymous" and "ftp") are accepted with any
	// password if they are not among Users.
	Users map[string]string
	// Home holds name -> working directory after login, default "/". Missing
	// directories are created.
	Home map[string]string

	// Network is "tcp4" (127.0.0.1, the default) or "tcp6" (::1).
	Network string

	TLS TLSMode
	// TLSConfig, when set, is what the server begins with: its versions, its session
	// tickets. The certificate is the server's own.
	TLSConfig *tls.Config
	// TLSRequireReuse refuses data connections that do not resume a TLS
	// session, as vsftpd's require_ssl_reuse does.
	TLSRequireReuse bool

	// Fault, when set, decides what goes wrong with the greeting and with each
	// command. The server calls it after it has recorded the command and before it
	// handles it. Fault may block: the connection waits for it. Calls for different
	// connections are concurrent.
	Fault func(FaultPoint) Fault
}

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
