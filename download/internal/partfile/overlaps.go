package partfile

import (
	"bytes"
	"context"
	"io"
	"slices"

	"example.com/ftpfetch/internal/local/disk"
)

// overlap holds bytes that a response sent outside its own span, where another response sends them too.
type overlap struct {
	Span
	b []byte
}

// Expect compares b with the part's bytes from start on. If the part does not have all of them yet, End compares them
// later. The error is ErrDiffers if they differ.
func (p *Part) Expect(start int64, b []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.overlaps = append(p.overlaps, overlap{Span{start, start + int64(len(b))}, b})
	return p.agree(p.state.Done)
}

// agree compares and drops the overlaps that lie within done. The caller must hold mu.
func (p *Part) agree(done Spans) (err error) {
	p.overlaps = slices.DeleteFunc(p.overlaps, func(x overlap) bool {
		there := func(y Span) bool { return y.Start <= x.Start && x.End <= y.End }
		if !slices.ContainsFunc(done, there) {
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

// After returns the span from end on that the part already has, of at most n bytes.
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
