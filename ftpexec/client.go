// Package ftpexec runs what an ftp URL means (RFC 1738 section 3.2) on a real server: [NewPlan] turns a URL
// into an ordered [Plan] of FTP commands, [Client.Open] retrieves a file and [Client.List] a directory.
//
//	var c ftpexec.Client
//	r, err := c.Get(ctx, "ftp://ftp.example.org/pub/file")
//
// The methods of Client and Session take parsed URLs; Get parses one first.
//
// The package touches no files, no flags and no terminal. No text that it returns or traces holds a password.
package ftpexec

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"sync"
	"time"

	"example.com/ftpfetch/ftpexec/internal/wire"
	"example.com/ftpfetch/urlparse"
)

// Defaults of [Client], for fields left zero.
const (
	DefaultConnectTimeout = 30 * time.Second
	DefaultReplyTimeout   = 60 * time.Second
	DefaultStallTimeout   = 60 * time.Second
	DefaultLeastTime      = 30 * time.Second
	DefaultEmail          = "ftpfetch@example.com"
	DefaultMaxListing     = 256 << 20
)

// Client retrieves what ftp URLs name. The zero value works: anonymous where the URL names no user, passive
// mode, in clear unless the URL's scheme says otherwise. A Client is safe for concurrent use; its fields are
// not to be changed, nor the Client copied, after first use.
type Client struct {
	// Credentials is asked when a server asks for what the URL does not give; nil gives nothing.
	Credentials Credentials
	// Email is the password of an anonymous login; "" means DefaultEmail.
	Email string
	// Trace is called for every step of the dialogue, in order for each session; for sessions that run at the
	// same time the calls are concurrent.
	Trace func(Event)

	ConnectTimeout time.Duration // for each TCP connection and TLS handshake; 0 means DefaultConnectTimeout
	ReplyTimeout   time.Duration // for each reply; 0 means DefaultReplyTimeout
	StallTimeout   time.Duration // the longest time without an octet of data; 0 means DefaultStallTimeout

	// LeastRate is the least that a server has to send on each data connection, in octets a second; 0 is no bound.
	// Fewer in any LeastTime are [ErrTimeout]. Time in which the caller does not read does not count. Octets then
	// go through a buffer, not straight into a file.
	LeastRate int64
	LeastTime time.Duration // 0 means DefaultLeastTime

	// MaxListing bounds a listing, which is held in memory: its octets, and 32 more for each line. 0 means
	// DefaultMaxListing.
	MaxListing int64

	// NoPipelining sends one command at a time.
	NoPipelining bool
	// NoEPSV uses PASV at once (IPv4 only).
	NoEPSV bool
	// Active lets the server open data connections (EPRT, PORT).
	Active bool
	// Network is "tcp" (also ""), "tcp4" or "tcp6".
	Network string
	// LocalAddr is the address that connections go out from; the zero Addr leaves it to the system.
	LocalAddr netip.Addr
	// TLSConfig is for ftps and ftpes URLs; nil means the system's certificate authorities and TLS 1.2 or
	// later. ServerName and ClientSessionCache are set for each session.
	TLSConfig *tls.Config
	// TryTLS asks the servers of ftp URLs for TLS (AUTH TLS), and goes on in clear where the answer is a
	// refusal (5yz). That keeps out who listens, not who can change what the server says: ftpes URLs do.
	TryTLS bool
	// Dial opens TCP connections, data connections too; nil means a net.Dialer with keep-alive.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Proxy returns, for the address (host:port) of a control connection, what takes the place of Dial; nil for Dial
	// itself. What it returns goes through a proxy, which resolves the names of hosts: data connections are dialled
	// there under the URL's host too. Its errors are kept in an [Error]'s chain.
	Proxy func(address string) Dialer

	secrets wire.Secrets // sent on any connection

	mu    sync.Mutex
	hosts map[string]habits
}

// Dialer opens connections, as a [net.Dialer] does.
type Dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// habits is what the Client has learned about a host.
type habits struct {
	sequential bool // it loses commands that are sent ahead
	noEPSV     bool // its EPSV ports cannot be reached
}

// Credentials supplies what a server asks for. The methods may block, for a person to type; they return
// [ErrNoCredentials] where they have nothing.
type Credentials interface {
	// Password returns the password (octets) of user on host. It is called only after the server has
	// answered 331 to USER.
	Password(ctx context.Context, host, user string) (string, error)
	// Account returns the account (octets) of user on host. It is called only after the server has
	// answered 332.
	Account(ctx context.Context, host, user string) (string, error)
}

// EventKind says what an [Event] tells.
type EventKind = wire.EventKind

// The kinds of events.
const (
	EventNote    = wire.EventNote    // what the client does or decides: connected, TLS, falling back
	EventCommand = wire.EventCommand // a command, as sent
	EventReply   = wire.EventReply   // one line of a reply, as received
)

