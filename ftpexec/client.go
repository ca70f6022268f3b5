// Package ftpexec retrieves what ftp URLs name (RFC 1738 section 3.2) from FTP servers. [Plan] turns a URL into FTP
// commands, [Client.Do] retrieves a file, and [Client.Entries] lists a directory; [Client.List] lists only names.
// Package ftpfs makes a directory an [io/fs.FS], and package ftphttp retrieves for programs that use net/http.
//
//	var c ftpexec.Client
//	r, err := c.Get(ctx, "ftp://ftp.example.org/pub/file")
//
// The methods of Client take parsed URLs, except Get, which parses one first. Package download saves files, with
// retries.
//
// The package uses no files, flags or terminal. No text that it returns or traces contains a password.
package ftpexec

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"example.com/ftpfetch/ftpexec/internal/wire"
	"example.com/ftpfetch/urlparse"
)

// What a [Client] does if its fields do not say otherwise.
const (
	DefaultConnectTimeout = 30 * time.Second // ConnectTimeout
	DefaultTimeout        = time.Minute      // Timeout

	// MinRate and MinRateTime if MinRate is 0: 17 bytes per second, averaged over 10 minutes, so that no server can hold
	// a call for ever with a byte now and then.
	DefaultMinRate     = 17
	DefaultMinRateTime = 10 * time.Minute
)

const (
	defaultRateTime = 30 * time.Second // of a MinRate that is set
	defaultMaxIdle  = 8
	idleTimeout     = 60 * time.Second // how long the Client keeps an idle connection
	idleAdmitted    = time.Second      // the same with Admit
	// how long after Admit a connection takes further work
	admittedTime = 30 * time.Second
	// the password for anonymous logins (RFC 1738 section 3.2.1)
	email = "ftpfetch@example.com"
	// bytes of memory: what the server sends, and some more for each line
	defaultMaxListing = 256 << 20
)

// Client retrieves the files and directories that ftp URLs name. The zero value is ready to use: it logs in as
// anonymous if the URL names no user (ftp://anonymous:me%40example.org@host/ sends another password), uses passive
// mode, and does not encrypt unless the URL's scheme is ftps or ftpes. A Client is safe for concurrent use. It must not
// be copied, nor its fields changed, after first use.
type Client struct {
	// Credentials returns a secret that the server asks for and the URL lacks. The argument what is "password", or
	// "account" for the few servers that want an account after the password (ACCT, RFC 959 section 4.1.1). Credentials
	// may block, for example to ask the user. If it has nothing to return, it returns [ErrNoCredentials]; if the field
	// is nil, the login fails with that error too. The secret is sent byte for byte, and must not contain CR, LF or NUL.
	Credentials func(ctx context.Context, host, user, what string) (string, error)
	// Trace, if not nil, gets the events of all calls; see [WithTrace] for those of one.
	Trace *Trace

	// bounds each TCP connect, and TLS handshakes on control connections; 0 means DefaultConnectTimeout
	ConnectTimeout time.Duration
	// bounds each wait for a reply or for data, TLS handshakes on data connections included; 0 means DefaultTimeout
	Timeout time.Duration

	// MinRate is the lowest rate, in bytes per second on average over MinRateTime, at which a server may send. If it
	// sends less, the transfer fails with ErrTimeout. Time in which the caller does not read does not count. 0 means
	// DefaultMinRate over DefaultMinRateTime. A negative number means no limit.
	MinRate int64
	// MinRateTime is the time over which MinRate is averaged; 0 means 30 seconds. It counts only if MinRate is set.
	MinRateTime time.Duration

	// MaxIdle is how many connections to each server stay open, logged in, when no call uses them. A later call to the
	// same server with the same login then needs no login of its own (RFC 1738 section 3.2.5). 0 means 8. With a
	// negative number every call opens a connection of its own and closes it at its end. MaxIdle limits only connections
	// that are idle. If more than eight goroutines share the Client, set MaxIdle to their number: otherwise some
	// connections are closed between two files, and opened again.
	//
	// A server sees as many connections as calls run at once, and after them up to MaxIdle for a minute, then QUIT. If
	// it allows only a few for each address, MaxConns sets that limit. CloseIdleConnections closes the idle ones at
	// once.
	MaxIdle int
	// MaxConns is the maximum number of connections to one server, idle ones included. 0 means no limit. A call that
	// finds all of them in use waits for one, in the order of the calls, or until ctx ends. A Response holds its
	// connection until its Body is read to the end or closed. download.Run needs no MaxConns.
	MaxConns int
	// Admit, if not nil, is called before a call opens a connection to address (host:port), and release after the
	// connection is closed. Admit may wait for other programs to close their connections; ConnectTimeout does not
	// include that wait. So that other programs get their turn, a Client with Admit closes a connection that has
	// been idle for a second, and uses none for another call that is more than 30 seconds old.
	Admit func(ctx context.Context, address string) (release func(), err error)

	AllowPort    bool // allow the ports of other protocols; see [urlparse.URL.BadPort]
	NoPipelining bool // send one command at a time
	Octets       bool // names are bytes in the server's own charset: never ask for UTF-8 (OPTS UTF8 ON)
	// ask for data connections with PASV (RFC 959) and do not try EPSV (RFC 2428) first; no effect over IPv6, for which
	// PASV has no address
	NoEPSV bool
	// PassiveHost sends PASV without trying EPSV first, and opens data connections to the host that the reply names, as
	// some clusters need. Such a server can make the client connect to any host. Without PassiveHost, data connections
	// go to the host of the control connection only.
	PassiveHost bool
	Active      bool // the server opens data connections to the client (EPRT, PORT)
	// TLSConfig configures TLS on control and data connections. nil means TLS 1.2 or later and the system's certificate
	// authorities. If ServerName is empty, the certificate must be for the URL's host. The Client uses a copy with a
	// ClientSessionCache of its own for each control connection.
	TLSConfig *tls.Config
	// Pinned are certificates of servers. A server that shows one of them, and so proves to have its key, is trusted,
	// whatever names, times and authority the certificate has. Other servers need a certificate that TLSConfig accepts;
	// its VerifyPeerCertificate then gets no verified chains.
	Pinned []*x509.Certificate
	// TryTLS asks the servers of ftp URLs for TLS too (AUTH TLS), and goes on unencrypted if the server refuses.
	// It protects against eavesdroppers, but not against attackers who can change the reply: use ftpes URLs for that.
	TryTLS bool
	// Dial opens the connections for control and data. nil means a net.Dialer with its defaults. If a connection does
	// not support deadlines, such as one through an SSH tunnel, the Client closes it when a deadline passes. If the
	// remote address of the control connection is not a TCP address, data connections are dialled to the URL's host.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Proxy, if not nil, returns the function that replaces Dial for the control connection to address (host:port) and
	// for its data connections, or nil to use Dial. The function connects through a proxy, which resolves host names,
	// so data connections are dialled to the URL's host. Its errors are in the chain of the [Error].
	Proxy func(address string) func(ctx context.Context, network, address string) (net.Conn, error)

	maxListing int64        // for tests; 0 means defaultMaxListing
	secrets    wire.Secrets // sent on any connection
	dialled    atomic.Int64 // control connections so far
	pool       pool
}

