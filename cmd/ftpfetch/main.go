// Command ftpfetch retrieves what ftp URLs name, exactly as RFC 1738 says.
package main

import (
	"context"
	"os"

	"example.com/ftpfetch/internal/cli"
)

func main() {
	ctx, stop := cli.NotifyContext(context.Background())
	code := cli.Run(ctx, os.Args[1:], cli.Standard())
	stop()
	os.Exit(code)
}
