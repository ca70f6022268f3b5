package download

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"time"

	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/urlparse"
)

// File retrieves the file that u names and saves it under path, whole or not at all. o may be nil.
//
// File checks for local obstacles before it asks the server for the file: an existing target ([fs.ErrExist]), a directory
// that is missing or not writable ([ErrLocal]), an impossible name. It writes directly to a character device or FIFO. With
// Options.Root path is relative to that directory, and missing directories are made.
//
// Errors from the server are those of [ftpexec.Client.Do] and of reading the Body. After an error NAME.ftpfetch.part keeps
// the bytes that arrived, if the next call can resume from them. After [ErrDigest] they are in NAME.ftpfetch.bad.
func File(ctx context.Context, src Source, u *urlparse.URL, path string, o *Options) (r Result, err error) {
	if err := o.check(); err != nil {
		return Result{}, err
	}
	j := newJob(src, u, o)
	if j.o.Root == nil && standard(path) != nil {
		return j.saveStream(ctx, path)
	}
	to := j.place
	if to == nil {
		if to, err = new(partfile.Group).Find(j.o.Root, path); err != nil {
			return Result{}, err
		}
	}
	defer func() {
		if to.Close(err != nil); err != nil {
			r = Result{Kept: r.Kept}
		}
	}()
	err = to.Again(func() (err error) {
		if to.Stream {
			r, err = j.saveStream(ctx, path)
		} else if r, err = j.file(ctx, to); errors.Is(err, partfile.ErrMoved) {
			err = cmp.Or(to.Look(), err)
		}
		return err
	})
	return r, err
}

// file is [File] for a target that is a regular file or does not exist. The error is [partfile.ErrMoved] if another run
// changed the target meanwhile.
func (j *job) file(ctx context.Context, to *partfile.Place) (result Result, err error) {
	c, err := j.choose(ctx, to)
	switch {
	case err != nil:
		return Result{}, err
	case c.skip != "":
		return j.leaveAlone(ctx, to, c.skip)
	}
	t, err := j.find(ctx, to, c)
	if err != nil {
		return Result{}, err
	}
	defer func() {
		if kept := t.part.Leave(t.text()); err != nil {
			result.Kept = kept
		}
	}()
	if t.check, err = j.expected(ctx); err == nil {
		err = t.run(ctx)
	}
	if err != nil {
		return Result{}, err
	}
	j.arrives()
	return t.finish(ctx, to, c.overwrite)
}

// finish checks the complete part and gives it its final name.
func (t *transfer) finish(ctx context.Context, to *partfile.Place, overwrite bool) (Result, error) {
	s := t.part.Snapshot()
	size := s.Done.Octets()
	result := Result{Size: size, ModTime: s.ModTime, Resumed: t.resumed}
	err := t.sized("what arrived has", size)
	if err == nil && t.check != nil {
		err = t.verify(ctx, size, &result)
	}
	if err != nil {
		return Result{}, err
	}
	last := partfile.Finish{Overwrite: overwrite, Note: t.o.note}
	if t.o.Commit != nil {
		last.Commit = func(modTime time.Time) error {
			result.ModTime = modTime
			return t.o.Commit(result)
		}
	}
	err = t.part.Publish(last)
	if t.o.Skip && errors.Is(err, fs.ErrExist) {
		t.part.Discard()
		return Result{Left: leftExists, Size: to.Size()}, nil
	}
	return result, err
}

// leaveAlone returns the result for a target that stays. It verifies one that is as good as the server's file if a digest was
// asked for, but never removes it. It asks the server for no digest of one that has merely been there.
func (j *job) leaveAlone(ctx context.Context, to *partfile.Place, why string) (Result, error) {
	result := Result{Left: why, Size: to.Size()}
	err := j.sized(to.Path+": exists with", result.Size)
	if err != nil || why == leftExists && j.o.Sum.Algorithm == "" {
		return result, err
	}
	c, err := j.expected(ctx)
	if err != nil || c == nil {
		return result, err
	}
	if err = to.Copy(ctx, c); err == nil {
		err = c.compare(&result)
	}
	return result, err
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
