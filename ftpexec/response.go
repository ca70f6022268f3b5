package ftpexec

import (
	"context"
	"io"
	"regexp"
	"strconv"
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

	received *atomic.Int64
}

// Received returns the octets of data received so far, as they came on the wire. It is safe to be called
// while Body is read.
func (r *Response) Received() int64 { return r.received.Load() }

// retrieve is the end of a plan: RETR.
func (s *Session) retrieve(ctx context.Context, end func()) (*Response, error) {
	op := s.plan.final()
	data, err := s.conn.RetrFrom(op.Arg, uint64(s.goal.offset))
	if err != nil {
		// A server may keep the offset of a REST for the next RETR, where this one was refused.
		s.spent = s.goal.offset > 0 && s.control.Last().Verb == op.Verb
		return nil, s.transferFailure(ctx, op, err)
	}
	opening := s.control.Last().Reply
	if err := s.control.Data().Wait(); err != nil {
		return nil, s.failure(ctx, op, err)
	}
	b := &body{ctx: ctx, s: s, ctl: s.control, url: s.url, op: op, leave: end, data: data, wire: s.control.Data(), size: -1,
		text: s.plan.find("TYPE").Arg == "A", offset: s.goal.offset}
	r := &Response{Body: b, Offset: s.goal.offset, Size: -1, URL: s.url, Plan: s.plan, received: &b.n}
	facts := s.facts(opening.Raw())
	r.Size, r.ModTime = facts.Size, facts.ModTime
	if r.Size >= 0 {
		b.size = max(0, r.Size-r.Offset)
	}
	if b.text {
		r.Body = newText(b)
	}
	s.hold()
	return r, nil
}

// transferFailure is the error of a refused RETR. A server that told the size of the file has it, and
// refuses it for another cause.
func (s *Session) transferFailure(ctx context.Context, op Command, err error) error {
	e := s.failure(ctx, op, err)
	if e.Err == ErrNotFound && s.control.Err() == nil && len(s.plan.Facts) == 2 {
		if _, err := s.conn.FileSize(op.Arg); err == nil {
			e.Err, e.Hint = ErrRefused, ""
		}
	}
	return e
}

// announced finds the size in the text that opens a transfer, "... file (1234 bytes)", as most servers word it.
var announced = regexp.MustCompile(`\((\d{1,18}) bytes\)`)

// size is what SIZE says, else what the opening reply says, unless that may speak of the rest of the file.
func (s *Session) size(name, opening string) int64 {
	if n, err := s.conn.FileSize(name); err == nil {
		return n
	}
	if m := announced.FindAllStringSubmatch(opening, -1); m != nil && s.goal.offset == 0 {
		n, _ := strconv.ParseInt(m[len(m)-1][1], 10, 64)
		return n
	}
	return -1
}

var _ interface {
	io.ReadCloser
	io.WriterTo
} = (*body)(nil)
