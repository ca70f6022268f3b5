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

// proxyOptions is the value of --proxy, and what follows from it or from the
// environment.
type proxyOptions struct {
	proxy    string
	named    *proxy.Proxy                      // of --proxy; nil: none named
	viaProxy func(address string) *proxy.Proxy // the proxy for a host:port; nil: none
}

// proxyFlags declares the flags of proxies.
func (o *proxyOptions) proxyFlags(fs group) {
	fs.StringVar(&o.proxy, "proxy", "", "go through the proxy `URL`, socks5:// or http:// (if it has no scheme), for all hosts; \"none\" ignores the proxy variables")
}

// checkProxy reads --proxy or, where it is not given, the environment. The
// flag speaks for all hosts: NO_PROXY belongs to the variables.
func (o *options) checkProxy(given bool) (err error) {
	o.viaProxy = func(string) *proxy.Proxy { return nil }
	switch {
	case !given:
		if o.viaProxy, err = proxy.FromEnvironment(os.Getenv); err != nil {
			return usage("%s (--proxy none does without)", proxyReason(err))
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

// proxyReason is an error of package proxy without the words that every one
// of them begins with.
func proxyReason(err error) string {
	var e *proxy.Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return err.Error()
}

// checkActive refuses --active for a URL whose host the environment has a
// proxy for: the server cannot connect to us through it.
func (o *options) checkActive(u *urlparse.URL) error {
	if p := o.viaProxy(u.Address()); p != nil && o.client.Active {
		return usage("--active does not work through the proxy %s: leave out --active, or write --proxy none", p)
	}
	return nil
}

// dialProxy is the [ftpexec.Client]'s Proxy.
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
