package download

import (
	"context"
	"errors"
	"io"
	"os"
)

// Save writes what fill produces to path, as safely as [File] does. It is for
// data that is not a single file, such as a listing. source identifies the data,
// for example by a URL without its password. The writer is valid until fill
// returns; if fill returns an error, Save leaves nothing behind. Save uses only
// o.Existing. ctx ends only the wait for a FIFO's reader: fill must handle the
// rest.
func Save(ctx context.Context, source, path string, o *Options, fill func(w io.Writer) error) (Result, error) {
	existing := Refuse
	if o != nil {
		existing = o.Existing
	}
	write := func(f *os.File) (int64, error) {
		w := &writer{ctx: ctx, sink: sink{to: f, path: path}}
		err := fill(w)
		return w.n, err
	}
	j := &job{o: (&Options{Existing: existing}).orDefault(nil), url: source}
	for range claimTries {
		t, err := inspect(path)
		switch {
		case err != nil:
			return Result{}, err
		case t.stream:
			return saveStream(ctx, path, write)
		}
		result, err := j.save(ctx, t, write)
		if !errors.Is(err, errMoved) {
			return result, err
		}
	}
	return Result{}, busy(path)
}

// save writes to NAME.part, whose journal claims nothing until the part is whole.
func (j *job) save(ctx context.Context, t target, fill func(*os.File) (int64, error)) (Result, error) {
	c, err := j.choose(ctx, t)
	switch {
	case err != nil:
		return Result{}, err
	case c.skip != 0:
		return skipped(t.path, c.skip), nil
	}
	f, err := j.find(ctx, t, c)
	if err != nil {
		return Result{}, err
	}
	p := f.part
	if f.stale != "" && !c.overwrite {
		p.close()
		return Result{}, unfinished(p.partial)
	}
	defer p.discard()
	n, err := p.fill(ctx, j.url, fill)
	if err == nil {
		err = p.publish(c.overwrite)
	}
	switch {
	case j.o.Existing == Skip && errors.Is(err, ErrExists):
		return skipped(t.path, ReasonExists), nil
	case err != nil:
		return Result{}, err
	}
	return Result{Path: t.path, Size: n}, nil
}

// fill writes what fill produces and flushes it to disk.
func (p *part) fill(ctx context.Context, source string, fill func(*os.File) (int64, error)) (int64, error) {
	s := state{url: source, size: -1}
	if err := p.write(s, false); err != nil {
		return 0, err
	}
	if err := p.empty(); err != nil {
		return 0, err
	}
	n, err := fill(p.f)
	if err != nil {
		return 0, err
	}
	if err := p.flush(n); err != nil {
		return 0, err
	}
	s.size, s.complete = n, true
	if s.has(diskReader{ctx, p.f}, n) == nil {
		_ = p.write(s, false) // see ledger.complete
	}
	return n, nil
}
