package partfile

import (
	"errors"
	"io"
	"slices"
	"sync/atomic"
	"syscall"

	"example.com/ftpfetch/internal/local/disk"
)

// Stream writes one connection's bytes into the part.
type Stream struct {
	// To is where the caller copies the bytes. For one stream it is the part's file: then the kernel can copy from the
	// socket, and the file's offset is the stream's position. For other concurrent streams it is the Stream.
	To io.Writer

	part     *Part
	n        atomic.Int64 // bytes written by Write
	span     Span         // the bytes to write; an end of -1 means the end of the file
	reserved int64        // the position up to which the caller may write: see Reserve
	whole    bool         // the span is confirmed to be complete
}

// Write writes b at the stream's position.
func (s *Stream) Write(b []byte) (int, error) {
	n, err := s.part.f.WriteAt(b, s.at())
	s.n.Add(int64(n))
	return n, err
}

// At returns the stream's position.
func (s *Stream) At() int64 {
	s.part.mu.Lock()
	defer s.part.mu.Unlock()
	return s.at()
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

// Reserve returns how many of the next n bytes the caller may write: those within the span, or all if the span ends
// with the file, so that End finds out whether a server sends more. Until the next call, SetEnd does not move the end
// to before them.
func (s *Stream) Reserve(n int64) int64 {
	s.part.mu.Lock()
	defer s.part.mu.Unlock()
	at := s.at()
	if s.span.End != s.part.state.Size {
		n = max(0, min(n, s.span.End-at))
	}
	s.reserved = at + n
	return n
}

// SetEnd moves the end of the span to end, or to the end of what is written or reserved if that comes later. It returns
// the new end. The span must have an end.
func (s *Stream) SetEnd(end int64) int64 {
	s.part.mu.Lock()
	defer s.part.mu.Unlock()
	taken := max(s.at(), s.reserved)
	s.span.End = max(end, min(taken, s.span.End))
	return s.span.End
}

// brought returns the part of s.span that s has written up to the position at. It includes the last byte of the span
// only if whole is set, so that no run takes an unconfirmed span for complete.
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

// Write returns a stream for the span x. Among concurrent streams one writes to the part's file directly: see
// Stream.To.
func (p *Part) Write(x Span) (*Stream, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &Stream{part: p, span: x, reserved: x.Start}
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

// Scatters reports whether the disk takes bytes in any order. It writes a byte behind the first missing one, where it
// counts for nothing.
func (p *Part) Scatters() bool {
	s := p.Snapshot()
	missing := s.Done.Missing(s.Size)
	if len(missing) == 0 || missing[0].Len() < 2 {
		return true
	}
	err := disk.Do("pwrite", p.Name(), func() error {
		_, err := p.f.WriteAt([]byte{0}, missing[0].Start+1)
		return err
	})
	return !errors.Is(err, syscall.ESPIPE)
}

// End ends s and counts its bytes. If s wrote more than its span, none of its bytes count. If its span also began in
// the middle of the file, the server did not start where it was asked to, and the error is ErrBeyond.
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
		p.dropped++
		return 0, ErrBeyond
	case over:
		p.dropped++
		return 0, nil
	}
	done := p.state.Done.Add(x)
	if err := p.agree(done); err != nil {
		p.dropped++
		return 0, err
	}
	p.state.Done = done
	return x.Len(), nil
}
