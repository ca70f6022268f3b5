package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/urlparse"
)

// progressInterval is the time between two calls of Options.Progress.
const progressInterval = 100 * time.Millisecond

// To retrieves the file that u names and writes it to w, as far as it comes:
// after an error w may hold a part. It does not close w. o may be nil; of it
// only Progress counts.
func To(ctx context.Context, c *ftpexec.Client, u *urlparse.URL, w io.Writer, o *Options) (Result, error) {
	if _, ok := w.(*os.File); !ok {
		w = &writer{w: w}
	}
	done, err := fetch(ctx, c, u, w, o.orDefault().Progress)
	return Result{Size: done.size, ModTime: done.modTime}, inFile(err, "")
}

// fetched is what a transfer brought.
type fetched struct {
	size    int64 // octets written
	modTime time.Time
}

// fetch copies what u names to w. An [*os.File] is handed on as it is, so that
// the data can go straight to it.
func fetch(ctx context.Context, c *ftpexec.Client, u *urlparse.URL, w io.Writer, progress func(done, total int64)) (fetched, error) {
	resp, err := c.OpenURL(ctx, u)
	if err != nil {
		return fetched{}, err
	}
	defer resp.Body.Close()
	stop := report(resp, progress)
	n, err := io.Copy(w, resp.Body)
	stop()
	if err == nil && resp.Size >= 0 && n != resp.Size {
		err = fmt.Errorf("%w: %d of %d octets", ftpexec.ErrTruncated, n, resp.Size)
	}
	return fetched{size: n, modTime: resp.ModTime}, err
}

// report calls progress now and then, until the returned function is called. It
// reads a counter: nothing stands in the way of the data.
func report(resp *ftpexec.Response, progress func(done, total int64)) (stop func()) {
	if progress == nil {
		return func() {}
	}
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(progressInterval)
		defer ticker.Stop()
		for {
			progress(resp.Received(), resp.Size)
			select {
			case <-ticker.C:
			case <-quit:
				progress(resp.Received(), resp.Size)
				return
			}
		}
	}()
	return func() { close(quit); <-ended }
}

// writer counts octets and marks the errors of writing as local ones.
type writer struct {
	w    io.Writer
	path string
	n    int64
}

func (w *writer) Write(p []byte) (int, error) {
	n, err := w.w.Write(p)
	w.n += int64(n)
	if err != nil {
		err = failure(w.path, "cannot be written", err)
	}
	return n, err
}

// inFile marks the errors of writing to a file, which come from the operating
// system as they are where the data went straight to it.
func inFile(err error, path string) error {
	var server *ftpexec.Error
	var local *Error
	var system *fs.PathError
	if errors.As(err, &server) || errors.As(err, &local) || !errors.As(err, &system) {
		return err
	}
	return failure(path, "cannot be written", err)
}
