package partfile

import (
	"bytes"
	"context"
	"io"
	"slices"
	"sync/atomic"

	"example.com/ftpfetch/internal/disk"
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

// at returns the position of the first byte not written yet.
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

// brought returns the bytes of s.span that s has written if it is at at, but not the last one before the span is known to be whole: no
// run may take it for that.
func (s *Stream) brought(at int64) Span {
	if end := s.span.End; s.whole && end >= 0 {
		at = min(at, end)
	} else if end >= 0 {
		at = min(at, end-1)
	}
	return Span{s.span.Start, at}
}

// Write returns a stream that writes x. The first of several at a time uses the part's own file.
func (p *Part) Write(x Span) (*Stream, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &Stream{part: p, span: x}
	if s.To = s; !slices.ContainsFunc(p.streams, func(y *Stream) bool { return y.To == p.f }) {
		s.To = p.f
		if _, err := p.f.Seek(x.Start, io.SeekStart); err != nil {
			return nil, failure(p.Name(), "cannot be written", err)
		}
	}
	p.streams = append(p.streams, s)
	return s, nil
}

// End ends s and counts its bytes. If it wrote more than its span, none of them count: if it began in the middle of the
// file, that was not where it should have, and the error is ErrBeyond.
func (p *Part) End(s *Stream, whole bool) (brought int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.whole = whole
	at := s.at()
	x, over := s.brought(at), s.span.End >= 0 && at > s.span.End
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

// lap holds bytes of the file that a response had beside its own.
type lap struct {
	Span
	b []byte
}

// Expect compares b with the bytes of the file from start on: now, or as soon as all of them are there. The error is then
// ErrDiffers.
func (p *Part) Expect(start int64, b []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.laps = append(p.laps, lap{Span{start, start + int64(len(b))}, b})
	return p.agree(p.state.Done)
}

// agree compares the laps that lie in done. The caller must hold mu.
func (p *Part) agree(done Spans) (err error) {
	p.laps = slices.DeleteFunc(p.laps, func(x lap) bool {
		if !slices.ContainsFunc(done, func(y Span) bool { return y.Start <= x.Start && x.End <= y.End }) {
			return x.Len() <= 0
		}
		b := make([]byte, len(x.b))
		in := io.NewSectionReader(disk.Reader{Ctx: context.Background(), F: p.f}, x.Start, x.Len())
		if _, rerr := io.ReadFull(in, b); rerr != nil {
			err = failure(p.Name(), "cannot be read", rerr)
		} else if !bytes.Equal(b, x.b) {
			err = ErrDiffers
		}
		return true
	})
	return err
}

// After returns what there already is from end on, but at most n bytes.
func (p *Part) After(end, n int64) Span {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, x := range p.state.Done {
		if x.Start <= end && end < x.End {
			return Span{end, min(x.End, end+n)}
		}
	}
	return Span{}
}
