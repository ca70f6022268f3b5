// Command fileserver serves a directory of an FTP server over HTTP. Clients cannot reach anything above that directory.
//
//	fileserver ftp://ftp.example.org/pub/ 127.0.0.1:8080
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/ftpexec/ftpfs"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: fileserver URL ADDRESS")
		os.Exit(2)
	}
	if err := serve(ctx, os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "fileserver:", err)
		os.Exit(1)
	}
}

// serve serves the directory at rawURL until ctx ends.
func serve(ctx context.Context, rawURL, address string) error {
	c := ftpexec.Client{MaxConns: 8, MaxIdle: 8} // more requests wait for one of the eight
	defer c.CloseIdleConnections()
	h, err := handler(ctx, &c, rawURL)
	if err != nil {
		return err
	}
	s := http.Server{Addr: address, Handler: h, ReadHeaderTimeout: time.Minute}
	stop := context.AfterFunc(ctx, func() { s.Close() })
	defer stop()
	if err := s.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// handler serves the directory at rawURL.
func handler(ctx context.Context, c *ftpexec.Client, rawURL string) (http.Handler, error) {
	fsys, err := ftpfs.Open(ctx, c, rawURL)
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "sandbox") // a page from the server must not act as one of this site
		// The transfer ends when the client disconnects.
		http.FileServerFS(fsys.WithContext(r.Context())).ServeHTTP(w, r)
	}), nil
}
