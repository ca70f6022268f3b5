// Command viaproxy prints a file that it retrieves through a SOCKS5 or HTTP proxy.
//
//	viaproxy socks5://user:password@proxy.example.org:1080 ftp://ftp.example.org/pub/motd
//	viaproxy http://proxy.example.org:3128 ftp://ftp.example.org/pub/motd
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"

	"golang.org/x/net/proxy"

	"example.com/ftpfetch/ftpexec"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: viaproxy PROXY URL")
		os.Exit(2)
	}
	if err := show(ctx, os.Args[1], os.Args[2], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "viaproxy:", err)
		os.Exit(1)
	}
}

// show writes the file at rawURL to w.
func show(ctx context.Context, through, rawURL string, w io.Writer) error {
	dial, err := dialer(through)
	if err != nil {
		return err
	}
	c := ftpexec.Client{Proxy: func(string) func(context.Context, string, string) (net.Conn, error) { return dial }}
	defer c.CloseIdleConnections()
	r, err := c.Get(ctx, rawURL)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	_, err = io.Copy(w, r.Body) // fails unless the whole file arrived
	return err
}

// dialer returns a function that opens connections through a proxy. The proxy resolves the names of hosts.
func dialer(through string) (func(ctx context.Context, network, address string) (net.Conn, error), error) {
	p, err := url.Parse(through)
	if err != nil {
		return nil, fmt.Errorf("the proxy is no URL") // err quotes the URL with its password
	}
	switch p.Scheme {
	case "socks5":
		d, err := proxy.FromURL(p, proxy.Direct)
		if err != nil {
			return nil, err
		}
		return d.(proxy.ContextDialer).DialContext, nil
	case "http":
		return (&connect{p}).dial, nil
	}
	return nil, fmt.Errorf("%s is no proxy: write socks5:// or http://", p.Redacted())
}

// connect is an HTTP proxy that accepts CONNECT (RFC 9110 section 9.3.6).
type connect struct{ *url.URL }

func (p *connect) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, p.Host)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	r, err := p.ask(conn, address)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return &tunnel{conn, r}, nil
}

// ask sends CONNECT, and returns a reader for the bytes of the tunnel.
func (p *connect) ask(conn net.Conn, address string) (io.Reader, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\n", address)
	if password, ok := p.User.Password(); ok {
		fmt.Fprintf(&b, "Proxy-Authorization: Basic %s\r\n", base64.StdEncoding.EncodeToString([]byte(p.User.Username()+":"+password)))
	}
	b.WriteString("\r\n")
	if _, err := conn.Write(b.Bytes()); err != nil {
		return nil, err
	}
	r := bufio.NewReader(conn)
	answer, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
	switch {
	case err != nil:
		return nil, err
	case answer.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("the proxy answers %s", answer.Status)
	}
	return r, nil
}

// tunnel is a connection whose first bytes may have arrived with the proxy's answer.
type tunnel struct {
	net.Conn
	r io.Reader
}

func (t *tunnel) Read(b []byte) (int, error) { return t.r.Read(b) }
