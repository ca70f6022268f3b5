// Package ftpexec retrieves what ftp URLs name (RFC 1738 section 3.2) from FTP servers. [NewPlan] turns a URL into
// an ordered [Plan] of FTP commands, [Client.Do] retrieves a file, and [Client.Entries] lists a directory; [Client.List]
// lists only names. Package ftpfs makes a directory an [io/fs.FS], and package ftphttp retrieves for programs that use
// net/http.
//
//	var c ftpexec.Client
//	r, err := c.Get(ctx, "ftp://ftp.example.org/pub/file")
//
// The methods of Client and Session take parsed URLs, except Get, which parses one first.
//
// The package uses no files, flags or terminal. No text that it returns or traces contains a password.
package ftpexec

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ftpfetch/ftpexec/internal/wire"
	"example.com/ftpfetch/urlparse"
)

// Defaults for the fields of [Client] that are zero. defaultMaxListing is in bytes.
const (
	defaultConnectTimeout = 30 * time.Second
	defaultTimeout        = 60 * time.Second
	defaultRateTime       = 30 * time.Second
	defaultMaxIdle        = 2
	defaultIdleTimeout    = 60 * time.Second
	defaultEmail          = "ftpfetch@example.com"
	defaultMaxListing     = 256 << 20
)

// Client retrieves the files and directories that ftp URLs name. The zero value is ready to use: it logs in as
// anonymous if the URL names no user, uses passive mode, and does not encrypt unless the URL's scheme is ftps or
// ftpes. A Client is safe for concurrent use. It must not be copied, nor its fields changed, after first use.
type Client struct {
	// Credentials supplies a password or account that the server asks for and the URL does not contain. If it is
	// nil, such a login fails with ErrNoCredentials.
	Credentials Credentials
	// Email is the password for anonymous logins (RFC 1738 section 3.2.1). "" means ftpfetch@example.com.
	Email string
	// Trace, if not nil, is called for every step of the dialogue. The calls for one session come in order; those
	// for different sessions may be concurrent.
	Trace func(Event)

	ConnectTimeout time.Duration // bounds each TCP connect, and TLS handshakes on control connections; 0 means 30 seconds
	Timeout        time.Duration // bounds each wait for a reply or for data, TLS handshakes on data connections included; 0 means a minute

	// MinRate is the lowest rate at which a server may send data. If it sends less, the transfer fails with ErrTimeout. Time
	// in which the caller does not read does not count. The zero Rate means no limit. With a limit, bytes go to a file
	// through a buffer.
	MinRate Rate

	// MaxListing bounds the memory that a listing may take, in bytes: those that the server sends, and 32 more for
	// each line. 0 means 256 MiB.
	MaxListing int64

	// MaxIdle is how many connections without work the Client keeps for each server, for the next call of Do, List
	// and its other methods. 0 means 2; with a negative number every call connects for itself. RFC 1738
	// section 3.2.5 decides which URLs a connection can serve; see [Session]. The connections to a server are never more
	// than MaxIdle, or those in use if they are more: MaxIdle should be the number of files that are retrieved at the same
	// time. A program that is done with a server calls CloseIdleConnections.
	MaxIdle int
	// MaxConns is the most connections that the Client's own methods have to one server at a time, idle ones included. 0
	// means no limit. A call that finds all of them in use waits for one; calls get theirs in the order in which they came,
	// and an idle connection that cannot serve a call makes room for it. If ctx ends the wait, the error wraps its cause. A
	// Response holds its connection until its Body is read to the end or closed, so a goroutine that keeps MaxConns of them
	// open and asks for one more waits until its ctx ends. A server may count a connection for a moment after it has been
	// closed; a call that it refuses meanwhile tries again.
	// Package download/batch decides how many connections a server gets without regard to MaxConns, and needs none.
	MaxConns int
	// IdleTimeout is how long a connection is kept without work. 0 means a minute. See CloseIdleConnections.
	IdleTimeout time.Duration

	// AllowPort allows the ports of other protocols; see [urlparse.URL.BadPort].
	AllowPort bool
	// NoPipelining sends one command at a time.
	NoPipelining bool
	// NoEPSV sends PASV without trying EPSV first. It has no effect over IPv6, which PASV does not support.
	NoEPSV bool
	// Active makes the server open data connections to the client (EPRT, PORT).
	Active bool
	// TLSConfig configures TLS. nil means TLS 1.2 or later and the system's certificate authorities. ServerName
	// and ClientSessionCache are set on a copy for each control connection.
	TLSConfig *tls.Config
	// TryTLS asks the servers of ftp URLs for TLS too (AUTH TLS), and goes on unencrypted if the server refuses (5yz).
	// It protects against eavesdroppers, but not against attackers who can change the reply: use ftpes URLs for that.
	TryTLS bool
	// Dial opens the TCP connections for control and data. nil means a net.Dialer with its defaults.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Proxy, if not nil, returns what to use in place of Dial for the control connection to address (host:port) and for
	// its data connections, or nil to use Dial. It goes through a proxy, which resolves host names: data connections are
	// dialled to the URL's host. Its errors are in the chain of the [Error].
	Proxy func(address string) func(ctx context.Context, network, address string) (net.Conn, error)

	secrets wire.Secrets // those sent on any connection
	dialled atomic.Int64 // control connections so far
	pool    pool

	mu    sync.Mutex
	hosts map[string]habits
}

