package ftpexec

import (
	"context"
	"io"
	"sync/atomic"
	"time"

	"example.com/ftpfetch/urlparse"
)

// Response is a file on its way.
type Response struct {
	// Body is the file: in image type its octets, in ASCII type its text with the local line end. Read gives
	// io.EOF only once the server has said that the transfer is complete and, where Size is known, exactly
	// Size octets have come; anything less is an *[Error]. In image type Body is an io.WriterTo that takes the
	// straight way into an *os.File. The caller closes Body; closing it early ends the connection.
	Body io.ReadCloser

	Offset  int64         // of the first octet of Body in the file
	Size    int64         // octets of the whole file, in image type; -1 where the server did not tell, and always in ASCII type
	ModTime time.Time     // by MDTM (RFC 3659 section 3), UTC; the zero Time where the server did not tell
	URL     *urlparse.URL // what was asked for
	Plan    *Plan         // what was done

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

// retrieve is the end of a plan: RETR.
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
