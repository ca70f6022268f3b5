package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"example.com/ftpfetch/cmd/internal/cli/config"
	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/urlparse"
)

// ranged is a source that serves a part of a file (--range) as if it were a whole file. What arrives is as exact as a
// whole file.
type ranged struct {
	download.Source
	config.Range
	tell  func(text string)
	there bool      // the server has the range
	time  time.Time // of the file when it was first asked for, if the range ends now
}

// ranged returns the source of the part of a file that --range names. It does not resume what an earlier run left,
// which may be another part.
func (r *run) ranged(from download.Source, t *config.Range, o *download.Options) download.Source {
	o.NoResume = true
	return &ranged{Source: from, Range: *t, tell: r.print.Tell}
}

// Stat returns the size of the part.
func (r *ranged) Stat(ctx context.Context, u *urlparse.URL) (ftpexec.Entry, error) {
	e, err := r.Source.Stat(ctx, u)
	e.Size = r.of(e.Size)
	if r.Now && r.there {
		e.ModTime = r.time
	}
	return e, err
}

// of returns how many bytes of a file of this size are in the range; -1 if that is not known.
func (r *ranged) of(size int64) int64 {
	if size < 0 {
		return -1
	}
	return max(0, min(size, r.Last+1)-r.First)
}

// Do retrieves the part, or the rest of it from an offset on. Every connection that sends REST proves that its server
// begins where it is told to, whatever the request says: no byte before the range is known to compare with.
func (r *ranged) Do(ctx context.Context, req *ftpexec.Request) (*ftpexec.Response, error) {
	if !r.there {
		if err := r.look(ctx, req.URL); err != nil {
			return nil, err
		}
		r.there = true
	}
	resp, err := r.Source.Do(ctx, &ftpexec.Request{URL: req.URL, Offset: r.First + req.Offset})
	if err != nil {
		return nil, err
	}
	size := resp.Size
	if size >= 0 && size <= r.First {
		resp.Body.Close()
		return nil, about(req.URL, ftpexec.ErrChanged)
	}
	resp.Size = r.of(size)
	if r.Now { // what grows has a new time again and again
		resp.ModTime = r.time
	}
	if size < 0 || r.Now || r.Last < size-1 { // otherwise the server ends the part
		left := r.Last + 1 - r.First - req.Offset
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, left), resp.Body}
	}
	return resp, nil
}

// look checks that the server has the range.
func (r *ranged) look(ctx context.Context, u *urlparse.URL) error {
	e, err := r.Source.Stat(ctx, u)
	switch {
	case err != nil:
		return err
	case e.Size < 0 && r.First > 0:
		return about(u, errors.New("the server does not tell the size, so nothing shows where a range begins"))
	case e.Size >= 0 && r.First >= e.Size:
		return about(u, fmt.Errorf("the range begins at byte %d, but the file has %d bytes", r.First, e.Size))
	case e.Size < 0 && r.Now:
		return about(u, errors.New("the server does not tell the size, so nothing shows where the file ends now"))
	case e.Size >= 0:
		if r.Now {
			r.Last = e.Size - 1
			r.time = e.ModTime
		}
		r.tell(fmt.Sprintf("bytes %d to %d of %d", r.First, min(r.Last, e.Size-1), e.Size))
	}
	return nil
}

func about(u *urlparse.URL, err error) error {
	return &ftpexec.Error{Op: "range", URL: u.Redacted(), Stage: ftpexec.StageTransfer, Err: err}
}

// partly refuses a URL that has no parts of its own, and a path where a file exists, because that may be another part.
func (r *run) partly(u *urlparse.URL, path string) error {
	switch {
	case u.Type == urlparse.TypeASCII:
		return config.Usage("--range counts bytes as the server stores them: drop ;type=a")
	case path == "-":
		return nil
	case filepath.Base(path) == u.Name && !(r.Range.Now && r.Range.First == 0): // all that the file had then
		text := "-o %s would give a part the name of the whole file: write -o %s.%v"
		return config.Usage(text, path, path, r.Range)
	}
	_, missing := os.Lstat(path)
	info, err := os.Stat(path) // an error if path is a link that leads nowhere
	if missing == nil && (err != nil || info.Mode().IsRegular()) && r.File.Existing == "" {
		return &localfile.Error{Path: path, Reason: "exists, and may be another part", Err: localfile.ErrOther}
	}
	return nil
}
