package download

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
)

// Save writes what fill produces to path, as safely as [File] does. It is for
// data that is not a single file, such as a listing. source identifies the data,
// for example by a URL without its password. The writer is valid until fill
// returns; if fill returns an error, Save leaves nothing behind. Save uses only
// o.Existing and o.Root. ctx ends only the wait for a FIFO's reader: fill must handle the
// rest.
func Save(ctx context.Context, source, path string, o *Options, fill func(w io.Writer) error) (Result, error) {
	used := new(Options)
	if o != nil {
		used.Existing, used.Root = o.Existing, o.Root
	}
	write := func(f *os.File) (int64, error) {
		w := &writer{ctx: ctx, sink: sink{to: f, path: path}}
		err := fill(w)
		return w.n, err
	}
	j := &job{o: used.orDefault(), url: source}
	return j.to(ctx, path, write, func(ctx context.Context, t target) (Result, error) { return j.save(ctx, t, write) })
}

// save writes to NAME.part, whose journal claims nothing until the part is whole.
func (j *job) save(ctx context.Context, t target, fill func(*os.File) (int64, error)) (Result, error) {
	c, err := j.choose(ctx, t)
	switch {
	case err != nil:
		return Result{}, err
	case c.skip != 0:
		return t.skipped(c.skip), nil
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
	case j.o.Existing == Skip && errors.Is(err, fs.ErrExist):
		return t.skipped(ReasonExists), nil
	case err != nil:
		return Result{}, err
	}
	return Result{Path: t.given, Size: n}, nil
}

// fill writes what fill produces and flushes it to disk.
func (p *part) fill(ctx context.Context, source string, fill func(*os.File) (int64, error)) (int64, error) {
	s := state{url: source, size: -1}
	if err := p.empty(); err != nil {
		return 0, err
	}
	if err := p.write(s, false); err != nil {
		return 0, err
	}
	n, err := fill(p.f)
	if err != nil {
		return 0, err
	}
	if err := p.fit(n); err != nil {
		return 0, err
	}
	if err := p.sync(); err != nil {
		return 0, err
	}
	s.size, s.complete = n, true
	if s.has(diskReader{ctx, p.f}, n) == nil {
		_ = p.write(s, false) // see arrivals.complete
	}
	return n, nil
}
