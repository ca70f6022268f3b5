package fetch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/guard"
	"example.com/ftpfetch/internal/local/localfile"
)

// minSegment is the fewest bytes that are worth a connection of their own.
const minSegment = 1 << 20

type fleet struct {
	*transfer
	pieces         chan partfile.Span      // not yet taken by a connection; it has room for all
	cancel         context.CancelCauseFunc // with an error that makes the other connections pointless
	useful, failed atomic.Int32            // connections that brought bytes, and that ended with an error
}

// parallel fetches what is missing over several connections. resp belongs to the first one and starts at the first missing
// byte. If others fail, nil does not mean that all is there.
func (t *transfer) parallel(ctx context.Context, resp *ftpexec.Response) error {
	s := t.part.Snapshot()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { resp.Body.Close() })()
	pieces := split(s.Done.Missing(s.Size), t.segments)
	f := &fleet{transfer: t, pieces: make(chan partfile.Span, len(pieces)), cancel: cancel}
	var others sync.WaitGroup
	for i, x := range pieces[1:] {
		if i < t.segments-1 {
			others.Go(func() {
				if err := guard.Do(func() error { return f.work(ctx, true, nil, x) }); errors.Is(err, guard.ErrPanic) {
					cancel(err)
				}
			})
		} else {
			f.pieces <- x
		}
	}
	err := f.work(ctx, false, resp, pieces[0])
	others.Wait()
	if fatal := context.Cause(ctx); fatal != nil {
		t.segments = 1
		return fatal
	}
	if useful := int(f.useful.Load()); f.failed.Load() > 0 && useful < t.segments {
		t.segments = max(1, useful)
		t.note(fmt.Sprintf("continuing with at most %d connections", t.segments))
	}
	return err
}

// work fetches x and then one piece after another, over one connection at a time. After a failure it continues as long as
// each try brings bytes. resp has been opened for x, or is nil.
func (f *fleet) work(ctx context.Context, further bool, resp *ftpexec.Response, x partfile.Span) error {
	useful := false
	for {
		n, err := int64(0), error(nil)
		if resp == nil {
			resp, err = f.open(ctx, further, f.part.Snapshot(), x.Start)
		}
		if err == nil {
			n, err = f.fetch(ctx, resp, x, nil)
			resp.Body.Close()
		}
		resp = nil
		if n > 0 && !useful {
			useful = true
			f.useful.Add(1)
		}
		if err != nil {
			f.pieces <- partfile.Span{Start: x.Start + n, End: x.End}
		}
		if err != nil && n > 0 {
			err = f.retry.Again(ctx, err, n)
		}
		if err != nil {
			f.failed.Add(1)
			if _, over := errors.AsType[*anew](err); over || errors.Is(err, localfile.ErrLocal) {
				f.cancel(err)
			}
			return err
		}
		select {
		case x = <-f.pieces:
		default:
			return nil
		}
	}
}

// split cuts s into about n pieces of about the same length, but none shorter than minSegment. A server may say any length:
// no sum and no product of two of them may be more than an int64 holds.
func split(s partfile.Spans, n int) (pieces partfile.Spans) {
	length := max(1, s.Octets()/int64(n))
	for _, x := range s {
		rounded := (uint64(x.Len()) + uint64(length-1)/2) / uint64(length)
		for left := max(1, min(int64(rounded), x.Len()/minSegment)); left > 0; left-- {
			end := x.Start + x.Len()/left
			pieces = append(pieces, partfile.Span{Start: x.Start, End: end})
			x.Start = end
		}
	}
	return pieces
}
