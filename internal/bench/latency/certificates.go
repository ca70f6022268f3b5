//go:build linux

package main

import (
	"os"

	"example.com/ftpfetch/internal/bench/lab"
	"example.com/ftpfetch/internal/throwaway"
)

// caFile is the authority's certificate, in the directory that clients run in.
const caFile = "ca.pem"

// writeCertificates makes an authority that is valid for a day and a server
// certificate for both links. It writes the authority's certificate to ca, and
// the server's certificate and key to server.
func writeCertificates(ca, server string) error {
	id, err := throwaway.New(nearServer, farServer)
	if err != nil {
		return err
	}
	pem, err := id.ServerPEM()
	if err != nil {
		return err
	}
	if err := lab.WriteFile(ca, id.RootPEM()); err != nil {
		return err
	}
	return os.WriteFile(server, pem, 0o600)
}
