package download

import (
	"context"
	"errors"
	"fmt"
	"os"

	"example.com/ftpfetch/urlparse"
)

// File retrieves the file that u names and saves it under path, whole or not
// at all. o may be nil.
//
// File checks for local obstacles before it asks the server for the file: an
// existing target ([fs.ErrExist]), a directory that is missing or not writable
// ([ErrLocal]), an impossible name ([ErrName]). It writes directly to a character
// device or FIFO. With Options.Root path is relative to that directory, and
// missing directories are made.
//
// Errors from the server are those of [ftpexec.Client.Do] and of reading
// the Body; the others are [*Error]. After an error NAME.part keeps the bytes
// that arrived, if the next call can resume from them. After [ErrDigest] they are
// in NAME.bad.
func File(ctx context.Context, src Source, u *urlparse.URL, path string, o *Options) (Result, error) {
	if err := o.check(); err != nil {
		return Result{}, err
	}
	j := newJob(src, u, o)
	stream := func(f *os.File) (int64, error) {
		r, err := To(ctx, src, u, f, o)
		return r.Size, inPath(err, path)
	}
	return j.to(ctx, path, stream, j.file)
}

// to writes to path: with stream if it is a device or FIFO, or else with file,
// again if another run changed the target meanwhile.
func (j *job) to(ctx context.Context, path string, stream func(*os.File) (int64, error), file func(context.Context, target) (Result, error)) (r Result, err error) {
	d := newDisk(j.o.Root)
	d.hashed = j.hashed
	defer func() {
		if err != nil {
			d.unmake()
		}
	}()
	for range claimTries {
		t, err := d.inspect(path)
		switch {
		case err != nil:
			return Result{}, err
		case t.stream:
			return saveStream(ctx, path, stream)
		}
		result, err := file(ctx, t)
		if !errors.Is(err, errMoved) {
			return result, err
		}
	}
	return Result{}, busy(path)
}

// file is [File] for a target that is a regular file or does not exist. The error
// is errMoved if another run changed the target meanwhile.
func (j *job) file(ctx context.Context, to target) (result Result, err error) {
	c, err := j.choose(ctx, to)
	switch {
	case err != nil:
		return Result{}, err
	case c.skip == ReasonExists && j.o.Sum.Algorithm == "": // the server is not asked for a digest
		return to.skipped(c.skip), j.sized(to)
	case c.skip != 0:
		return j.leaveTarget(ctx, to, c.skip)
	}
	f, err := j.find(ctx, to, c)
	if err != nil {
		return Result{}, err
	}
	t := newTransfer(j, f)
	defer func() {
		if kept := t.leave(); err != nil {
			result = Result{Path: to.given, Kept: kept}
		}
	}()
	if t.check, err = j.expected(ctx); err != nil {
		return Result{}, err
	}
	if err := t.run(ctx); err != nil {
		return Result{}, err
	}
	j.o.notify(Event{Kind: Arrived})
	return t.finish(ctx, c.overwrite)
}

// leaveTarget returns the result for a target that is as good as the server's
// file. It verifies the target if a digest was asked for, but never removes it.
func (j *job) leaveTarget(ctx context.Context, to target, reason Reason) (Result, error) {
	result := to.skipped(reason)
	if err := j.sized(to); err != nil {
		return Result{}, err
	}
	c, err := j.expected(ctx)
	if err != nil || c == nil {
		return result, err
	}
	f, err := to.openFile(to.path, os.O_RDONLY, 0)
	if err != nil {
		return Result{}, failure(to.path, "cannot be opened", err)
	}
	defer f.Close()
	if err := c.reach(ctx, f, result.Size); err != nil {
		return Result{}, err
	}
	if err := c.compare(&result); err != nil {
		return Result{}, err
	}
	return result, nil
}

// sized returns an error if the target does not have the size that is wanted.
func (j *job) sized(to target) error {
	size := to.skipped(0).Size
	if j.o.Size == nil || j.text() || size == *j.o.Size {
		return nil
	}
	return &Error{Path: to.path, Reason: fmt.Sprintf("exists with %d bytes, but %d are wanted", size, *j.o.Size), Err: ErrSize}
}

// inPath adds path to a local error that has none.
func inPath(err error, path string) error {
	var e *Error
	if errors.As(err, &e) && errors.Is(err, ErrLocal) && e.Path == "" {
		e.Path = path
	}
	return err
}
