// Command progress saves a file, shows how far it is, and ends on Ctrl-C. Run again, it
// resumes.
//
//	go run ./examples/progress                              # from a server in the same process
//	go run ./examples/progress ftp://ftp.example.org/pub/x  # saved as x
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "progress:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer, args []string) error {
	switch len(args) {
	case 0:
		return demo(ctx, w)
	case 1:
		return save(ctx, w, args[0], ".", nil)
	}
	return errors.New("write: progress URL")
}

// save saves the file that rawURL names in dir. When ctx ends, what has come stays for the
// next call.
func save(ctx context.Context, w io.Writer, rawURL, dir string, limit *download.Limiter) error {
	u, err := urlparse.Parse(rawURL)
	if err != nil {
		return err
	}
	name, err := download.LocalName(u)
	if err != nil {
		return err
	}
	var c ftpexec.Client
	defer c.CloseIdleConnections()
	result, err := download.File(ctx, &c, u, filepath.Join(dir, name), &download.Options{
		Existing: download.Overwrite,
		Limit:    limit,
		Progress: func(done, total int64) {
			if total < 0 { // the server does not tell the size
				fmt.Fprintf(w, "\r%d bytes", done)
				return
			}
			fmt.Fprintf(w, "\r%d of %d bytes, %d%%", done, total, 100*done/max(total, 1))
		},
	})
	fmt.Fprintln(w)
	switch {
	case errors.Is(err, context.Canceled) && result.Kept > 0:
		return fmt.Errorf("interrupted: %d bytes are kept for the next run", result.Kept)
	case err != nil:
		return err
	}
	fmt.Fprintln(w, "saved as", result.Path)
	return nil
}

// demo saves a file from a server of its own, slowly enough to be seen.
func demo(ctx context.Context, w io.Writer) (err error) {
	server, err := testserver.Start(&testserver.Options{Tree: map[string]string{"/pub/file": strings.Repeat("0123456789", 300_000)}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	dir, err := os.MkdirTemp("", "progress-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	return save(ctx, w, server.URL("/pub/file"), dir, download.NewLimiter(2_000_000))
}
