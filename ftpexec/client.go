// Package ftpexec runs what an ftp URL means (RFC 1738 section 3.2) on a real server: [NewPlan] turns a URL
// into an ordered [Plan] of FTP commands, [Client.Open] retrieves a file and [Client.List] a directory.
//
//	var c ftpexec.Client
//	r, err := c.Open(ctx, "ftp://ftp.example.org/pub/file")
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
	// Proxy chooses, for the address (host:port) of a control connection, what takes the place of Dial; nil
	// for Dial itself. What it returns goes through a proxy, which resolves the names of hosts: data
	// connections are dialled there under the URL's host too. Its errors are kept in an [Error]'s chain.
	Proxy func(address string) func(ctx context.Context, network, address string) (net.Conn, error)

	secrets wire.Secrets // sent on any connection

	mu    sync.Mutex
	hosts map[string]habits
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

const (
	EventNote    = wire.EventNote    // what the client does or decides: connected, TLS, falling back
	EventCommand = wire.EventCommand // a command, as sent
	EventReply   = wire.EventReply   // one line of a reply, as received
)

// Event is one step of the dialogue with a server, for [Client].Trace:
//
//	Kind   EventKind
//	Text   string // octets without CR LF, secrets masked; not escaped for a terminal
//	Flight int    // for a command: the number of the write that carried it, from 1 on each connection
type Event = wire.Event

// Open retrieves the file that rawURL names. ctx covers the reading of Body too. The caller closes Body. The
// error is a *[urlparse.Error] or an *[Error].
func (c *Client) Open(ctx context.Context, rawURL string) (*Response, error) {
	u, err := urlparse.Parse(rawURL)
	if err != nil {
		return nil, err
	}
	return c.OpenURL(ctx, u)
}

// OpenURL is [Client.Open] for a parsed URL.
func (c *Client) OpenURL(ctx context.Context, u *urlparse.URL) (*Response, error) {
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
	h.sequential = h.sequential || c.NoPipelining
	h.noEPSV = h.noEPSV || c.NoEPSV
	return h
}

func (c *Client) learn(u *urlparse.URL, h habits) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hosts == nil {
		c.hosts = map[string]habits{}
	}
	known := c.hosts[u.Address()]
	c.hosts[u.Address()] = habits{known.sequential || h.sequential, known.noEPSV || h.noEPSV}
}

func (c *Client) note(text string) {
	if c.Trace != nil {
		c.Trace(Event{Kind: EventNote, Text: text})
	}
}

// config is what the layer below needs for one connection to u's server.
func (c *Client) config(p *Plan, u *urlparse.URL, h habits) wire.Config {
	cfg := wire.Config{
		Host:           p.Host,
		Address:        u.Address(),
		Dial:           c.dial(c.Dial),
		ImplicitTLS:    p.TLS == TLSImplicit,
		ExplicitTLS:    p.TLS == TLSExplicit || c.tries(p),
		TryTLS:         c.tries(p),
		ConnectTimeout: cmp.Or(c.ConnectTimeout, DefaultConnectTimeout),
		ReplyTimeout:   cmp.Or(c.ReplyTimeout, DefaultReplyTimeout),
		StallTimeout:   cmp.Or(c.StallTimeout, DefaultStallTimeout),
		LeastRate:      c.LeastRate,
		LeastTime:      cmp.Or(c.LeastTime, DefaultLeastTime),
		MaxListing:     cmp.Or(c.MaxListing, DefaultMaxListing),
		NoEPSV:         h.noEPSV,
		UTF8:           p.needsUTF8(),
		Anonymous:      p.find("PASS").Password == PasswordAnonymous,
		Secrets:        &c.secrets,
		Password:       c.password(p, u),
		Account:        c.account(u),
		Trace:          c.Trace,
	}
	if c.Proxy != nil {
		if dial := c.Proxy(u.Address()); dial != nil {
			cfg.Dial, cfg.Proxied = c.dial(dial), true
		}
	}
	if p.TLS != TLSOff || cfg.TryTLS {
		cfg.TLSConfig = c.tlsConfig(p.Host)
	}
	if c.Active {
		cfg.Listen = listen
	}
	return cfg
}

// tries reports whether TLS is asked for that the plan can do without.
func (c *Client) tries(p *Plan) bool { return c.TryTLS && p.TLS == TLSOff }

// password gives the argument of PASS when it is about to be sent, and not before.
func (c *Client) password(p *Plan, u *urlparse.URL) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		switch p.find("PASS").Password {
		case PasswordAnonymous:
			return cmp.Or(c.Email, DefaultEmail), nil
		case PasswordGiven:
			return u.Password.Value, nil
		}
		if c.Credentials == nil {
			return "", ErrNoCredentials
		}
		return c.Credentials.Password(ctx, u.Host, u.User.Value)
	}
}

func (c *Client) account(u *urlparse.URL) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		if c.Credentials == nil {
			return "", ErrNoCredentials
		}
		return c.Credentials.Account(ctx, u.Host, u.User.Value)
	}
}

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

// listen opens the port that the server connects to in active mode.
func listen(ctx context.Context, local net.IP) (net.Listener, error) {
	var lc net.ListenConfig
	return lc.Listen(ctx, "tcp", net.JoinHostPort(local.String(), "0"))
}