// Get parses rawURL and retrieves the file that it names; see [Client.Do] and [urlparse.Parse].
func (c *Client) Get(ctx context.Context, rawURL string) (*Response, error) {
	u, err := urlparse.Parse(rawURL)
	if err != nil {
		return nil, err
	}
	return c.Do(ctx, &Request{URL: u})
}

// config returns the settings of a connection to the server of u, some of whose addresses have failed.
func (c *Client) config(u *urlparse.URL, failed []string) wire.Config {
	cfg := wire.Config{
		Host:           u.Host,
		Address:        u.Address(),
		Dial:           c.Dial,
		ImplicitTLS:    u.Scheme == "ftps",
		ConnectTimeout: cmp.Or(c.ConnectTimeout, DefaultConnectTimeout),
		Timeout:        cmp.Or(c.Timeout, DefaultTimeout),
		MinRate:        c.MinRate,
		RateTime:       cmp.Or(c.MinRateTime, defaultRateTime),
		MaxListing:     cmp.Or(c.maxListing, defaultMaxListing),
		Secrets:        &c.secrets,
	}
	if c.MinRate == 0 {
		cfg.MinRate = DefaultMinRate
		cfg.RateTime = DefaultMinRateTime
	}
	if c.Proxy != nil {
		if dial := c.Proxy(u.Address()); dial != nil {
			cfg.Dial = dial
			cfg.Proxied = true
		}
	}
	if cfg.Dial == nil {
		cfg.Dial = dialAround(failed)
		cfg.Direct = true
	}
	if u.Scheme != "ftp" || c.TryTLS {
		cfg.TLSConfig = cmp.Or(c.TLSConfig.Clone(), &tls.Config{MinVersion: tls.VersionTLS12})
		// Servers want a data connection to resume the control connection's session. The two share a cache, keyed by
		// ServerName.
		cfg.TLSConfig.ServerName = cmp.Or(cfg.TLSConfig.ServerName, u.Host)
		cfg.TLSConfig.ClientSessionCache = sessions{tls.NewLRUClientSessionCache(4)}
		if len(c.Pinned) > 0 && !cfg.TLSConfig.InsecureSkipVerify {
			pin(cfg.TLSConfig, c.Pinned)
		}
	}
	return cfg
}

// pin makes cfg trust certificates of servers. crypto/tls cannot: it verifies names and times before it calls anything.
func pin(cfg *tls.Config, pinned []*x509.Certificate) {
	further := cfg.VerifyConnection
	usual := x509.VerifyOptions{Roots: cfg.RootCAs, DNSName: cfg.ServerName}
	now := cfg.Time
	cfg.InsecureSkipVerify = true // verified below
	cfg.VerifyConnection = func(state tls.ConnectionState) error {
		leaf := state.PeerCertificates[0]
		if !slices.ContainsFunc(pinned, leaf.Equal) {
			o := usual
			if now != nil {
				o.CurrentTime = now()
			}
			o.Intermediates = x509.NewCertPool()
			for _, c := range state.PeerCertificates[1:] {
				o.Intermediates.AddCert(c)
			}
			if _, err := leaf.Verify(o); err != nil {
				return &tls.CertificateVerificationError{UnverifiedCertificates: state.PeerCertificates, Err: err}
			}
		}
		if further != nil {
			return further(state)
		}
		return nil
	}
}

// tries reports whether the client asks for TLS that u does not require.
func (c *Client) tries(u *urlparse.URL) bool { return c.TryTLS && u.Scheme == "ftp" }

// sessions is a cache from which crypto/tls cannot remove a session. crypto/tls removes a session when a handshake
// fails, as on the data connection of a refused transfer, but the next transfer must resume that session.
type sessions struct{ tls.ClientSessionCache }

func (s sessions) Put(key string, session *tls.ClientSessionState) {
	if session != nil {
		s.ClientSessionCache.Put(key, session)
	}
}
