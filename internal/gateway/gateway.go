// Package gateway retrieves files through HTTP proxies that speak FTP themselves: it sends GET with the URL of the
// file (RFC 9112 section 3.2.2), and the proxy logs in to the server. Many sites allow nothing else.
//
// A [Source] stands before a Client or Session of package ftpexec and has the same methods. It goes over to GET when
// a proxy refuses CONNECT to an FTP server, and keeps to that for this proxy.
//
// The proxy decides which FTP commands it sends, so the path and the type are not as certain as with FTP. What arrives
// is checked as far as HTTP allows: a file is complete by its Content-Length or the end of its chunks, a resume begins
// at the right byte, and a page that the proxy wrote is not taken for a file.
package gateway

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/proxy"
	"example.com/ftpfetch/urlparse"
)

// Errors for what cannot go by GET. They are in the chain of an [*ftpexec.Error].
var (
	// ErrFilesOnly means a URL for which a proxy that fetches files itself is no use.
	ErrFilesOnly = errors.New("the proxy fetches only files, as they are")
	// ErrWithheld means that the proxy would have to be given the password, which only Gateway.Always allows.
	ErrWithheld = errors.New("the proxy may fetch the file itself, but would need the user and password for the server")
)

// Gateway knows the proxies of a run. Its fields must not be changed after first use.
type Gateway struct {
	// Client has the timeouts, Credentials and Trace to use. With TryTLS, which no GET could honour, nothing goes by GET.
	Client *ftpexec.Client
	// Proxy returns the proxy for a server (host:port), or nil.
	Proxy func(address string) *proxy.Proxy
	// Always says to send GET at once, and that proxies may have the passwords for servers.
	Always bool
	// Dial opens connections to proxies; nil means a net.Dialer.
	Dial proxy.DialFunc
	// Notice, if not nil, is called when a proxy serves its first file.
	Notice func(*proxy.Proxy)

	mu    sync.Mutex
	gates map[*proxy.Proxy]*gate
}

// gate is a proxy, and what is known about it.
type gate struct {
	*Gateway
	proxy *proxy.Proxy
	http  *http.Transport

	mu      sync.Mutex
	refusal *proxy.Error // of CONNECT; nil if there was none
	noticed bool
	sent    int // requests
	restarts
}

// gate returns the gate for the file or directory that u names, or nil if u is to be reached by FTP alone.
func (g *Gateway) gate(u *urlparse.URL) *gate {
	if u.Scheme != urlparse.FTP || g.Client.TryTLS {
		return nil
	}
	p := g.Proxy(u.Address())
	if p == nil || !p.HTTP() {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.gates == nil {
		g.gates = make(map[*proxy.Proxy]*gate)
	}
	if g.gates[p] == nil {
		w := proxy.Waits{
			Connect: cmp.Or(g.Client.ConnectTimeout, ftpexec.DefaultConnectTimeout),
			Header:  cmp.Or(g.Client.Timeout, ftpexec.DefaultTimeout),
		}
		g.gates[p] = &gate{Gateway: g, proxy: p, http: p.Transport(g.dial, w)}
	}
	return g.gates[p]
}

// dial connects to a proxy.
func (g *Gateway) dial(ctx context.Context, _, address string) (net.Conn, error) {
	dial := g.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	return dial(ctx, "tcp", address)
}

// CloseIdleConnections closes the connections to proxies that are not in use.
func (g *Gateway) CloseIdleConnections() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, gate := range g.gates {
		gate.http.CloseIdleConnections()
	}
}

// refusesConnect are the answers to CONNECT of a proxy that may fetch files itself.
var refusesConnect = []int{http.StatusForbidden, http.StatusMethodNotAllowed}

// learn reports whether err, for u, means that the proxy refuses CONNECT, and remembers it.
func (g *gate) learn(u *urlparse.URL, err error) bool {
	var e *proxy.Error
	if !errors.As(err, &e) || !slices.Contains(refusesConnect, e.Status) {
		return false
	}
	g.mu.Lock()
	first := g.refusal == nil
	g.refusal = e
	g.mu.Unlock()
	if first {
		g.trace(u, ftpexec.EventNote, 0, e.Error()+": asking it to fetch files itself")
	}
	return true
}

// refused returns the refusal of CONNECT, or nil.
func (g *gate) refused() *proxy.Error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.refusal
}

// byGet reports whether files go by GET without trying FTP first.
func (g *gate) byGet() bool { return g.Always || g.refused() != nil }

// notice reports the first file that the proxy serves.
func (g *gate) notice() {
	g.mu.Lock()
	first := !g.noticed
	g.noticed = true
	g.mu.Unlock()
	if first && g.Notice != nil {
		g.Notice(g.proxy)
	}
}

// anonymous reports whether u's login is anonymous. Proxies then use a password of their own.
func anonymous(u *urlparse.URL) bool {
	return !u.User.Set || u.User.Value == "anonymous" || u.User.Value == "ftp"
}

// unfit says why u cannot go by GET, or nil.
func (g *gate) unfit(u *urlparse.URL) error {
	const op = "open"
	switch {
	case u.IsDir():
		return g.cannot(u, op, ErrFilesOnly, "write the URL of a file: listings do not go by GET")
	case u.Type == urlparse.TypeASCII:
		return g.cannot(u, op, ErrFilesOnly, "leave out ;type=a")
	case slices.Contains(u.Dirs, ""):
		return g.cannot(u, op, ErrFilesOnly, "proxies pass over an empty segment; write %2F for the root")
	case !g.Always && !anonymous(u):
		return g.cannot(u, op, ErrWithheld, "")
	}
	return nil
}

// cannot returns the error for what does not go by GET. If the proxy refused CONNECT, that is the cause.
func (g *gate) cannot(u *urlparse.URL, op string, why error, hint string) error {
	e := &ftpexec.Error{Op: op, URL: u.Redacted(), Err: why, Hint: hint}
	if refusal := g.refused(); refusal != nil {
		e.Stage, e.Op, e.Err = ftpexec.StageConnect, "connect", &both{refusal, why}
	}
	return e
}

// both is a refusal of CONNECT, and why GET did not help.
type both struct{ connect, get error }

func (b *both) Error() string   { return b.connect.Error() + "; " + b.get.Error() }
func (b *both) Unwrap() []error { return []error{b.connect, b.get} }

// explain adds the refusal of CONNECT to an answer that may mean that the proxy fetches no files itself. If it means
// nothing else, the refusal is the cause. Otherwise it is as if the server had not been reached: tinyproxy, which knows
// no FTP, answers with 500 or 503, or not at all.
func (g *gate) explain(err error) error {
	var e *ftpexec.Error
	var answer *proxy.Error
	refusal := g.refused()
	if refusal == nil || !errors.As(err, &e) || !errors.As(err, &answer) {
		return err
	}
	told, v := *answer, *e
	switch {
	case answer.Status == http.StatusForbidden, errors.Is(err, proxy.ErrRefused):
		told.Err = proxy.ErrRefused
	case answer.Status != 0 && answer.Status/100 != 5:
		return err
	}
	told.Reason = refusal.Reason + "; " + answer.Reason
	v.Stage, v.Op, v.Err = ftpexec.StageConnect, "connect", &told
	return &v
}

// failure returns err as an *ftpexec.Error of a request for u. If ctx has ended, that is the cause.
func (g *gate) failure(ctx context.Context, u *urlparse.URL, stage ftpexec.Stage, err error) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return &ftpexec.Error{Stage: stage, Op: "GET", URL: u.Redacted(), Err: err}
}
