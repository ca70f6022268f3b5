// Command secure prints a file that it retrieves over TLS. You choose the authority that signs the server's
// certificate, a client certificate if the server requires one, and the local address to connect from.
//
//	secure -cacert ca.pem -cert me.pem -from 192.0.2.7 ftpes://ftp.example.org/pub/motd
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/urlparse"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	cacert := flag.String("cacert", "", "trust the authorities in this `file` alone")
	cert := flag.String("cert", "", "show the server the certificate in this `file`, which has the key too")
	from := flag.String("from", "", "connect from this `address`")
	flag.Parse()
	config, err := configure(*cacert, *cert)
	if err == nil {
		err = show(ctx, flag.Arg(0), config, dialFrom(*from), os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "secure:", err)
		os.Exit(1)
	}
}

// configure reads the files of certificates; "" means none.
func configure(cacert, cert string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if cacert != "" {
		text, err := os.ReadFile(cacert)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, errors.New(cacert + " has no certificate in PEM")
		}
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, cert)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// dial opens connections, for control and for data.
type dial = func(ctx context.Context, network, address string) (net.Conn, error)

// dialFrom returns a dial that connects from an address of this machine.
func dialFrom(address string) dial {
	var d net.Dialer
	if ip := net.ParseIP(address); ip != nil {
		d.LocalAddr = &net.TCPAddr{IP: ip}
	}
	return d.DialContext
}

// show writes the file at rawURL to w. It refuses an unencrypted connection.
func show(ctx context.Context, rawURL string, config *tls.Config, d dial, w io.Writer) error {
	u, err := urlparse.Parse(rawURL)
	switch {
	case err != nil:
		return err
	case u.Scheme == "ftp":
		return errors.New(u.Redacted() + " is not encrypted: write ftpes:// or ftps://")
	}
	c := ftpexec.Client{TLSConfig: config, Dial: d}
	defer c.CloseIdleConnections()
	r, err := c.Do(ctx, &ftpexec.Request{URL: u})
	if err != nil {
		return err // matches ftpexec.ErrTLS if one side does not trust the other
	}
	defer r.Body.Close()
	_, err = io.Copy(w, r.Body) // fails unless the whole file arrived
	return err
}
