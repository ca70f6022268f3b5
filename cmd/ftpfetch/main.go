// Certificates of some printers and old servers have a negative serial number. Without this crypto/tls refuses them even if
// the user trusts exactly that certificate.
//go:debug x509negativeserial=1

// Command ftpfetch retrieves what ftp URLs name, exactly as RFC 1738 says.
package main

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"

	"example.com/ftpfetch/cmd/internal/cli"
)

func main() {
	growSlowlyOnceLarge()
	ctx, stop := cli.NotifyContext(context.Background())
	code := cli.Run(ctx, os.Args[1:], cli.Standard())
	stop()
	os.Exit(code)
}

// growSlowlyOnceLarge makes the garbage collector begin when the heap has 16 MiB, after which the heap may grow by a
// fifth. Most runs end before that. Nearly all of a large heap is a list that lives until the end: letting it double
// would cost memory and save little time. Package cli lets it double for a list of few files.
func growSlowlyOnceLarge() {
	const atFirst = 400 // percent of 4 MiB
	debug.SetGCPercent(atFirst)
	first := new([64]byte) // garbage that the first collection finds
	runtime.AddCleanup(first, func(slowly int) {
		if now := debug.SetGCPercent(slowly); now != atFirst {
			debug.SetGCPercent(now)
		}
	}, 20)
}
