// Command rootca retrieves a file from a server whose certificate comes from an authority of
// one's own, and trusts no other.
//
//	go run ./examples/rootca                                            # a server in the same process
//	go run ./examples/rootca authority.pem ftpes://ftp.example.org/pub/x  # printed to standard output
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "rootca:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer, args []string) error {
	switch len(args) {
	case 0:
		return demo(ctx, w)
	case 2:
		roots, err := readRoots(args[0])
		if err != nil {
			return err
		}
		return show(ctx, w, roots, args[1])
	}
	return errors.New("write: rootca AUTHORITY.PEM URL")
}

// readRoots reads the certificates of authorities from a PEM file.
func readRoots(path string) (*x509.CertPool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s: no certificate in PEM form", path)
	}
	return roots, nil
}

// show copies a file to w. If roots is nil it trusts the authorities of the system.
func show(ctx context.Context, w io.Writer, roots *x509.CertPool, rawURL string) error {
	c := ftpexec.Client{TLSConfig: &tls.Config{RootCAs: roots}} // for ftpes:// and ftps://; ftp:// has no TLS
	defer c.CloseIdleConnections()
	r, err := c.Get(ctx, rawURL)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	_, err = io.Copy(w, r.Body)
	return err
}

// demo asks a server of its own twice: without its authority, and with it.
func demo(ctx context.Context, w io.Writer) (err error) {
	server, err := testserver.Start(&testserver.Options{TLS: testserver.TLSRequired, Tree: map[string]string{"/pub/motd": "hello\n"}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	dir, err := os.MkdirTemp("", "rootca-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	authority := filepath.Join(dir, "authority.pem")
	if err := os.WriteFile(authority, server.RootPEM(), 0o666); err != nil {
		return err
	}

	err = show(ctx, w, nil, server.URL("/pub/motd"))
	if !errors.Is(err, ftpexec.ErrCertificate) {
		return fmt.Errorf("without the authority: %v", err)
	}
	fmt.Fprintln(w, "without the authority: the certificate is not trusted")
	return run(ctx, w, []string{authority, server.URL("/pub/motd")})
}
