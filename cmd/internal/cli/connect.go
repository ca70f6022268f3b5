package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"math"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"example.com/ftpfetch/cmd/internal/cli/certs"
	"example.com/ftpfetch/cmd/internal/cli/config"
	"example.com/ftpfetch/cmd/internal/cli/slots"
	"example.com/ftpfetch/cmd/internal/gateway"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/network/proxy"
)

// connect makes the client from the flags and the environment, and warns of what is unsafe.
func (r *run) connect() (err error) {
	r.logins.load()
	if r.logins.names && r.logins.absent {
		r.print.Tell("-n: there is no netrc file (--dry-run shows what would be done)")
	}
	r.logins.warn = sync.OnceFunc(func() {
		for _, text := range r.logins.file.Warnings {
			r.print.Warn(text)
		}
	})
	c := &r.Client
	if c.TLSConfig, c.Pinned, err = readTLS(r.Config); err != nil {
		return err
	}
	c.Credentials = r.logins.supply
	c.Trace = r.print.Trace()
	c.Octets = r.Charset != ""
	if r.IP != "" {
		c.Dial = r.dial
	}
	if r.LimitRate > 0 {
		r.File.Limit = newLimiter(r.LimitRate, time.Now())
	}
	r.source = c
	err = r.throughProxy(c)
	if r.Charset != "" {
		r.charset = &charset{r.source, r.Charset, charsets[r.Charset]}
		r.source = r.charset
	}
	if r.logins.alone != nil {
		r.source = reprompt{r.source, r.logins}
	}
	if err != nil || r.DryRun { // a dry run sends nothing
		return err
	}
	r.warn()
	if r.Shared {
		r.slots, err = slots.Share(c, r.PerHost, r.print.Tell)
	}
	return err
}

// throughProxy has c connect through a proxy, if the flag or a variable names one. The flag applies to all hosts;
// NO_PROXY limits only the variables.
func (r *run) throughProxy(c *ftpexec.Client) (err error) {
	r.via = r.Config.Proxy
	if r.via == nil && !r.NoProxy {
		if r.via, err = proxy.FromEnvironment(os.Getenv); err != nil {
			return config.Usage("%s (--proxy none ignores it)", err)
		}
	}
	if r.via == nil {
		return nil
	}
	c.Proxy = func(address string) proxy.DialFunc {
		if !r.via.For(address) {
			return nil
		}
		return r.via.Dialer(r.dial)
	}
	if !r.via.HTTP() {
		return nil
	}
	s := gateway.New(c, r.via, r.dial)
	s.Always = r.ProxyGet
	s.Notice = func() {
		r.print.Warn("the proxy " + r.via.String() + " fetches the file itself: " +
			"it may ask the server for another path; --checksum shows whether the file is right")
	}
	r.source = s
	return nil
}

// dial connects with the IP version or from the address that --ip gives.
func (r *run) dial(ctx context.Context, _, address string) (net.Conn, error) {
	var d net.Dialer
	network := "tcp" + r.IP
	if local, err := netip.ParseAddr(r.IP); err == nil {
		d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(local, 0))
		network = "tcp"
	}
	return d.DialContext(ctx, network, address)
}