// Rate is a number of bytes a second, on average over a time.
type Rate struct {
	Bytes int64         // a second
	Over  time.Duration // 0 means 30 seconds
}

// habits are what the Client has learned about a host.
type habits struct {
	sequential bool // it loses commands sent ahead of replies
	noEPSV     bool // its EPSV ports cannot be reached
	late       bool // it accepts EPSV or PASV only after the final reply of a transfer
	how        int  // the first of ways to list a directory that it may give
	listed     bool // that way has listed something
	noMLST     bool // it does not know MLST
	abrupt     bool // it ends data under TLS without close_notify
}

func isSequential(h *habits) { h.sequential = true }
func hasNoEPSV(h *habits)    { h.noEPSV = true }
func isLate(h *habits)       { h.late = true }
func hasNoMLST(h *habits)    { h.noMLST = true }

// Credentials supplies passwords and accounts. The methods may block, for example to prompt the user. They return
// [ErrNoCredentials] if they have nothing to supply. The result is sent byte for byte; it must not contain CR, LF or
// NUL.
type Credentials interface {
	// Password returns the password of user on host. It is called only after the server has replied 331 to USER.
	Password(ctx context.Context, host, user string) (string, error)
	// Account returns the account of user on host (ACCT, RFC 959 section 4.1.1). It is called only after the
	// server has replied 332.
	Account(ctx context.Context, host, user string) (string, error)
}

// Event is one step of the dialogue with a server, as passed to Client.Trace.
type Event struct {
	Mark   byte   // '>' for a command, '<' for one line of a reply, '*' for what the client did or decided
	Text   string // without CR LF; secrets are masked, but it is not escaped for a terminal
	Flight int    // for a command, the number of the write that carried it, from 1 on each connection
	Server string // host:port of the URL
	Conn   int    // the number of the control connection among those of the Client, from 1; 0 if the event is about none
}

// Get parses rawURL and retrieves the file that it names; see [Client.Do]. The error is a *[urlparse.Error] if
// rawURL is not valid.
func (c *Client) Get(ctx context.Context, rawURL string) (*Response, error) {
	u, err := urlparse.Parse(rawURL)
	if err != nil {
		return nil, err
	}
	return c.Do(ctx, &Request{URL: u})
}

// Do retrieves the file that req names, on a connection that nothing else uses meanwhile (see MaxIdle). The caller must
// close the Response's Body. ctx covers reading Body too. The error is an *[Error], or a *[urlparse.Error] if the URL is
// not valid. It is [ErrNoRestart] if the server cannot begin at req.Offset; Do without an offset may then succeed.
func (c *Client) Do(ctx context.Context, req *Request) (*Response, error) {
	s, err := c.take(ctx, req.URL)
	if err != nil {
		return nil, err
	}
	r, err := s.Do(ctx, req)
	if err != nil {
		c.put(s)
	}
	return r, err
}

// Stat asks the server about the file or directory that u names, without a data connection. A field of the entry that the
// server does not tell, because it does not know the command or for a reason of its own, is unknown.
//
// A URL of a file is asked about with SIZE and MDTM (RFC 3659 sections 4 and 3). The error is [ErrNotFound] if the server
// refuses both with 550, or [ErrRefused] if its reply mentions permissions; u may also name a directory. A file with a Size
// counts as regular. Some servers refuse both for a file that they send.
//
// If u ends in "/" or ";type=d", Stat finds out what its last segment is, and follows links: it sends MLST (RFC 3659
// section 7), or SIZE, MDTM and CWD together. Mode says whether that is a directory or a file, with a URL to match.
func (c *Client) Stat(ctx context.Context, u *urlparse.URL) (Entry, error) {
	s, err := c.take(ctx, u)
	if err != nil {
		return Entry{}, err
	}
	defer c.put(s)
	return s.Stat(ctx, u)
}

