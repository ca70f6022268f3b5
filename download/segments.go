package download

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/ftpexec"
)

// minSegment is the fewest bytes that are worth a connection of their own.
const minSegment = 1 << 20

// errDiffers means that the file differs from one connection to another.
var errDiffers = errors.New("another file")

// fleet fetches one file over several connections.
type fleet struct {
	t      *transfer
	cancel context.CancelCauseFunc

	mu     sync.Mutex
	pieces partfile.Spans // not yet taken by a connection
	errs   []error
	broken error // of a connection that had brought bytes and may not be retried
	useful int   // connections that brought bytes
}

// parallel fetches what is missing over several connections. resp belongs to the first one and starts at the first missing
// byte.
func (t *transfer) parallel(ctx context.Context, cancel context.CancelCauseFunc, resp *ftpexec.Response) error {
	s := t.part.Snapshot()
	if err := t.part.Grow(s.Size); err != nil {
		return err
	}
	f := &fleet{t: t, cancel: cancel, pieces: split(s.Done.Missing(s.Size), t.segments)}
	first, _ := f.take()
	var group sync.WaitGroup
	for range min(t.segments-1, len(f.pieces)) {
		group.Go(func() { f.ended(f.work(ctx, t.extra, nil, partfile.Span{})) })
	}
	main := f.work(ctx, t.src, resp, first)
	f.ended(main)
	group.Wait()
	return f.outcome(main)
}

// outcome returns the error of all connections together.
func (f *fleet) outcome(main error) error {
	for _, err := range f.errs {
		switch {
		case errors.Is(err, errDiffers):
			f.t.segments = 1
			return f.t.another(err.Error())
		case errors.Is(err, errAgain), errors.Is(err, ErrLocal):
			return err
		}
	}
	if main == nil && len(f.pieces) > 0 && f.broken != nil {
		return f.broken
	}
	if f.useful < f.t.segments && len(f.errs) > 0 {
		f.t.segments = max(1, f.useful)
		f.t.o.note(fmt.Sprintf("continuing with at most %d connections", f.t.segments))
	}
	if main == nil && len(f.errs) > 0 {
		return errAgain // fewer connections fetch the rest
	}
	return main
}

// ended records how one connection ended. An error that makes the others pointless ends them too.
func (f *fleet) ended(err error) {
	if err == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errs = append(f.errs, err)
	if errors.Is(err, errDiffers) || errors.Is(err, errAgain) || errors.Is(err, ErrLocal) {
		f.cancel(err)
	}
}

func (f *fleet) take() (x partfile.Span, ok bool) {
	f.locked(func() {
		if ok = len(f.pieces) > 0; ok {
			x, f.pieces = f.pieces[0], f.pieces[1:]
		}
	})
	return x, ok
}

func (f *fleet) locked(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

// work fetches one piece after another, over one connection at a time. After a failure it continues as long as each try
// brings bytes.
func (f *fleet) work(ctx context.Context, src Source, resp *ftpexec.Response, piece partfile.Span) error {
	useful := false
	for {
		if resp == nil {
			var ok bool
			if piece, ok = f.take(); !ok {
				return nil
			}
		}
		rest, err := f.piece(ctx, src, resp, piece)
		resp = nil
		progress := rest.Len() < piece.Len()
		if progress && !useful {
			useful = true
			f.locked(func() { f.useful++ })
		}
		if err == nil {
			continue
		}
		f.locked(func() { f.pieces = append(f.pieces, rest) })
		if !progress {
			return err
		}
		if err := f.t.retry.Again(ctx, err, true); err != nil {
			f.locked(func() { f.broken = err })
			return err
		}
	}
}

// piece fetches one piece and returns what is left of it.
func (f *fleet) piece(ctx context.Context, src Source, resp *ftpexec.Response, x partfile.Span) (partfile.Span, error) {
	if resp == nil {
		var err error
		if resp, err = f.open(ctx, src, x.Start); err != nil {
			return x, err
		}
	}
	defer resp.Body.Close()
	n, err := f.t.fetch(ctx, resp, x, false)
	return partfile.Span{Start: x.Start + n, End: x.End}, err
}

// open asks for the file from offset on and checks that it is the same file.
func (f *fleet) open(ctx context.Context, src Source, offset int64) (*ftpexec.Response, error) {
	resp, err := f.t.request(ctx, src, offset)
	if err != nil {
		return nil, err
	}
	s := f.t.part.Snapshot()
	if err := f.t.told(s, resp.Size, resp.ModTime); err != nil {
		resp.Body.Close()
		return nil, err
	}
	if why := f.t.differs(s, resp); why != "" {
		resp.Body.Close()
		return nil, fmt.Errorf("%w: %s", errDiffers, why)
	}
	if err := f.t.compare(resp, before(offset), offset); err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// split cuts the longest of s in two until there are n spans, or until a cut would make one shorter than minSegment. A
// single span is cut into equal pieces.
func split(s partfile.Spans, n int) partfile.Spans {
	out := slices.Clone(s)
	for len(out) > 0 && len(out) < n {
		long := 0
		for i := range out {
			if out[i].Len() > out[long].Len() {
				long = i
			}
		}
		x, count := out[long], int64(2)
		if x.Len() < 2*minSegment {
			break
		}
		if len(out) == 1 {
			count = min(int64(n), x.Len()/minSegment)
		}
		pieces := make(partfile.Spans, count)
		for i := range count {
			pieces[i] = partfile.Span{Start: x.Start + x.Len()/count*i, End: x.Start + x.Len()/count*(i+1)}
		}
		pieces[count-1].End = x.End
		out = slices.Replace(out, long, long+1, pieces...)
	}
	return out
}
