// Command retries copies a file to standard output and does not give up when the connection
// breaks: it resumes from the byte where it stopped.
//
//	go run ./examples/retries                              # a server in the same process that breaks twice
//	go run ./examples/retries ftp://ftp.example.org/pub/x
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, os.Stderr, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "retries:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, stdout, stderr io.Writer, args []string) error {
	switch len(args) {
	case 0:
		return demo(ctx, stdout, stderr)
	case 1:
		return show(ctx, stdout, stderr, args[0], nil)
	}
	return errors.New("write: retries URL")
}

// show copies the file that rawURL names to stdout, and tells stderr about each retry. wait
// waits before a retry; nil waits a second at first, and longer each time.
func show(ctx context.Context, stdout, stderr io.Writer, rawURL string, wait func(context.Context, time.Duration) error) error {
	u, err := urlparse.Parse(rawURL)
	if err != nil {
		return err
	}
	var c ftpexec.Client
	defer c.CloseIdleConnections()
	_, err = download.To(ctx, &c, u, stdout, &download.Options{
		Retries:      new(8), // in a row without a new byte
		RetryConnect: true,   // also if there is no server yet
		Wait:         wait,
		Notify: func(e download.Event) {
			if e.Kind == download.Retrying {
				fmt.Fprintf(stderr, "try %d of %d: %v\n", e.Try, e.Tries, e.Err)
			}
		},
	})
	var failed *ftpexec.Error
	if errors.As(err, &failed) && !failed.Temporary() {
		return fmt.Errorf("a retry would not help: %w", err)
	}
	return err
}

// demo retrieves a file from a server of its own that breaks two transfers.
func demo(ctx context.Context, stdout, stderr io.Writer) (err error) {
	server, err := testserver.Start(&testserver.Options{
		Tree: map[string]string{"/pub/poem": strings.Repeat("Not a byte is lost.\n", 3)},
		Fault: func(p testserver.FaultPoint) testserver.Fault {
			if p.Transfer == 1 || p.Transfer == 2 {
				return testserver.Fault{Data: testserver.Closed, Octets: 20, Final: "426 The connection broke."}
			}
			return testserver.Fault{}
		},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	soon := func(ctx context.Context, _ time.Duration) error { return context.Cause(ctx) }
	return show(ctx, stdout, stderr, server.URL("/pub/poem"), soon)
}
