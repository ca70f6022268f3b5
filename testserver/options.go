package testserver

import (
	"time"

	"github.com/spf13/afero"
)

// TLSMode says how the embedded server treats TLS (RFC 4217).
type TLSMode int

// The TLS modes of [Options].
const (
	TLSOff      TLSMode = iota // AUTH gets 502
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

	// Users holds name -> password. The anonymous users ("anonymous" and
	// "ftp", any password) are accepted unless NoAnonymous is set.
	Users       map[string]string
	NoAnonymous bool
	// NoPassword lists users whose USER gets 230.
	NoPassword []string
	// Home holds name -> working directory after login, default "/". Missing
	// directories are created.
	Home map[string]string

	// Greeting is the text of the 220 reply; lines are separated by "\n".
	Greeting string
	// Network is "tcp4" (127.0.0.1, the default) or "tcp6" (::1).
	Network string

	TLS TLSMode
	// TLSMaxVersion is the highest version that the server accepts, such as
	// tls.VersionTLS12; zero means the highest that crypto/tls supports.
	TLSMaxVersion uint16
	// TLSNoTickets disables session tickets: no session can be resumed.
	TLSNoTickets bool
	// TLSRequireReuse refuses data connections that do not resume a TLS
	// session, as vsftpd's require_ssl_reuse does.
	TLSRequireReuse bool

	// OnCommand, when set, is called with every command line, passwords
	// included, after the line was recorded and right before the server handles
	// it. It may block: the connection waits for it. Calls for different control
	// connections are concurrent.
	OnCommand func(line string)
	// Fault, when set, decides what goes wrong with the greeting and with each
	// command. The server calls it after OnCommand and before handling the
	// command. Calls for different connections are concurrent.
	Fault func(FaultPoint) Fault
}
