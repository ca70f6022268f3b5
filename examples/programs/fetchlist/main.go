// Command fetchlist saves the files of a list and verifies them by their digests. A second call saves only the missing
// files.
//
//	fetchlist SHA256SUMS ftp://ftp.example.org/pub/ DIRECTORY
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/urlparse"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: fetchlist LIST URL DIRECTORY")
		os.Exit(2)
	}
	list, err := os.Open(os.Args[1])
	if err == nil {
		err = save(ctx, list, os.Args[2], os.Args[3], os.Stderr)
		list.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fetchlist:", err)
		os.Exit(1)
	}
}

// save saves the files that list names below dir, and reports to w. The names are relative to the directory at base.
func save(ctx context.Context, list io.Reader, base, dir string, w io.Writer) error {
	u, err := urlparse.Parse(base)
	if err != nil {
		return err
	}
	if !u.IsDir() {
		return errors.New(u.Redacted() + " is no directory: end it in /")
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	c := ftpexec.Client{MaxIdle: 8}
	defer c.CloseIdleConnections()

	tasks := download.Tasks(manifest.Read(list, &manifest.Options{Base: u, KeepDirs: true}))
	totals, err := download.Run(ctx, &c, tasks, &download.RunOptions{
		Jobs: 8,
		// The ledger records verified files, so that later runs do not read them again.
		Ledger: ".ftpfetch-ledger",
		// Newer replaces files that have changed on the server.
		Each:   download.Options{Root: root, Existing: download.Newer, Verify: true},
		Events: func(e download.Event) { show(w, e) },
	})
	fmt.Fprintf(w, "%d of %d files complete\n", totals.Complete, totals.Files)
	return err // nil only if all files are complete
}

// show writes a line for each finished file and for each retry.
func show(w io.Writer, e download.Event) {
	switch {
	case e.Kind == download.Ended && e.Err != nil:
		fmt.Fprintln(w, "FAILED ", e.Err)
	case e.Kind == download.Ended && e.Result.Left != "":
		fmt.Fprintf(w, "%s: %s\n", e.Task.Path, e.Result.Left)
	case e.Kind == download.Ended:
		fmt.Fprintf(w, "%s: %d bytes, %s\n", e.Task.Path, e.Result.Size, e.Result.Verified)
	case e.Kind == download.Noted && e.Wait > 0:
		fmt.Fprintf(w, "%v: %s in %v\n", e.Err, e.Text, e.Wait)
	}
}