// Hash asks the server for a digest of the file that u names; see [Client.Hash].
func (c *Client) Hash(ctx context.Context, u *urlparse.URL, algorithm string) ([]byte, error) {
	s, err := c.take(ctx, u)
	if err != nil {
		return nil, err
	}
	defer c.put(s)
	return s.Hash(ctx, u, algorithm)
}

// session returns a session that retrieves URLs one after another. The caller must close it.
func (c *Client) session() *session { return &session{client: c} }

func (c *Client) habits(u *urlparse.URL) habits {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.hosts[u.Address()]
	h.sequential, h.noEPSV = h.sequential || c.NoPipelining, h.noEPSV || c.NoEPSV
	return h
}

// learn changes what is known about u's server.
func (c *Client) learn(u *urlparse.URL, change func(*habits)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hosts == nil {
		c.hosts = map[string]habits{}
	}
	h := c.hosts[u.Address()]
	change(&h)
	c.hosts[u.Address()] = h
}

// config returns the configuration of one connection to u's server.
func (c *Client) config(p *Plan, u *urlparse.URL) wire.Config {
	cfg := wire.Config{
		Host:           p.Host,
		Address:        u.Address(),
		Dial:           c.Dial,
		ImplicitTLS:    p.Scheme == urlparse.FTPS,
		ConnectTimeout: cmp.Or(c.ConnectTimeout, defaultConnectTimeout),
		Timeout:        cmp.Or(c.Timeout, defaultTimeout),
		MinRate:        c.MinRate.Bytes,
		RateTime:       cmp.Or(c.MinRate.Over, defaultRateTime),
		MaxListing:     cmp.Or(c.MaxListing, defaultMaxListing),
		Secrets:        &c.secrets,
	}
	if c.Trace != nil {
		server, number := u.Address(), int(c.dialled.Add(1))
		cfg.Trace = func(mark byte, text string, flight int) { c.Trace(Event{mark, text, flight, server, number}) }
	}
	if dial := c.proxy(u.Address()); dial != nil {
		cfg.Dial, cfg.Proxied = dial, true
	} else if cfg.Dial == nil {
		cfg.Dial = new(net.Dialer).DialContext
	}
	if p.Scheme != urlparse.FTP || c.TryTLS {
		cfg.TLSConfig = c.tlsConfig(p.Host)
	}
	return cfg
}

// proxy returns what takes the place of Dial for a server, or nil.
func (c *Client) proxy(address string) func(ctx context.Context, network, address string) (net.Conn, error) {
	if c.Proxy == nil {
		return nil
	}
	return c.Proxy(address)
}

// tries reports whether the client asks for TLS that the plan does not require.
func (c *Client) tries(p *Plan) bool { return c.TryTLS && p.Scheme == urlparse.FTP }

// tlsConfig returns a TLS configuration for one control connection and its data connections. They share a session
// cache, keyed by ServerName, because servers want data connections to resume the control connection's session.
func (c *Client) tlsConfig(host string) *tls.Config {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.TLSConfig != nil {
		cfg = c.TLSConfig.Clone()
	}
	cfg.ServerName = host
	cfg.ClientSessionCache = sessions{tls.NewLRUClientSessionCache(4)}
	return cfg
}

// sessions is a cache from which crypto/tls cannot remove a session. It would if a handshake fails, as on the data
// connection of a refused transfer; the next transfer must resume that session.
type sessions struct{ tls.ClientSessionCache }

func (s sessions) Put(key string, session *tls.ClientSessionState) {
	if session != nil {
		s.ClientSessionCache.Put(key, session)
	}
}

// check returns an error if a field of c has a bad value. Every retrieval calls it first.
func (c *Client) check() error {
	switch {
	case c.MinRate.Bytes < 0:
		return errors.New("MinRate is negative: write bytes per second, or 0 for no limit")
	case c.MaxConns < 0:
		return errors.New("MaxConns is negative: write a number of connections, or 0 for no limit")
	case c.IdleTimeout < 0:
		return errors.New("IdleTimeout is negative: write 0 for the default")
	}
	return nil
}
