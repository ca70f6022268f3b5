package cli

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"

	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/gateway"
	"example.com/ftpfetch/internal/proxy"
	"example.com/ftpfetch/urlparse"
)

// proxyOptions holds the value of --proxy and the proxies that it or the
// environment names.
type proxyOptions struct {
	proxy    string
	via      *proxy.Proxy // that --proxy or a variable names, or nil
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
	switch {
	case !given:
		if o.via, err = proxy.FromEnvironment(os.Getenv); err != nil {
			return usage("%s (--proxy none ignores it)", proxyReason(err))
		}
		return nil
	case o.proxy == "" || o.proxy == "none":
		return nil
	}
	if o.via, err = proxy.Parse(o.proxy); err != nil {
		return usage("--proxy: %s", proxyReason(err))
	}
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
	case given && o.via == nil:
		return usage("--proxy-get needs a proxy: write --proxy http://host:port")
	case given && !o.via.HTTP():
		return usage("--proxy-get needs an HTTP proxy: write --proxy http://host:port, or leave out --proxy-get")
	case o.tls == tlsTry:
		return usage("--proxy-get and --tls try contradict each other: by GET nothing is encrypted; leave one out")
	}
	return nil
}

// checkGet refuses a URL that --proxy-get cannot fetch.
func (o *options) checkGet(u *urlparse.URL) error {
	switch {
	case !o.proxyGet || !o.via.For(u.Address()) || u.Scheme != urlparse.FTP:
		return nil
	case !o.via.HTTP():
		return usage("--proxy-get needs an HTTP proxy, but that of the variables is %s: leave out --proxy-get", o.via)
	case u.IsDir():
		return usage("--proxy-get fetches files, and lists no directories: write the URL of a file, or leave out --proxy-get")
	case u.Type == urlparse.TypeASCII:
		return usage("--proxy-get fetches files as they are: leave out ;type=a, or --proxy-get")
	}
	return nil
}

// newSource returns where files and listings come from: the client, or an HTTP proxy that may fetch files itself.
func (o *options) newSource(p *printer) batch.Source {
	if o.via == nil || !o.via.HTTP() {
		return &o.client
	}
	return &gateway.Source{
		Client: &o.client, Via: o.via, Always: o.proxyGet, Forward: o.dial,
		Notice: func() {
			p.warning("the proxy " + o.via.String() + " fetches the file itself: nothing shows that it asks the server for exactly this path; --checksum shows whether the file is right")
		},
	}
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
	if o.client.Active && o.via.For(u.Address()) {
		return usage("--mode active does not work through the proxy %s: leave out --mode, or write --proxy none", o.via)
	}
	return nil
}

// dialProxy is the Proxy function of the [ftpexec.Client].
func (o *options) dialProxy(address string) ftpexec.Dialer {
	if !o.via.For(address) {
		return nil
	}
	return o.via.Dialer(o.dial)
}

// dial opens every TCP connection, by --ip and from the address of --bind.
func (o *options) dial(ctx context.Context, _, address string) (net.Conn, error) {
	d := new(net.Dialer)
	if o.bind.IsValid() {
		d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(o.bind, 0))
	}
	return d.DialContext(ctx, "tcp"+o.ip, address)
}
