package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"example.com/ftpfetch/internal/cli/config"
	"example.com/ftpfetch/internal/cli/show"
	"example.com/ftpfetch/internal/gateway"
	"example.com/ftpfetch/internal/localfile"
	"example.com/ftpfetch/internal/proxy"
	"example.com/ftpfetch/urlparse"
)

// connect makes the client, with what the flags name and the environment has, and warns of what is unsafe.
func (r *run) connect() (err error) {
	r.logins.load()
	r.logins.warn = sync.OnceFunc(func() {
		for _, text := range r.logins.file.Warnings {
			r.print.Note(show.Warning, "", text)
		}
	})
	c := &r.Client
	if c.TLSConfig, err = readTLS(r.Config); err != nil {
		return err
	}
	// The flag applies to all hosts: NO_PROXY limits only the variables.
	if r.via = r.Config.Proxy; r.via == nil && !r.NoProxy {
		if r.via, err = proxy.FromEnvironment(os.Getenv); err != nil {
			if bad, ok := errors.AsType[*proxy.Error](err); ok {
				err = errors.New(bad.Reason)
			}
			return config.Usage("%s (--proxy none ignores it)", err)
		}
	}
	c.Credentials, c.Trace = r.logins.supply, r.print.Trace()
	if r.IP != "" {
		c.Dial = r.dial
	}
	c.Proxy = func(address string) proxy.DialFunc {
		if !r.via.For(address) {
			return nil
		}
		return r.via.Dialer(r.dial)
	}
	if r.LimitRate > 0 {
		r.File.Limit = newLimiter(r.LimitRate, time.Now())
	}
	if r.source = c; r.via != nil && r.via.HTTP() {
		s := gateway.New(c, r.via, r.dial)
		s.Always, s.Notice = r.ProxyGet, func() {
			r.print.Note(show.Warning, "", "the proxy "+r.via.String()+" fetches the file itself: nothing shows that it asks the server for exactly this path; --checksum shows whether the file is right")
		}
		r.source = s
	}
	if !r.DryRun { // which sends nothing
		r.warn()
	}
	return nil
}

// dial opens every TCP connection, as --ip says.
func (r *run) dial(ctx context.Context, _, address string) (net.Conn, error) {
	d, network := new(net.Dialer), "tcp"+r.IP
	if local, err := netip.ParseAddr(r.IP); err == nil {
		d.LocalAddr, network = net.TCPAddrFromAddrPort(netip.AddrPortFrom(local, 0)), "tcp"
	}
	return d.DialContext(ctx, network, address)
}

// readTLS reads the files that the flags name. It returns nil if the library's default configuration will do.
func readTLS(c *config.Config) (*tls.Config, error) {
	if c.CACert == "" && c.Cert == "" && !c.Insecure {
		return nil, nil
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: c.Insecure}
	if c.CACert != "" {
		text, err := os.ReadFile(c.CACert)
		if cfg.RootCAs = x509.NewCertPool(); err == nil && !cfg.RootCAs.AppendCertsFromPEM(text) {
			err = errors.New("it holds no certificate in PEM form")
		}
		if err != nil {
			return nil, config.Usage("--cacert %s: %s", c.CACert, localfile.Cause(err))
		}
	}
	if c.Cert != "" {
		text, err := os.ReadFile(c.Cert)
		both, perr := tls.X509KeyPair(text, text)
		if err = cmp.Or(err, perr); err != nil {
			return nil, config.Usage("--cert %s: %s", c.Cert, localfile.Cause(err))
		}
		cfg.Certificates = []tls.Certificate{both}
	}
	return cfg, nil
}

// warn prints warnings about an unsafe command line. Not even -q hides the one that certificates are not checked.
func (r *run) warn() {
	any := func(is func(u *urlparse.URL) bool) bool {
		return slices.ContainsFunc(r.Targets, func(t config.Target) bool { return t.Err == nil && is(t.URL) })
	}
	if r.Insecure && any(func(u *urlparse.URL) bool { return u.Scheme != urlparse.FTP || r.TLS != "" }) {
		r.print.Note(show.Warning, "", "--insecure: certificates are not checked, anyone may be the server")
	}
	const instead = "leave it out to be asked, or use --password-stdin or a netrc file"
	where := ""
	switch {
	case shows(r.User):
		where = "of -u in the list of processes; " + instead
	case any(func(u *urlparse.URL) bool { return shows(u.User) }):
		where = "of a URL in the list of processes; " + instead
	case r.Proxy != nil && r.Proxy.HasPassword():
		where = "of --proxy in the list of processes; put the URL into the variable ALL_PROXY instead"
	}
	if where != "" && !r.Quiet {
		r.print.Note(show.Warning, "", "other users can see the password "+where)
	}
}

// newLimiter returns a limiter whose burst is the bytes of an eighth of a second, so that a transfer does not shoot ahead
// after a pause. It starts empty: at no time have the downloads received more than the rate times its age.
func newLimiter(limit int64, now time.Time) *rate.Limiter {
	burst := int(min(max(limit/8, 512), math.MaxInt32))
	l := rate.NewLimiter(rate.Limit(limit), burst)
	l.AllowN(now, burst)
	return l
}