// Event is one step of the dialogue with a server, for [Client].Trace: Text is octets without CR LF, with secrets
// masked, and not escaped for a terminal; Flight is, for a command, the number of the write that carried it.
type Event = wire.Event

// Get is [Client.Open] for the text of a URL. The error may be a *[urlparse.Error] too.
func (c *Client) Get(ctx context.Context, rawURL string) (*Response, error) {
	u, err := urlparse.Parse(rawURL)
	if err != nil {
		return nil, err
	}
	return c.Open(ctx, u)
}

// Open retrieves the file that u names. ctx covers the reading of Body too. The caller closes Body. The error is an
// *[Error].
func (c *Client) Open(ctx context.Context, u *urlparse.URL) (*Response, error) {
	return c.OpenFrom(ctx, u, 0)
}

// OpenFrom retrieves the file from the octet offset on; see [Session.OpenFrom].
func (c *Client) OpenFrom(ctx context.Context, u *urlparse.URL, offset int64) (*Response, error) {
	s := &Session{client: c, once: true}
	r, err := s.OpenFrom(ctx, u, offset)
	if err != nil {
		s.Close()
	}
	return r, err
}

// Stat asks for the size and time of the file that u names; see [Session.Stat].
func (c *Client) Stat(ctx context.Context, u *urlparse.URL) (*Info, error) {
	s := &Session{client: c, once: true}
	defer s.Close()
	return s.Stat(ctx, u)
}

// Hash asks for a digest of the file that u names; see [Session.Hash].
func (c *Client) Hash(ctx context.Context, u *urlparse.URL, algorithm string) ([]byte, error) {
	s := &Session{client: c, once: true}
	defer s.Close()
	return s.Hash(ctx, u, algorithm)
}

// Session returns a session for URLs that follow one another; see [Session]. The caller closes it.
func (c *Client) Session() *Session { return &Session{client: c} }

func (c *Client) habits(u *urlparse.URL) habits {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.hosts[u.Address()]
	return habits{h.sequential || c.NoPipelining, h.noEPSV || c.NoEPSV}
}

func (c *Client) learn(u *urlparse.URL, h habits) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hosts == nil {
		c.hosts = map[string]habits{}
	}
	c.hosts[u.Address()] = h
}

// config is what the layer below needs for one connection to u's server.
func (c *Client) config(p *Plan, u *urlparse.URL) wire.Config {
	cfg := wire.Config{
		Host:           p.Host,
		Address:        u.Address(),
		Dial:           c.dial(c.Dial),
		ImplicitTLS:    p.Scheme == urlparse.FTPS,
		ConnectTimeout: cmp.Or(c.ConnectTimeout, DefaultConnectTimeout),
		ReplyTimeout:   cmp.Or(c.ReplyTimeout, DefaultReplyTimeout),
		StallTimeout:   cmp.Or(c.StallTimeout, DefaultStallTimeout),
		LeastRate:      c.LeastRate,
		LeastTime:      cmp.Or(c.LeastTime, DefaultLeastTime),
		MaxListing:     cmp.Or(c.MaxListing, DefaultMaxListing),
		Secrets:        &c.secrets,
		Trace:          c.Trace,
	}
	if d := c.proxy(u.Address()); d != nil {
		cfg.Dial, cfg.Proxied = c.dial(d.DialContext), true
	}
	if p.Scheme != urlparse.FTP || c.TryTLS {
		cfg.TLSConfig = c.tlsConfig(p.Host)
	}
	return cfg
}

// proxy returns the way to a server that takes the place of Dial, or nil.
func (c *Client) proxy(address string) Dialer {
	if c.Proxy == nil {
		return nil
	}
	return c.Proxy(address)
}

// tries reports whether TLS is asked for that the plan can do without.
func (c *Client) tries(p *Plan) bool { return c.TryTLS && p.Scheme == urlparse.FTP }

// tlsConfig makes the session's own configuration. Servers want data connections to resume the control
// connection's session, and the cache is looked up by ServerName.
func (c *Client) tlsConfig(host string) *tls.Config {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.TLSConfig != nil {
		cfg = c.TLSConfig.Clone()
	}
	cfg.ServerName = host
	cfg.ClientSessionCache = tls.NewLRUClientSessionCache(4)
	return cfg
}

// dial returns the function that opens TCP connections on the network wanted: d, or one from the address wanted.
func (c *Client) dial(d func(ctx context.Context, network, address string) (net.Conn, error)) func(ctx context.Context, network, address string) (net.Conn, error) {
	if d == nil {
		dialer := &net.Dialer{}
		if c.LocalAddr.IsValid() {
			dialer.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(c.LocalAddr, 0))
		}
		d = dialer.DialContext
	}
	network := cmp.Or(c.Network, "tcp")
	return func(ctx context.Context, _, address string) (net.Conn, error) {
		return d(ctx, network, address)
	}
}
