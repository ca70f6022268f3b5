// Command resume downloads a file and shows its progress. After Ctrl-C or a failure, the next call resumes where the
// last one stopped.
//
//	resume ftp://ftp.example.org/pub/debian.iso [FILE]
package main

import (
	"cmp"
	"context"
	"errors"
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
	if len(os.Args) < 2 || len(os.Args) > 3 {
		fmt.Fprintln(os.Stderr, "usage: resume URL [FILE]")
		os.Exit(2)
	}
	path := ""
	if len(os.Args) == 3 {
		path = os.Args[2]
	}
	if err := save(ctx, os.Args[1], path, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "resume:", err)
		os.Exit(1)
	}
}

// save downloads the file at rawURL to path or, if path is "", to the working directory under its own name. It reports
// to w.
func save(ctx context.Context, rawURL, path string, w io.Writer) error {
	u, err := urlparse.Parse(rawURL)
	if err != nil {
		return err
	}
	o := download.Options{Events: func(e download.Event) { show(w, e) }}
	if path == "" {
		// A name on a server may be "../x" or "/etc/x". With a Root, no name leads out of the directory.
		if o.Root, err = os.OpenRoot("."); err != nil {
			return err
		}
		defer o.Root.Close()
	}
	var c ftpexec.Client
	defer c.CloseIdleConnections()
	r, err := download.File(ctx, &c, u, cmp.Or(path, u.Name), &o)
	switch {
	case errors.Is(err, os.ErrExist):
		return fmt.Errorf("%w (another file has that name)", err)
	case err != nil && r.Kept > 0:
		return fmt.Errorf("%w (%d bytes are kept: call again to go on)", err, r.Kept)
	case err != nil:
		return err
	case r.Left != "":
		fmt.Fprintln(w, r.Left)
	default:
		fmt.Fprintf(w, "%d bytes, %d of them from earlier calls\n", r.Size, r.Resumed)
	}
	return nil
}

// show writes one line, which the next progress overwrites.
func show(w io.Writer, e download.Event) {
	switch {
	case e.Kind == download.Progress && e.Total > 0:
		fmt.Fprintf(w, "\r%3d%% of %d bytes\r", 100*e.Done/e.Total, e.Total)
	case e.Kind == download.Progress:
		fmt.Fprintf(w, "\r%d bytes\r", e.Done)
	case e.Wait > 0:
		fmt.Fprintf(w, "%v: try %s again in %v\n", e.Err, e.Text, e.Wait)
	default:
		fmt.Fprintln(w, e.Text)
	}
}
