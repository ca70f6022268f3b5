package testserver

import (
	"time"

	"github.com/spf13/afero"
)

// TLSMode says how the embedded server treats TLS (RFC 4217).
type TLSMode int

// The TLS modes of [Options].
const (
	TLSOff      TLSMode = iota // AUTH is answered by 502
	TLSOffered                 // AUTH TLS is taken; without it everything works in clear
	TLSRequired                // USER before AUTH TLS gets 530, a transfer without PROT P gets 521
	TLSImplicit                // TLS from the first octet on, on both connections
)

// Options configures the embedded server. The zero value, and a nil *Options,
// give an anonymous server in clear over an empty tree on 127.0.0.1.
type Options struct {
	// FS is the tree that is served; nil means a new, empty afero.MemMapFs. It is
	// an afero.Fs and not an fs.FS because the server's driver wants one, and so
	// that a test can change files while the server runs. afero.FromIOFS serves
	// an fs.FS.
	FS afero.Fs
	// Tree is added to FS: path -> contents. A path that ends in "/" makes a
	// directory. Paths are octets, not text; missing directories are made.
	Tree map[string]string
	// ModTime is the modification time of all files in Tree; zero means now.
	ModTime time.Time

	// Users holds name -> password. The anonymous users ("anonymous" and
	// "ftp", any password) are accepted unless NoAnonymous.
	Users       map[string]string
	NoAnonymous bool
	// NoPassword lists users who are logged in by 230 to USER.
	NoPassword []string
	// Home gives a user's working directory after login, default "/". The
	// directory is made where it is missing.
	Home map[string]string

	// Greeting is the text of the 220 reply; lines are separated by "\n".
	Greeting string
	// Network is "tcp4" (127.0.0.1, the default) or "tcp6" (::1).
	Network string

	TLS TLSMode
	// TLSMaxVersion is the highest version spoken, such as tls.VersionTLS12;
	// zero is the highest that crypto/tls knows.
	TLSMaxVersion uint16
	// TLSNoTickets gives out no session tickets: no session can be resumed.
	TLSNoTickets bool
	// TLSRequireReuse refuses data connections that do not resume a TLS
	// session, as vsftpd's require_ssl_reuse does.
	TLSRequireReuse bool

	// OnCommand, when set, is called with every command line, passwords
	// included, right before the server handles it and after it was recorded.
	// It may block: the connection waits for it. Calls for different control
	// connections are concurrent.
	OnCommand func(line string)
	// Fault, when set, is asked before every command, after OnCommand, what
	// is to go wrong. Calls for different connections are concurrent.
	Fault func(FaultPoint) Fault
}
