// Command watch prints every minute which files of a directory are new, changed or gone.
//
//	watch ftp://ftp.example.org/pub/radar/
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/urlparse"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: watch URL/")
		os.Exit(2)
	}
	if err := watch(ctx, os.Args[1], time.Tick(time.Minute), os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "watch:", err)
		os.Exit(1)
	}
}

// watch prints the differences at each tick to w, and failures that may pass to problems, until ctx or ticks end.
func watch(ctx context.Context, rawURL string, ticks <-chan time.Time, w, problems io.Writer) error {
	u, err := urlparse.Parse(rawURL)
	if err != nil {
		return err
	}
	var c ftpexec.Client
	defer c.CloseIdleConnections()
	var before map[string]ftpexec.Entry
	for {
		now, err := list(ctx, &c, u)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !ftpexec.Retryable(err):
			return err
		case err != nil:
			fmt.Fprintln(problems, err)
		default:
			if before != nil {
				compare(w, before, now)
			}
			before = now
		}
		select {
		case <-ctx.Done():
			return nil
		case _, more := <-ticks:
			if !more {
				return nil
			}
		}
	}
}

// list returns all entries of a directory by name. It returns an error for an incomplete listing, because files would
// seem to be gone.
func list(ctx context.Context, c *ftpexec.Client, u *urlparse.URL) (map[string]ftpexec.Entry, error) {
	entries := make(map[string]ftpexec.Entry)
	for e, err := range c.Entries(ctx, u) {
		switch {
		case errors.Is(err, ftpexec.ErrLine): // one line that cannot be parsed; others follow
			continue
		case err != nil:
			return nil, err
		}
		entries[e.Name] = e
	}
	return entries, nil
}

// compare prints each difference on a line, sorted by name.
func compare(w io.Writer, before, now map[string]ftpexec.Entry) {
	for _, name := range slices.Sorted(maps.Keys(now)) {
		old, known := before[name]
		e := now[name]
		switch {
		case !known:
			fmt.Fprintf(w, "+ %q %d bytes\n", name, e.Size)
		case e.Size != old.Size || !e.ModTime.Equal(old.ModTime) || e.Unique != old.Unique:
			fmt.Fprintf(w, "* %q %d bytes\n", name, e.Size)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, still := now[name]; !still {
			fmt.Fprintf(w, "- %q\n", name)
		}
	}
}
