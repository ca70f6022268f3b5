package download

import (
	"context"
	"errors"
	"io"
	"os"

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
// the Body; local ones are [*Error]; see also [ErrResume] and what follows it.
// After an error what was retrieved is kept in NAME.part, if the next call can
// go on from it. After [ErrDigest] it is NAME.bad.
func File(ctx context.Context, src Source, u *urlparse.URL, path string, o *Options) (Result, error) {
	opts := o.orDefault(src)
	existing := opts.Existing
	if opts.Newer || opts.Continue {
		existing = Overwrite // decided once the server has told its file's size and time
	}
	t, err := inspect(path, existing)
	switch {
	case err != nil:
		return Result{}, err
	case t.skip:
		return skipped(path, ReasonExists), nil
	case t.stream:
		return saveStream(ctx, path, func(f *os.File) (int64, error) {
			r, err := To(ctx, src, u, f, o)
			return r.Size, inPath(err, path)
		})
	}
	return newRetrieval(src, u, t, opts).file(ctx)
}

// inPath names path in a local error that names none.
func inPath(err error, path string) error {
	var local *Error
	if errors.As(err, &local) && local.Path == "" {
		local.Path = path
	}
	return err
}

// Save writes what fill produces to path, as safely as [File] does: it is for
// other things than a single file's octets, such as a listing. The writer is
// good until fill returns; where fill returns an error nothing is left behind.
// Of o only Existing counts. With ctx only waiting for a FIFO's reader ends:
// fill is to see to the rest.
func Save(ctx context.Context, path string, o *Options, fill func(w io.Writer) error) (Result, error) {
	existing := Refuse
	if o != nil {
		existing = o.Existing
	}
	t, err := inspect(path, existing)
	write := func(f *os.File) (int64, error) {
		w := &writer{ctx: ctx, way: way{to: f, path: path}}
		err := fill(w)
		return w.n, err
	}
	switch {
	case err != nil:
		return Result{}, err
	case t.skip:
		return skipped(path, ReasonExists), nil
	case t.stream:
		return saveStream(ctx, path, write)
	}
	return savePart(t, existing, write)
}

// savePart goes by way of NAME.part, without a journal.
func savePart(t target, existing Existing, fill func(*os.File) (int64, error)) (Result, error) {
	p, err := createPart(t, existing)
	if err != nil {
		return Result{}, err
	}
	defer p.discard()
	if checkJournal(t.path+journalSuffix) == nil {
		removeJournal(t.path + journalSuffix) // of the part that p replaced: it says nothing of this one
	}
	n, err := fill(p.f)
	if err != nil {
		return Result{}, err
	}
	err = p.commit(n)
	if existing == Skip && errors.Is(err, ErrExists) {
		return skipped(t.path, ReasonExists), nil
	}
	if err != nil {
		return Result{}, err
	}
	return Result{Path: t.path, Size: n}, nil
}
