// Certificates of some printers and old servers have a negative serial number. Without this crypto/tls refuses them even if
// the user trusts exactly that certificate.
//go:debug x509negativeserial=1

// Command ftpfetch retrieves what ftp URLs name, exactly as RFC 1738 says.
package main

import (
	"context"
	"os"
	"runtime/debug"

	"example.com/ftpfetch/internal/cli"
)

func main() {
	// Nearly all of a large heap is a list that lives until the end: letting the heap double would cost memory and save
	// little time. Package cli lets it double for a list of few files.
	debug.SetGCPercent(20)
	ctx, stop := cli.NotifyContext(context.Background())
	code := cli.Run(ctx, os.Args[1:], cli.Standard())
	stop()
	os.Exit(code)
}
