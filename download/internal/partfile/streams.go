package partfile

import (
	"bytes"
	"context"
	"io"
	"os"
	"slices"
)

// Stream writes one connection's bytes into the part. The offset of its own file handle tells how far it is, even if the
// bytes go straight from the socket.
type Stream struct {
	F     *os.File // the part's own, or one of its own while that is in use
	span  Span     // the bytes to write; an end of -1 means the end of the file
	whole bool     // the span has arrived and nothing contradicts it
}

// at returns the position of the first byte not written yet.
func (s *Stream) at() int64 {
	n, err := s.F.Seek(0, io.SeekCurrent)
	if err != nil {
		return s.span.Start
	}
	return n
}

// brought returns the bytes of s.span that s has written, but not the last one before the span is known to be whole: no
// run may take it for that.
func (s *Stream) brought() Span {
	at := s.at()
	switch {
	case s.whole && s.span.End >= 0:
		at = min(at, s.span.End)
	case s.span.End >= 0:
		at = min(at, s.span.End-1)
	}
	return Span{s.span.Start, at}
}

// Write returns a stream that writes x. The first of several at a time uses the part's own file.
func (p *Part) Write(x Span) (*Stream, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, err := p.f, error(nil)
	if p.run != "" {
		err = p.ours()
	}
	if err == nil && slices.ContainsFunc(p.streams, func(y *Stream) bool { return y.F == f }) {
		f, err = p.handle()
	}
	if err != nil {
		return nil, err
	}
	s := &Stream{F: f, span: x}
	if _, err := f.Seek(x.Start, io.SeekStart); err != nil {
		_ = p.close(s)
		return nil, Failure(p.Name(), "cannot be written", err)
	}
	p.streams = append(p.streams, s)
	return s, nil
}

// close closes the file of s, unless it is the part's own.
func (p *Part) close(s *Stream) error {
	if s.F == p.f {
		return nil
	}
	return Failure(p.Name(), "cannot be closed", closing(s.F))
}

// End ends s and counts its bytes. If it wrote more than its span, none of them count: if it began in the middle of the
// file, that was not where it should have, and the error is ErrBeyond.
func (p *Part) End(s *Stream, whole bool) (brought int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.whole = whole
	x, over := s.brought(), s.span.End >= 0 && s.at() > s.span.End
	p.streams = slices.DeleteFunc(p.streams, func(y *Stream) bool { return y == s })
	err = p.close(s)
	switch {
	case over && x.Start > 0:
		return 0, ErrBeyond
	case over || err != nil:
		return 0, err
	}
	if err := p.agree(p.state.Done.Add(x)); err != nil {
		return 0, err
	}
	p.state.Done = p.state.Done.Add(x)
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
		if rerr := readFull(Reader{context.Background(), p.f}, b, x.Start); rerr != nil {
			err = Failure(p.Name(), "cannot be read", rerr)
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
