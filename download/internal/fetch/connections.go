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

// minSegment is the smallest piece, in bytes, that is worth a connection of its own.
const minSegment = 1 << 20

// connections fetches the pieces of one file over several connections at the same time.
type connections struct {
	*transfer
	pieces chan partfile.Span      // pieces that no connection has taken yet; buffered for all
	cancel context.CancelCauseFunc // called with an error that stops all connections
	useful atomic.Int32            // connections that brought bytes
	failed atomic.Int32            // connections that ended with an error
}

// parallel fetches the missing bytes over several connections. resp belongs to the first connection and starts at the
// first missing byte. parallel may return nil although other connections failed and bytes are missing.
func (t *transfer) parallel(ctx context.Context, resp *ftpexec.Response) error {
	s := t.part.Snapshot()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { resp.Body.Close() })()
	pieces := split(s.Done.Missing(s.Size), t.segments)
	c := &connections{transfer: t, pieces: make(chan partfile.Span, len(pieces)), cancel: cancel}
	var others sync.WaitGroup
	for i, x := range pieces[1:] {
		if i >= t.segments-1 {
			c.pieces <- x
			continue
		}
		others.Go(func() {
			err := guard.Do(func() error { return c.work(ctx, true, nil, x) })
			if errors.Is(err, guard.ErrPanic) {
				cancel(err)
			}
		})
	}
	err := c.work(ctx, false, resp, pieces[0])
	others.Wait()
	if fatal := context.Cause(ctx); fatal != nil {
		t.segments = 1
		return fatal
	}
	if useful := int(c.useful.Load()); c.failed.Load() > 0 && useful < t.segments {
		t.segments = max(1, useful)
		t.note(fmt.Sprintf("continuing with at most %d connections", t.segments))
	}
	return err
}

// work fetches x and then one piece after another, over one connection at a time. After a failure it continues as long
// as each try brings bytes. resp is the response for x, or nil to request x.
func (c *connections) work(ctx context.Context, further bool, resp *ftpexec.Response, x partfile.Span) error {
	useful := false
	for {
		n, err := c.piece(ctx, further, resp, x)
		resp = nil
		if n > 0 && !useful {
			useful = true
			c.useful.Add(1)
		}
		if err != nil {
			c.pieces <- partfile.Span{Start: x.Start + n, End: x.End}
			if n > 0 {
				err = c.retry.Again(ctx, err, n)
			}
		}
		if err != nil {
			c.failed.Add(1)
			if _, over := errors.AsType[*redo](err); over || errors.Is(err, localfile.ErrLocal) {
				c.cancel(err)
			}
			return err
		}
		select {
		case x = <-c.pieces:
		default:
			return nil
		}
	}
}

// piece fetches x, from resp if it is not nil, and returns how many bytes of x arrived.
func (c *connections) piece(ctx context.Context, further bool, resp *ftpexec.Response, x partfile.Span) (int64, error) {
	if resp == nil {
		var err error
		resp, err = c.open(ctx, further, c.part.Snapshot(), x.Start)
		if err != nil {
			return 0, err
		}
	}
	defer resp.Body.Close()
	return c.fetch(ctx, resp, x, nil)
}

// split cuts s into about n pieces of about the same length. It makes no piece shorter than minSegment. The lengths
// come from the server, so split avoids sums and products that might overflow.
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
