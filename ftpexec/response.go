package ftpexec

import (
	"context"
	"io"
	"time"

	"example.com/ftpfetch/urlparse"
)

// Request says what [Client.Do] retrieves.
type Request struct {
	URL *urlparse.URL
	// Offset is the position in the file, from 0, at which a transfer in image type begins (REST, RFC 3659 section 5). The
	// caller should compare the Response's Size and ModTime with earlier ones before it reads Body, because the file may have
	// changed on the server.
	Offset int64
	// More, if not nil, saves a round trip if another file is retrieved after this one on the same connection. When all bytes
	// of the Body have come, and More returns true, the client sends the EPSV (or PASV) of the next transfer at once, instead
	// of after the server's final reply. It does so only in passive mode, with commands sent ahead allowed, and if the size
	// was known. A server that refuses it is asked again at the usual place, and never ahead any more.
	//
	// More is called at most once, by Read or WriteTo of Body; it should be quick and must not use Body. If it returns true
	// and no transfer follows, no harm is done.
	More func() bool
}

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

	body *body // nil in a Response that another package made
}

// Received returns how many bytes of data have come so far, counted on the wire. It may be called while another
// goroutine reads Body. It returns 0 for a Response that this package did not make.
func (r *Response) Received() int64 {
	if r.body == nil {
		return 0
	}
	return r.body.n.Load()
}

// retrieve runs the plan to its end, a RETR.
func (s *session) retrieve(ctx context.Context, stop func()) (*Response, error) {
	op := s.plan.final()
	data, conn, err := s.library.retrieve(op.Arg, s.goal.offset)
	if err == nil {
		err = conn.Wait()
	}
	if err != nil {
		return nil, err
	}
	b := &body{ctx: ctx, s: s, conn: s.conn, url: s.url, op: op, stop: stop, more: s.goal.more, data: data, wire: conn, size: -1,
		text: s.plan.find("TYPE").Arg == "A", offset: s.goal.offset}
	r := &Response{Body: b, Offset: s.goal.offset, Size: s.info.Size, ModTime: s.info.ModTime, URL: s.url, Plan: s.plan, body: b}
	if !s.sequential && !s.once && !s.client.Active {
		b.setUp = s.setUp()[0]
	}
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
