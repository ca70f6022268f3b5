package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/cli/config"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/urlparse"
)

// ranged is a source that serves a part of a file (--range) as if it were a whole file. What arrives is as exact as a
// whole file.
type ranged struct {
	download.Source
	config.Range
	tell   func(text string)
	proven bool // the server has the range, and honors REST
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
	return e, err
}

// of returns how many bytes of a file of this size are in the range; -1 if that is not known.
func (r *ranged) of(size int64) int64 {
	if size < 0 {
		return -1
	}
	return max(0, min(size, r.Last+1)-r.First)
}

// Do retrieves the part, or the rest of it from an offset on.
func (r *ranged) Do(ctx context.Context, req *ftpexec.Request) (*ftpexec.Response, error) {
	if !r.proven {
		if err := r.prove(ctx, req.URL); err != nil {
			return nil, err
		}
		r.proven = true
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
	if size < 0 || r.Last < size-1 { // otherwise the server ends the part
		left := r.Last + 1 - r.First - req.Offset
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, left), resp.Body}
	}
	return resp, nil
}

// prove checks that the server has the range and begins where it is asked to. If the range goes to the end of the file,
// the number of bytes that arrive shows that.
func (r *ranged) prove(ctx context.Context, u *urlparse.URL) error {
	e, err := r.Source.Stat(ctx, u)
	switch {
	case err != nil:
		return err
	case e.Size < 0 && r.First > 0:
		return about(u, errors.New("the server does not tell the size, so nothing shows where a range begins"))
	case e.Size >= 0 && r.First >= e.Size:
		return about(u, fmt.Errorf("the range begins at byte %d, but the file has %d bytes", r.First, e.Size))
	}
	if r.First > 0 && r.Last < e.Size-1 {
		err = r.begins(ctx, u, e.Size)
	}
	if e.Size >= 0 && err == nil {
		r.tell(fmt.Sprintf("bytes %d to %d of %d", r.First, min(r.Last, e.Size-1), e.Size))
	}
	return err
}

// begins checks that the server can begin in the middle of a file of this size. It asks for the last byte, after which
// the file must end. A server that begins at the start sends more.
func (r *ranged) begins(ctx context.Context, u *urlparse.URL, size int64) error {
	resp, err := r.Source.Do(ctx, &ftpexec.Request{URL: u, Offset: size - 1})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, io.LimitReader(resp.Body, 2))
	switch {
	case n > 1:
		return about(u, ftpexec.ErrNoRestart)
	case err == nil && n < 1:
		return about(u, ftpexec.ErrTruncated)
	}
	return err
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
	case filepath.Base(path) == u.Name:
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