// readTLS returns what the flags say about TLS, and the certificates of --cacert. The configuration is nil if the
// library's default will do.
func readTLS(c *config.Config) (*tls.Config, []*x509.Certificate, error) {
	if c.CACert == "" && c.Cert == "" && !c.Insecure && !c.NoForwardSecrecy {
		return nil, nil, nil
	}
	var pinned []*x509.Certificate
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: c.Insecure}
	if c.NoForwardSecrecy {
		cfg.CipherSuites = withRSA()
	}
	if c.CACert != "" {
		trusted, err := certs.Read(c.CACert)
		if err != nil {
			return nil, nil, config.Usage("--cacert %s: %s", c.CACert, localfile.Cause(err))
		}
		cfg.RootCAs, pinned = trusted.Roots, trusted.Pinned
	}
	if c.Cert != "" {
		pair, err := readPair(c.Cert, c.Key)
		if err != nil {
			return nil, nil, err
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg, pinned, nil
}

// readPair reads the certificate that the client shows, and its key: in a file of its own, or in that of the
// certificate if key is "".
func readPair(cert, key string) (pair tls.Certificate, err error) {
	text, err := certs.ReadPEM(cert)
	if err != nil {
		return pair, config.Usage("--cert %s: %s", cert, localfile.Cause(err))
	}
	secret := text
	where := "--cert " + cert
	if key != "" {
		where = "--key " + key
		if secret, err = certs.ReadPEM(key); err != nil {
			return pair, config.Usage("%s: %s", where, localfile.Cause(err))
		}
	}
	pair, err = tls.X509KeyPair(text, secret)
	has := func(text []byte, what string) bool { return bytes.Contains(text, []byte(what+"-----")) }
	switch {
	case err == nil:
		return pair, nil
	case !has(text, "BEGIN CERTIFICATE"):
		return pair, config.Usage("--cert %s: it holds no certificate in PEM form", cert)
	case has(secret, "BEGIN ENCRYPTED PRIVATE KEY"), bytes.Contains(secret, []byte("Proc-Type: 4,ENCRYPTED")):
		return pair, config.Usage("%s: the private key needs a passphrase: use one without, as from "+
			"openssl pkey -in FILE -out PLAIN", where)
	case !has(secret, "PRIVATE KEY") && key == "":
		return pair, config.Usage("%s: it holds no private key: add --key FILE", where)
	case !has(secret, "PRIVATE KEY"):
		return pair, config.Usage("%s: it holds no private key in PEM form", where)
	case strings.Contains(err.Error(), "does not match"):
		return pair, config.Usage("%s: its private key is not that of the certificate in --cert", where)
	}
	return pair, config.Usage("%s: %s", where, strings.TrimPrefix(err.Error(), "tls: "))
}

// withRSA returns the cipher suites of TLS 1.2 that crypto/tls offers, and those with RSA key exchange and AES. With
// these, whoever gets the server's key later can read what was recorded.
func withRSA() (suites []uint16) {
	for _, s := range tls.CipherSuites() {
		suites = append(suites, s.ID)
	}
	return append(suites, tls.TLS_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_RSA_WITH_AES_256_GCM_SHA384,
		tls.TLS_RSA_WITH_AES_128_CBC_SHA, tls.TLS_RSA_WITH_AES_256_CBC_SHA)
}

// warn prints warnings about an unsafe command line. Even with -q it warns that certificates are not checked.
func (r *run) warn() {
	secure := false
	secret := false
	for _, t := range r.Targets {
		if t.Err == nil {
			secure = secure || t.URL.Scheme != "ftp" || r.TLS != ""
			secret = secret || shows(t.URL.User)
		}
	}
	if r.Insecure && secure {
		r.print.Warn("--insecure: certificates are not checked, so anyone could pose as the server")
	}
	const instead = "omit it to be prompted, or use --password-stdin or a netrc file"
	where := ""
	switch {
	case shows(r.User):
		where = "of -u in the list of processes: " + instead
	case secret:
		where = "of a URL in the list of processes: " + instead
	case r.Proxy != nil && r.Proxy.HasPassword():
		where = "of --proxy in the list of processes: set the variable ALL_PROXY instead"
	}
	if where != "" && !r.Quiet {
		r.print.Warn("other users can see the password " + where)
	}
}

// newLimiter returns a limiter whose burst is an eighth of a second of data, so that a transfer does not race ahead
// after a pause. It starts empty: the downloads have never received more than the rate times its age.
func newLimiter(limit int64, now time.Time) *rate.Limiter {
	burst := int(min(max(limit/8, 512), math.MaxInt32))
	l := rate.NewLimiter(rate.Limit(limit), burst)
	l.AllowN(now, burst)
	return l
}
