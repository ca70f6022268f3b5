package ftpexec

import (
	"context"
	"io"
	"sync/atomic"
	"time"

	"example.com/ftpfetch/urlparse"
)

// Response is a file that is being retrieved.
type Response struct {
	// Body is the file's contents: the bytes as stored in image type, the text with local line ends in ASCII type
	// (RFC 959 section 3.1.1). Read returns io.EOF only after the server has confirmed that the transfer is complete
	// and, if Size is known, exactly Size - Offset bytes have come. Otherwise it returns an *[Error]. In image type
	// Body is also an io.WriterTo, which copies to an *os.File without a buffer if the system can. The caller must
	// close Body. Closing it early closes the connection.
	Body io.ReadCloser

	Offset  int64         // the position in the file of the first byte of Body
	Size    int64         // the size of the whole file in bytes; -1 if the server did not tell it, and in ASCII type
	ModTime time.Time     // the modification time (MDTM, RFC 3659 section 3) in UTC; zero if the server did not tell it
	URL     *urlparse.URL // the URL that was asked for
	Plan    *Plan         // the plan that was run

	received *atomic.Int64 // nil in a Response that another package made
}

// Received returns how many bytes of data have come so far, counted on the wire. It may be called while another
// goroutine reads Body. It returns 0 for a Response that this package did not make.
func (r *Response) Received() int64 {
	if r.received == nil {
		return 0
	}
	return r.received.Load()
}

// retrieve runs the plan to its end, a RETR.
func (s *Session) retrieve(ctx context.Context, stop func()) (*Response, error) {
	op := s.plan.final()
	data, wire, err := s.library.retrieve(op.Arg, s.goal.offset)
	if err == nil {
		err = wire.Wait()
	}
	if err != nil {
		return nil, err
	}
	b := &body{ctx: ctx, s: s, conn: s.conn, url: s.url, op: op, stop: stop, data: data, wire: wire, size: -1,
		text: s.plan.find("TYPE").Arg == "A", offset: s.goal.offset}
	r := &Response{Body: b, Offset: s.goal.offset, Size: s.info.Size, ModTime: s.info.ModTime, URL: s.url, Plan: s.plan, received: &b.n}
	if b.text {
		r.Body, r.Size = newText(b), -1
	} else if r.Size >= 0 {
		b.size = max(0, r.Size-r.Offset)
	}
	return r, nil
}

var _ interface {
	io.ReadCloser
	io.WriterTo
} = (*body)(nil)
