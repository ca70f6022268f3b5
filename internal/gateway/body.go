package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/pace"
	"example.com/ftpfetch/urlparse"
)

// body is the Body of a Response. One goroutine reads it; any may close it.
type body struct {
	ctx    context.Context // of Do
	cancel context.CancelCauseFunc
	gate   *gate
	url    *urlparse.URL
	data   io.ReadCloser
	size   int64 // bytes that must come; -1: up to the end that the proxy marks
	stall  time.Duration
	pace   pace.Pace
	n      int64

	mu  sync.Mutex
	err error // how the body ended: io.EOF or an *ftpexec.Error
}

func (g *gate) newBody(ctx context.Context, cancel context.CancelCauseFunc, u *urlparse.URL, r *http.Response) *body {
	return &body{
		ctx: ctx, cancel: cancel, gate: g, url: u, data: r.Body, size: r.ContentLength,
		stall: cmp.Or(g.Client.Timeout, ftpexec.DefaultTimeout),
		pace:  pace.Pace{Rate: g.Client.MinRate.Bytes, Over: cmp.Or(g.Client.MinRate.Over, ftpexec.DefaultRateTime)},
	}
}

// Read returns io.EOF only at the end that the proxy announced.
func (b *body) Read(p []byte) (int, error) {
	if err := b.ended(nil); err != nil || len(p) == 0 {
		return 0, err
	}
	begun, limit := time.Now(), min(b.stall, b.pace.Left())
	timer := time.AfterFunc(limit, func() { b.cancel(nil) })
	n, err := b.data.Read(p)
	inTime := timer.Stop()
	b.n += int64(n)
	slow := b.pace.Count(n, time.Since(begun))
	switch {
	case err == nil && slow == nil && inTime:
		return n, nil
	case slow != nil && err != io.EOF:
		err = fmt.Errorf("%w: %w", ftpexec.ErrTimeout, slow)
	case err == io.EOF && (b.size < 0 || b.n == b.size):
	case err == io.EOF, errors.Is(err, io.ErrUnexpectedEOF):
		err = b.short()
	case !inTime:
		err = fmt.Errorf("%w: no data for %v", ftpexec.ErrTimeout, limit)
	default:
		err = fmt.Errorf("%w: after %d bytes", ftpexec.ErrLost, b.n)
	}
	if err != io.EOF {
		err = b.gate.failure(b.ctx, b.url, ftpexec.StageTransfer, err)
	}
	return n, b.ended(err)
}

func (b *body) short() error {
	if b.size < 0 {
		return fmt.Errorf("%w: cut off after %d bytes", ftpexec.ErrTruncated, b.n)
	}
	return fmt.Errorf("%w: %d of %d bytes", ftpexec.ErrTruncated, b.n, b.size)
}

// ended ends the body with err, if err is not nil and nothing has ended it yet. It returns how it ended, or nil.
func (b *body) ended(err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil && err != nil {
		b.err = err
		b.data.Close()
		b.cancel(nil)
	}
	return b.err
}

var errClosed = errors.New("body closed before its end")

// Close ends the transfer.
func (b *body) Close() error {
	b.cancel(errClosed) // makes a Read return
	b.ended(b.gate.failure(b.ctx, b.url, ftpexec.StageTransfer, errClosed))
	return nil
}
