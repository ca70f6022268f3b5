// Command unzip prints members of a ZIP archive on a server. It reads the directory of the archive and these members, and
// not the rest.
//
//	unzip ftp://ftp.example.org/pub/scenes.zip B04.tif
//
// Without members it lists the names of all.
package main

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/ftpexec/ftpfs"
	"example.com/ftpfetch/urlparse"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: unzip URL [MEMBER...]")
		os.Exit(2)
	}
	if err := unzip(ctx, os.Args[1], os.Args[2:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "unzip:", err)
		os.Exit(1)
	}
}

// unzip writes the members of the archive at rawURL to w.
func unzip(ctx context.Context, rawURL string, members []string, w io.Writer) error {
	var c ftpexec.Client
	defer c.CloseIdleConnections()
	u, err := urlparse.Parse(rawURL)
	if err != nil {
		return err
	}
	dir := *u
	dir.Name = ""
	fsys, err := ftpfs.New(ctx, &c, &dir)
	if err != nil {
		return err
	}
	f, err := fsys.Open(u.Name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	at, ok := f.(io.ReaderAt)
	if !ok {
		return errors.New(u.Name + " is no file")
	}
	archive, err := zip.NewReader(at, info.Size())
	if err != nil {
		return err
	}
	if len(members) == 0 {
		for _, member := range archive.File {
			fmt.Fprintln(w, member.Name)
		}
	}
	for _, member := range members {
		r, err := archive.Open(member)
		if err != nil {
			return err
		}
		if _, err := io.Copy(w, r); err != nil { // fails too if the CRC-32 in the archive is another one
			return err
		}
		r.Close()
	}
	return nil
}
