package partfile

import (
	"io"
	"slices"
	"sync/atomic"
)

// Stream writes one connection's bytes into the part.
type Stream struct {
	// To is the part's file, whose offset tells how far the stream is even if the bytes go straight from the socket, or the
	// stream itself while another has that.
	To io.Writer

	part  *Part
	n     atomic.Int64 // bytes written by Write
	span  Span         // the bytes to write; an end of -1 means the end of the file
	whole bool         // the span has arrived and nothing contradicts it
}

// Write writes to where the stream is.
func (s *Stream) Write(b []byte) (int, error) {
	n, err := s.part.f.WriteAt(b, s.at())
	s.n.Add(int64(n))
	return n, err
}

func (s *Stream) at() int64 {
	if s.To == s {
		return s.span.Start + s.n.Load()
	}
	n, err := s.part.f.Seek(0, io.SeekCurrent)
	if err != nil {
		return s.span.Start
	}
	return n
}

// brought returns the bytes of s.span that s has written if it is at at. The last one counts only once the span is known
// to be whole, so that no run takes it for whole before.
func (s *Stream) brought(at int64) Span {
	most := s.span.End
	if !s.whole {
		most--
	}
	if s.span.End >= 0 {
		at = min(at, most)
	}
	return Span{s.span.Start, at}
}

// Write returns a stream that writes x. The first of several at a time uses the part's own file.
func (p *Part) Write(x Span) (*Stream, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &Stream{part: p, span: x}
	s.To = s
	if !slices.ContainsFunc(p.streams, func(y *Stream) bool { return y.To == p.f }) {
		s.To = p.f
		if _, err := p.f.Seek(x.Start, io.SeekStart); err != nil {
			return nil, failure(p.Name(), "cannot be written", err)
		}
	}
	p.streams = append(p.streams, s)
	return s, nil
}

// End ends s and counts its bytes. If s wrote more than its span, none of them count. If it also began in the middle of
// the file, it did not begin where it should have, and the error is ErrBeyond.
func (p *Part) End(s *Stream, whole bool) (brought int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.whole = whole
	at := s.at()
	x := s.brought(at)
	over := s.span.End >= 0 && at > s.span.End
	p.streams = slices.DeleteFunc(p.streams, func(y *Stream) bool { return y == s })
	switch {
	case over && x.Start > 0:
		return 0, ErrBeyond
	case over:
		return 0, nil
	}
	done := p.state.Done.Add(x)
	if err := p.agree(done); err != nil {
		return 0, err
	}
	p.state.Done = done
	return x.Len(), nil
}
