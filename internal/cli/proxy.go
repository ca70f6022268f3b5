package cli

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"

	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/internal/cli/config"
	"example.com/ftpfetch/internal/cli/show"
	"example.com/ftpfetch/internal/gateway"
	"example.com/ftpfetch/internal/proxy"
	"example.com/ftpfetch/urlparse"
)

// proxies is a Config with the proxy that connections go through.
type proxies struct {
	*config.Config
	via *proxy.Proxy // that --proxy or a variable names, or nil
}

// newProxies takes --proxy or, if it is not given, the environment. The flag applies
// to all hosts: NO_PROXY limits only the variables.
func newProxies(c *config.Config) (p proxies, err error) {
	if p = (proxies{c, c.Proxy}); c.Proxy != nil || c.NoProxy {
		return p, nil
	}
	if p.via, err = proxy.FromEnvironment(os.Getenv); err != nil {
		var e *proxy.Error
		if errors.As(err, &e) {
			err = errors.New(e.Reason)
		}
		err = config.Usage("%s (--proxy none ignores it)", err)
	}
	return p, err
}

// check refuses a URL that cannot go through its proxy as the flags say.
func (p proxies) check(u *urlparse.URL) error {
	switch {
	case !p.via.For(u.Address()):
	case p.Client.Active: // the server cannot connect back through it
		return config.Usage("--mode active does not work through the proxy %s: leave out --mode, or write --proxy none", p.via)
	case !p.ProxyGet || u.Scheme != urlparse.FTP:
	case u.IsDir():
		return config.Usage("--proxy get+ fetches files, and lists no directories: write the URL of a file, or leave out get+")
	case u.Type == urlparse.TypeASCII:
		return config.Usage("--proxy get+ fetches files as they are: leave out ;type=a, or get+")
	}
	return nil
}

// source returns where files and listings come from: the client, or an HTTP proxy
// that may fetch files itself.
func (p proxies) source(print *show.Printer) batch.Source {
	if p.via == nil || !p.via.HTTP() {
		return &p.Client
	}
	s := gateway.New(&p.Client, p.via, p.dial)
	s.Always, s.Notice = p.ProxyGet, func() {
		print.Warning("the proxy " + p.via.String() + " fetches the file itself: nothing shows that it asks the server for exactly this path; --checksum shows whether the file is right")
	}
	return s
}

// dialer is the Proxy function of the [ftpexec.Client].
func (p proxies) dialer(address string) proxy.DialFunc {
	if !p.via.For(address) {
		return nil
	}
	return p.via.Dialer(p.dial)
}

// dial opens every TCP connection, by --ip and from the address of --bind.
func (p proxies) dial(ctx context.Context, _, address string) (net.Conn, error) {
	d := new(net.Dialer)
	if p.Bind.IsValid() {
		d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(p.Bind, 0))
	}
	return d.DialContext(ctx, "tcp"+p.IP, address)
}
