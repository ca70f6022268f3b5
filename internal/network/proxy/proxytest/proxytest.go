// Package proxytest has SOCKS5 and HTTP CONNECT proxies for tests, on loopback. They record the addresses that clients
// ask for, and leave no goroutine running when the test ends.
package proxytest

import (
	"bufio"
	"cmp"
	"encoding/base64"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// Options say what a proxy does. The zero value connects every client to every address.
type Options struct {
	User, Password string            // required of clients if User is not ""
	Hosts          map[string]string // addresses of the names that the proxy resolves itself
	TLS            bool              // serve https; not for SOCKS5
	Refuse         bool              // refuse every connection
	Status         int               // status of a refused CONNECT; 0 means 403
	Greeting       string            // sent with the HTTP answer, before the bytes of the server
	Serve          http.HandlerFunc  // serves requests other than CONNECT; if nil, the HTTP proxy refuses them
}

// Proxy is a running proxy.
type Proxy struct {
	Server *httptest.Server // the server of an HTTP proxy, for its certificate; else nil

	o        Options
	scheme   string
	listener net.Listener
	wait     sync.WaitGroup

	mu      sync.Mutex
	targets []string
	conns   map[net.Conn]bool
	closed  bool
}

// URL returns the proxy's URL without a user.
func (p *Proxy) URL() string { return p.scheme + "://" + p.Addr() }

// URLAs returns the proxy's URL with a login, "user:password", percent-encoded.
func (p *Proxy) URLAs(login string) string { return p.scheme + "://" + login + "@" + p.Addr() }

// Addr returns the proxy's address, host:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Targets returns the addresses that clients asked for, in order and as they wrote them.
func (p *Proxy) Targets() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.targets)
}

// NewHTTP starts an HTTP proxy, for as long as the test runs.
func NewHTTP(tb testing.TB, o *Options) *Proxy {
	tb.Helper()
	p := newProxy("http", o)
	p.Server = httptest.NewUnstartedServer(http.HandlerFunc(p.connect))
	p.Server.Config.ErrorLog = log.New(io.Discard, "", 0) // tests make clients hang up
	p.listener = p.Server.Listener
	if p.o.TLS {
		p.scheme = "https"
		p.Server.StartTLS()
	} else {
		p.Server.Start()
	}
	tb.Cleanup(func() {
		p.close()
		p.Server.Close()
		p.wait.Wait()
	})
	return p
}

// NewSOCKS5 starts a SOCKS5 proxy, for as long as the test runs.
func NewSOCKS5(tb testing.TB, o *Options) *Proxy {
	tb.Helper()
	p := newProxy("socks5", o)
	var err error
	if p.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		tb.Fatal(err)
	}
	p.wait.Go(p.acceptSOCKS)
	tb.Cleanup(func() {
		p.listener.Close()
		p.close()
		p.wait.Wait()
	})
	return p
}

func newProxy(scheme string, o *Options) *Proxy {
	p := &Proxy{scheme: scheme, conns: map[net.Conn]bool{}}
	if o != nil {
		p.o = *o
	}
	return p
}

// close ends every connection.
func (p *Proxy) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for conn := range p.conns {
		conn.Close()
	}
}

// keep registers conn, so that close closes it too.
func (p *Proxy) keep(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[conn] = true
	if p.closed {
		conn.Close()
	}
}

// dial opens the connection that a client asked for.
func (p *Proxy) dial(address string) (net.Conn, error) {
	p.mu.Lock()
	p.targets = append(p.targets, address)
	p.mu.Unlock()
	host, port, err := net.SplitHostPort(address)
	if err != nil || p.o.Refuse {
		return nil, errors.Join(err, errors.New("refused"))
	}
	if to, ok := p.o.Hosts[host]; ok {
		host = to
	}
	conn, err := net.Dial("tcp", net.JoinHostPort(host, port))
	if err == nil {
		p.keep(conn)
	}
	return conn, err
}

// relay copies in both directions and passes on the end of each.
func (p *Proxy) relay(client io.Reader, conn, server net.Conn) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(server, client)
		_ = server.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(conn, server)
	conn.Close()
	<-done
	server.Close()
}

// connect answers one HTTP request.
func (p *Proxy) connect(w http.ResponseWriter, r *http.Request) {
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte(p.o.User+":"+p.o.Password))
	switch {
	case r.Method != http.MethodConnect && p.o.Serve == nil:
		http.Error(w, "CONNECT only", http.StatusMethodNotAllowed)
		return
	case p.o.User != "" && r.Header.Get("Proxy-Authorization") != want:
		// Repeat the secret: a client must not show any text of a proxy.
		http.Error(w, r.Header.Get("Proxy-Authorization"), http.StatusProxyAuthRequired)
		return
	}
	if r.Method != http.MethodConnect {
		p.o.Serve(w, r)
		return
	}
	server, err := p.dial(r.RequestURI)
	if err != nil {
		http.Error(w, "no", cmp.Or(p.o.Status, http.StatusForbidden))
		return
	}
	conn, rw, err := w.(http.Hijacker).Hijack()
	if err != nil {
		server.Close()
		return
	}
	p.keep(conn)
	_, _ = io.WriteString(conn, "HTTP/1.1 100 wait\r\n\r\nHTTP/1.1 200 OK\r\nX: y\r\n\r\n"+p.o.Greeting)
	p.wait.Go(func() { p.relay(rw, conn, server) })
}

// acceptSOCKS serves connections until the listener closes.
func (p *Proxy) acceptSOCKS() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.keep(conn)
		p.wait.Go(func() {
			defer conn.Close()
			p.socks(conn, bufio.NewReader(conn))
		})
	}
}
