// Certificates of some printers and old servers have a negative serial number. Without this crypto/tls refuses them even if
// the user trusts exactly that certificate.
//go:debug x509negativeserial=1

// Command ftpfetch retrieves what ftp URLs name, exactly as RFC 1738 says.
package main

import (
	"context"
	"os"

	"example.com/ftpfetch/cmd/internal/cli"
)

func main() {
	cli.GrowSlowlyOnceLarge()
	ctx, stop := cli.NotifyContext(context.Background())
	code := cli.Run(ctx, os.Args[1:], cli.Standard())
	stop()
	os.Exit(code)
}
