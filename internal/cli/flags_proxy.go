package cli

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/gateway"
	"example.com/ftpfetch/internal/proxy"
	"example.com/ftpfetch/urlparse"
)

// proxyOptions holds the value of --proxy and the proxies that it or the
// environment names.
type proxyOptions struct {
	proxy    string
	named    *proxy.Proxy                      // from --proxy; nil if it names none
	viaProxy func(address string) *proxy.Proxy // returns the proxy for a host:port, or nil
	proxyGet bool
}

// proxyFlags declares the proxy flag.
func (o *proxyOptions) proxyFlags(fs group) {
	fs.StringVar(&o.proxy, "proxy", "", "go through the proxy `URL`, socks5:// or http:// (if it has no scheme), for all hosts; \"none\" ignores the proxy variables")
	fs.BoolVar(&o.proxyGet, "proxy-get", false, "have the HTTP proxy fetch files itself (GET), and give it the passwords for servers; done by itself, without passwords, if the proxy refuses CONNECT")
}

// checkProxy reads --proxy or, if it is not given, the environment. The flag
// applies to all hosts: NO_PROXY limits only the variables.
func (o *options) checkProxy(given bool) (err error) {
	o.viaProxy = func(string) *proxy.Proxy { return nil }
	switch {
	case !given:
		if o.viaProxy, err = proxy.FromEnvironment(os.Getenv); err != nil {
			return usage("%s (--proxy none ignores it)", proxyReason(err))
		}
		return nil
	case o.proxy == "" || o.proxy == "none":
		return nil
	}
	if o.named, err = proxy.Parse(o.proxy); err != nil {
		return usage("--proxy: %s", proxyReason(err))
	}
	o.viaProxy = func(string) *proxy.Proxy { return o.named }
	if o.client.Active {
		return usage("--mode active does not work through a proxy: leave out --mode or --proxy")
	}
	return nil
}

// checkProxyGet refuses what --proxy-get cannot do at all.
func (o *options) checkProxyGet(given bool) error {
	switch {
	case !o.proxyGet:
		return nil
	case given && o.named == nil:
		return usage("--proxy-get needs a proxy: write --proxy http://host:port")
	case o.named != nil && !o.named.HTTP():
		return usage("--proxy-get needs an HTTP proxy: write --proxy http://host:port, or leave out --proxy-get")
	case o.tls == tlsTry:
		return usage("--proxy-get and --tls try contradict each other: by GET nothing is encrypted; leave one out")
	}
	return nil
}

// checkGet refuses a URL that --proxy-get cannot fetch.
func (o *options) checkGet(u *urlparse.URL) error {
	if p := o.viaProxy(u.Address()); !o.proxyGet || p == nil || u.Scheme != urlparse.FTP {
		return nil
	} else if !p.HTTP() {
		return usage("--proxy-get needs an HTTP proxy, but that of the variables is %s: leave out --proxy-get", p)
	}
	switch {
	case u.IsDir():
		return usage("--proxy-get fetches files, and lists no directories: write the URL of a file, or leave out --proxy-get")
	case u.Type == urlparse.TypeASCII:
		return usage("--proxy-get fetches files as they are: leave out ;type=a, or --proxy-get")
	}
	return nil
}

// newSource returns where files and listings come from: the client, and proxies
// that fetch files themselves.
func (o *options) newSource(p *printer) *gateway.Source {
	g := &gateway.Gateway{
		Client: &o.client, Proxy: o.viaProxy, Always: o.proxyGet, Dial: o.dial,
		Notice: func(via *proxy.Proxy) {
			p.warning("the proxy " + via.String() + " fetches the file itself: nothing shows that it asks the server for exactly this path; --checksum shows whether the file is right")
		},
	}
	return g.Over(&o.client)
}

// proxyReason returns the text of an error from package proxy without its
// prefix.
func proxyReason(err error) string {
	var e *proxy.Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return err.Error()
}

// checkActive refuses --mode active for a URL that goes through a proxy: the server
// cannot connect back through it.
func (o *options) checkActive(u *urlparse.URL) error {
	if p := o.viaProxy(u.Address()); p != nil && o.client.Active {
		return usage("--mode active does not work through the proxy %s: leave out --mode, or write --proxy none", p)
	}
	return nil
}

// dialProxy is the Proxy function of the [ftpexec.Client].
func (o *options) dialProxy(address string) ftpexec.Dialer {
	p := o.viaProxy(address)
	if p == nil {
		return nil
	}
	return p.Dialer(o.dial)
}

// dial opens every TCP connection, by --ip and from the address of --bind.
func (o *options) dial(ctx context.Context, _, address string) (net.Conn, error) {
	d := new(net.Dialer)
	if o.bind.IsValid() {
		d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(o.bind, 0))
	}
	return d.DialContext(ctx, "tcp"+o.ip, address)
}
