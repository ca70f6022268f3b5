// Command gunzip prints what a compressed file on a server contains, while it arrives.
//
//	gunzip ftp://ftp.example.org/pub/genomes.fa.gz | head
//
// A transfer that breaks goes on where it stopped, without anything printed twice.
package main

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/urlparse"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gunzip URL")
		os.Exit(2)
	}
	if err := gunzip(ctx, os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "gunzip:", err)
		os.Exit(1)
	}
}

// gunzip writes the contents of the compressed file at rawURL to w. With an error, w has only the start of them.
func gunzip(ctx context.Context, rawURL string, w io.Writer) error {
	u, err := urlparse.Parse(rawURL)
	if err != nil {
		return err
	}
	var c ftpexec.Client
	defer c.CloseIdleConnections()

	from, to := io.Pipe()
	retrieved := make(chan error)
	go func() {
		_, err := download.To(ctx, &c, u, to, nil)
		to.CloseWithError(err) // the reader sees it in place of the end
		retrieved <- err
	}()
	err = decompress(w, from)
	from.CloseWithError(err) // nobody reads any more: To ends
	if failed := <-retrieved; failed != nil {
		return failed // err follows from it, or is in it
	}
	return err
}

func decompress(w io.Writer, r io.Reader) error {
	z, err := gzip.NewReader(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, z)
	return err
}
