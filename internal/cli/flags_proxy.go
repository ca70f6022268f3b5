package cli

import (
	"errors"
	"net"
	"net/netip"
	"os"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/proxy"
	"example.com/ftpfetch/urlparse"
)

// proxyOptions holds the value of --proxy and the proxies that it or the
// environment names.
type proxyOptions struct {
	proxy    string
	named    *proxy.Proxy                      // from --proxy; nil if it names none
	viaProxy func(address string) *proxy.Proxy // returns the proxy for a host:port, or nil
}

// proxyFlags declares the proxy flag.
func (o *proxyOptions) proxyFlags(fs group) {
	fs.StringVar(&o.proxy, "proxy", "", "go through the proxy `URL`, socks5:// or http:// (if it has no scheme), for all hosts; \"none\" ignores the proxy variables")
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
		return usage("--active does not work through a proxy: leave out --active or --proxy")
	}
	return nil
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

// checkActive refuses --active for a URL that goes through a proxy: the server
// cannot connect back through it.
func (o *options) checkActive(u *urlparse.URL) error {
	if p := o.viaProxy(u.Address()); p != nil && o.client.Active {
		return usage("--active does not work through the proxy %s: leave out --active, or write --proxy none", p)
	}
	return nil
}

// dialProxy is the Proxy function of the [ftpexec.Client].
func (o *options) dialProxy(address string) ftpexec.Dialer {
	p := o.viaProxy(address)
	if p == nil {
		return nil
	}
	d := new(net.Dialer)
	if o.client.LocalAddr.IsValid() {
		d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(o.client.LocalAddr, 0))
	}
	return p.Dialer(d.DialContext)
}
