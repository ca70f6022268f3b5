package download

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"example.com/ftpfetch/download/internal/decide"
	"example.com/ftpfetch/download/internal/fetch"
	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/urlparse"
)

// File retrieves the file that u names and saves it under path, whole or not at all. o may be nil.
//
// File checks for local obstacles before it asks the server for the file, such as an impossible name or a directory
// that is missing or not writable ([ErrLocal]). It refuses a device or FIFO: open it, and write to it with [To]. With
// Options.Root, path is relative to that directory, and File makes missing directories.
//
// Errors from the server are those of [ftpexec.Client.Do] and of reading its Body. After an error, NAME.ftpfetch.part
// keeps the bytes that arrived, if the next call can resume from them. After [ErrDigest] they are in NAME.ftpfetch.bad.
func File(
	ctx context.Context, src Source, u *urlparse.URL, path string, o *Options,
) (r Result, err error) {
	j, err := o.job(src, u)
	if err != nil {
		return Result{}, err
	}
	alone := partfile.Group{Attempt: localfile.Attempt(ctx)}
	if j.Place, err = alone.Find(o.root(), path); err != nil {
		return Result{}, err
	}
	defer func() {
		j.Place.Close(err != nil)
		if err = cmp.Or(err, alone.Dirs.Close()); err != nil {
			r = Result{Kept: r.Kept}
		}
	}()
	fetched, err := fetch.File(ctx, j)
	return Result(fetched), err
}

// Get is [File] for the text of a URL, with a Client of its own: anonymous unless the URL has a login.
func Get(ctx context.Context, url, path string, o *Options) (Result, error) {
	u, err := urlparse.Parse(url)
	if err != nil {
		return Result{}, err
	}
	var c ftpexec.Client
	defer c.CloseIdleConnections()
	return File(ctx, &c, u, path, o)
}

// To retrieves the file that u names and writes it to w as it arrives: after an error w may hold the start of the file. It
// does not close w. o may be nil. To refuses its fields that only concern files: Root, Existing, Segments and Commit. It retries a failure that may pass from the
// byte where it stopped, if the server can restart there. It compares a digest at the end, when w has everything.
func To(ctx context.Context, src Source, u *urlparse.URL, w io.Writer, o *Options) (Result, error) {
	j, err := o.job(src, u)
	if err == nil {
		err = o.unused()
	}
	if err != nil {
		return Result{}, err
	}
	r, err := fetch.To(ctx, j, w, "")
	return Result(r), err
}

// unused returns an error if o has a field that applies to local files only.
func (o *Options) unused() error {
	if o == nil {
		return nil
	}
	name := ""
	switch {
	case o.Root != nil:
		name = "Root"
	case o.Existing != "":
		name = "Existing"
	case o.Segments != 0:
		name = "Segments"
	case o.Commit != nil:
		name = "Commit"
	default:
		return nil
	}
	return fmt.Errorf("To writes to a Writer and saves no file, so Options.%s has no effect: leave it out", name)
}

func (o *Options) root() *os.Root {
	if o == nil {
		return nil
	}
	return o.Root
}

// job returns the fetch.Job for these options. o may be nil. job returns an error if the options contradict each other.
func (o *Options) job(src Source, u *urlparse.URL) (fetch.Job, error) {
	j := fetch.Job{Source: src, URL: u}
	if o == nil {
		return j, nil
	}
	j.Options = fetch.Options{
		Flags:   decide.Flags{Existing: decide.Existing(o.Existing), NoResume: o.NoResume, Verify: o.Verify},
		Retries: o.Retries, Segments: o.Segments,
		Size: o.Size, Sum: o.Sum, Limit: o.Limit,
	}
	j.Checkpoint = o.checkpoint
	if o.Commit != nil {
		j.Commit = func(r fetch.Result, _ time.Time) error { return o.Commit(Result(r)) }
	}
	if o.Events != nil {
		j.Tell = func(e fetch.Event) {
			kind := Noted
			if e.Progress {
				kind = Progress
			}
			o.Events(Event{Kind: kind, Text: e.Text, Done: e.Done, Total: e.Total, Err: e.Err, Wait: e.Wait})
		}
	}
	return j, j.Check()
}
