// Command gunzip prints the contents of a compressed file on a server while it arrives.
//
//	gunzip ftp://ftp.example.org/pub/genomes.fa.gz | head
//
// A broken transfer resumes where it stopped, and nothing is printed twice.
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

// gunzip writes the contents of the compressed file at rawURL to w. After an error, w may have only the start of the
// contents.
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
		to.CloseWithError(err) // the reader gets err in place of the end
		retrieved <- err
	}()
	err = decompress(w, from)
	from.CloseWithError(err) // nothing reads from the pipe any more, so To ends
	if failed := <-retrieved; failed != nil {
		return failed // err is its consequence or its cause
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
