package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/internal/cli/config"
	"example.com/ftpfetch/internal/gateway"
	"example.com/ftpfetch/internal/proxy"
	"example.com/ftpfetch/urlparse"
)

// connect makes the client, with what the flags name and the environment has, and
// warns of what is unsafe.
func (r *run) connect(ctx context.Context) (err error) {
	c := &r.Client
	if c.TLSConfig, err = await(ctx, func() (*tls.Config, error) { return readTLS(r.Config) }); err != nil {
		return err
	}
	if r.via, err = findProxy(r.Config); err != nil {
		return err
	}
	c.Credentials, c.Dial, c.Proxy, c.Trace = r.logins.supply, r.dial, r.dialer, r.print.Trace()
	r.File.Limit = download.NewLimiter(r.LimitRate)
	if r.source = c; r.via != nil && r.via.HTTP() {
		s := gateway.New(c, r.via, r.dial)
		s.Always, s.Notice = r.ProxyGet, func() {
			r.print.Warning("the proxy " + r.via.String() + " fetches the file itself: nothing shows that it asks the server for exactly this path; --checksum shows whether the file is right")
		}
		r.source = s
	}
	r.warn()
	return nil
}

// findProxy takes --proxy or, if it is not given, the environment. The flag applies
// to all hosts: NO_PROXY limits only the variables.
func findProxy(c *config.Config) (*proxy.Proxy, error) {
	if c.Proxy != nil || c.NoProxy {
		return c.Proxy, nil
	}
	via, err := proxy.FromEnvironment(os.Getenv)
	if err != nil {
		var e *proxy.Error
		if errors.As(err, &e) {
			err = errors.New(e.Reason)
		}
		err = config.Usage("%s (--proxy none ignores it)", err)
	}
	return via, err
}

// passes refuses a URL that cannot go through its proxy as the flags say.
func (r *run) passes(u *urlparse.URL) error {
	switch {
	case !r.via.For(u.Address()):
	case r.Client.Active: // the server cannot connect back through it
		return config.Usage("--mode active does not work through the proxy %s: leave out --mode, or write --proxy none", r.via)
	case !r.ProxyGet || u.Scheme != urlparse.FTP:
	case u.IsDir():
		return config.Usage("--proxy get+ fetches files, and lists no directories: write the URL of a file, or leave out get+")
	case u.Type == urlparse.TypeASCII:
		return config.Usage("--proxy get+ fetches files as they are: leave out ;type=a, or get+")
	}
	return nil
}

// dialer is the Proxy function of the client.
func (r *run) dialer(address string) proxy.DialFunc {
	if !r.via.For(address) {
		return nil
	}
	return r.via.Dialer(r.dial)
}

// dial opens every TCP connection, by --ip and from the address of --bind.
func (r *run) dial(ctx context.Context, _, address string) (net.Conn, error) {
	d := new(net.Dialer)
	if r.Bind.IsValid() {
		d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(r.Bind, 0))
	}
	return d.DialContext(ctx, "tcp"+r.IP, address)
}

// readTLS reads the files that the flags name. It returns nil if the library's
// default configuration will do.
func readTLS(c *config.Config) (*tls.Config, error) {
	if c.CACert == "" && c.Cert == "" && !c.Insecure {
		return nil, nil
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: c.Insecure}
	if c.CACert != "" {
		text, err := readPEM(c.CACert)
		if cfg.RootCAs = x509.NewCertPool(); err == nil && !cfg.RootCAs.AppendCertsFromPEM(text) {
			err = errors.New("it holds no certificate in PEM form")
		}
		if err != nil {
			return nil, config.Usage("--cacert %s: %s", c.CACert, withoutPath(err))
		}
	}
	if c.Cert != "" {
		text, err := readPEM(c.Cert)
		cfg.Certificates = make([]tls.Certificate, 1)
		if err == nil {
			cfg.Certificates[0], err = tls.X509KeyPair(text, text)
		}
		if err != nil {
			return nil, config.Usage("--cert %s: %s", c.Cert, withoutPath(err))
		}
	}
	return cfg, nil
}

// readPEM reads a file, which may be a device without an end.
func readPEM(path string) ([]byte, error) {
	const most = 16 << 20
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && len(text) > most {
		err = errors.New("it is longer than 16 MiB")
	}
	return text, err
}

// withoutPath returns the text of err without the path, which the caller prints.
func withoutPath(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

// protect applies --tls to a URL that does not ask for TLS itself.
func (r *run) protect(u *urlparse.URL) {
	schemes := map[string]urlparse.Scheme{"explicit": urlparse.FTPES, "implicit": urlparse.FTPS}
	if scheme, ok := schemes[r.TLS]; ok && u.Scheme == urlparse.FTP {
		u.Scheme = scheme
	}
}

// warn prints warnings about an unsafe command line. Not even -q hides the one that
// certificates are not checked.
func (r *run) warn() {
	if r.DryRun {
		return // nothing is sent
	}
	overTLS := func(t config.Target) bool { return t.Err == nil && (t.URL.Scheme != urlparse.FTP || r.TLS != "") }
	if r.Insecure && slices.ContainsFunc(r.Targets, overTLS) {
		r.print.Warning("--insecure: certificates are not checked, anyone may be the server")
	}
	const instead = "leave it out to be asked, or use --password-stdin or a netrc file"
	where := ""
	switch inURL := func(t config.Target) bool { return t.Err == nil && shows(t.URL.User) }; {
	case shows(r.User):
		where = "of -u in the list of processes; " + instead
	case slices.ContainsFunc(r.Targets, inURL):
		where = "of a URL in the list of processes; " + instead
	case r.Proxy != nil && r.Proxy.HasPassword():
		where = "of --proxy in the list of processes; put the URL into the variable ALL_PROXY instead"
	}
	if where != "" && !r.Quiet {
		r.print.Warning("other users can see the password " + where)
	}
}

// shows reports whether a login holds what may be a secret. An empty password does not
// count, nor does that of an anonymous login.
func shows(login *url.Userinfo) bool {
	user := login.Username()
	password, _ := login.Password()
	return (password != "" || hideSlip(user) != user) && !anonymous(user)
}
