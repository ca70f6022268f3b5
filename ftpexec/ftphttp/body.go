package ftphttp

import (
	"context"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/guard"
	"example.com/ftpfetch/urlparse"
)

// body is a file from some byte on. If its size is known, it returns the last byte only after the server has confirmed
// that the transfer is complete: a reader that stops at Content-Length, as a proxy does, would not see an error after
// that.
type body struct {
	io.ReadCloser       // of an ftpexec.Response
	size          int64 // of the file; -1 if unknown
	// stops the wait for the end of the request's context, which acts as Close; false if the context has ended
	forget func() bool

	mu   sync.Mutex // held during a call
	at   int64      // where the next Read begins
	over error      // what a Read returns after Close, or after the end of the context
}

// part is the first bytes of a body.
type part struct {
	io.Reader
	io.Closer
}

// open retrieves the file that u names from an offset on. If ctx ends between two Reads, that acts as Close, which may
// keep the connection.
func open(
	ctx context.Context, c *ftpexec.Client, u *urlparse.URL, from int64,
) (*ftpexec.Response, *body, error) {
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	b := &body{at: from}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget = context.AfterFunc(ctx, func() {
		reason := guard.Stop(ctx)
		_ = b.leave(reason)
		cancel(reason)
		b.mu.Lock() // after a call that is under way
		defer b.mu.Unlock()
		if b.ReadCloser != nil {
			b.ReadCloser.Close()
		}
	})
	r, err := c.Do(inner, &ftpexec.Request{URL: u, Offset: from})
	if err != nil {
		b.forget()
		return nil, nil, err
	}
	b.ReadCloser = r.Body
	b.size = r.Size
	return r, b, nil
}

func (b *body) Read(p []byte) (n int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.size - 1 - b.at // bytes before the last one
	switch {
	case b.over != nil:
		return 0, b.over
	case before > 0:
		p = p[:min(int64(len(p)), before)]
	case before == 0 && len(p) > 0:
		last, err := io.ReadAll(b.ReadCloser)
		if err != nil {
			return 0, err
		}
		b.at++
		return copy(p, last), io.EOF
	}
	n, err = b.ReadCloser.Read(p)
	b.at += int64(n)
	return n, err
}

// WriteTo copies straight to an *os.File, as [ftpexec.Response] says. The file may then have the last byte of a
// transfer that failed.
func (b *body) WriteTo(w io.Writer) (int64, error) {
	file, ok := w.(*os.File)
	source, direct := b.ReadCloser.(io.WriterTo)
	if !ok || !direct {
		return io.Copy(w, struct{ io.Reader }{b})
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over != nil {
		return 0, b.over
	}
	n, err := source.WriteTo(file)
	b.at += n
	return n, err
}

// Close ends a Read that is under way. Only for an empty file it returns an error.
func (b *body) Close() error {
	if !b.forget() {
		return nil
	}
	err := b.leave(fs.ErrClosed)
	b.ReadCloser.Close()
	return err
}

// confirming bounds the wait for the server's confirmation of an empty file that is closed.
const confirming = time.Second

// leave closes the transfer, which may keep the connection, and makes reason the error of later calls. It does nothing
// while a call is under way.
func (b *body) leave(reason error) (err error) {
	if !b.mu.TryLock() {
		return nil
	}
	defer b.mu.Unlock()
	if b.over != nil {
		return nil
	}
	b.over = reason
	if b.at == b.size { // nothing that the caller has read shows whether an empty file is complete
		late := time.AfterFunc(confirming, func() { b.ReadCloser.Close() })
		defer late.Stop()
		_, err = io.Copy(io.Discard, b.ReadCloser)
	}
	b.ReadCloser.Close()
	return err
}
