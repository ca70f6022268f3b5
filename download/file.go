package download

import (
	"context"
	"errors"
	"io"
	"os"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/urlparse"
)

// File retrieves the file that u names and saves it under path, whole or not
// at all. o may be nil.
//
// What stands in the way locally is found before the server is contacted: an
// existing target ([ErrExists]), a directory that is missing or may not be
// written ([ErrLocal]), a name that cannot be ([ErrName]). A character device
// or FIFO is written to directly.
//
// Errors from the server are those of [ftpexec.Client.OpenURL] and of reading
// the Body; local ones are [*Error].
func File(ctx context.Context, c *ftpexec.Client, u *urlparse.URL, path string, o *Options) (Result, error) {
	var done fetched
	r, err := save(path, o.orDefault(), func(f *os.File) (int64, error) {
		var err error
		done, err = fetch(ctx, c, u, f, o.orDefault().Progress)
		return done.size, inFile(err, path)
	})
	r.ModTime = done.modTime
	return r, err
}

// Save writes what fill produces to path, as safely as [File] does: it is for
// other things than a single file's octets, such as a listing. The writer is
// good until fill returns; where fill returns an error nothing is left behind.
// Of o only Existing counts.
func Save(path string, o *Options, fill func(w io.Writer) error) (Result, error) {
	return save(path, o.orDefault(), func(f *os.File) (int64, error) {
		w := &writer{w: f, path: path}
		err := fill(w)
		return w.n, err
	})
}

// save finds out what path is and has it filled. fill returns the number of
// octets that it wrote.
func save(path string, o Options, fill func(*os.File) (int64, error)) (Result, error) {
	t, err := inspect(path, o.Existing)
	switch {
	case err != nil:
		return Result{}, err
	case t.skip:
		return skipped(path), nil
	case t.stream:
		return saveStream(path, fill)
	}
	return savePart(t, o.Existing, fill)
}

// savePart goes by way of NAME.part.
func savePart(t target, existing Existing, fill func(*os.File) (int64, error)) (Result, error) {
	p, err := createPart(t, existing)
	if err != nil {
		return Result{}, err
	}
	defer p.discard()
	n, err := fill(p.f)
	if err != nil {
		return Result{}, err
	}
	err = p.commit(n)
	if existing == Skip && errors.Is(err, ErrExists) {
		return skipped(t.path), nil
	}
	if err != nil {
		return Result{}, err
	}
	return Result{Path: t.path, Size: n}, nil
}

// saveStream writes to a device or FIFO, where there is nothing to protect and
// nothing to rename.
func saveStream(path string, fill func(*os.File) (int64, error)) (Result, error) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return Result{}, failure(path, "cannot be opened", err)
	}
	n, err := fill(f)
	if closing := f.Close(); err == nil && closing != nil {
		err = failure(path, "cannot be closed", closing)
	}
	if err != nil {
		return Result{}, err
	}
	return Result{Path: path, Size: n}, nil
}
