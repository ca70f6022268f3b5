package partfile

import (
	"encoding/json"
	"hash/crc32"
	"io"
	"slices"
)

// minBlock is how many bytes a checksum covers at least, so that only damaged blocks must be fetched again.
const minBlock = 4 << 20

// blockFor returns the block size for a file of size bytes, which has about 4096 blocks at most.
func blockFor(size int64) int64 { return max(minBlock, size>>12) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// block is a range of a part with the CRC-32C (Castagnoli) of its bytes.
type block struct {
	Span
	sum uint32
}

func (x block) MarshalJSON() ([]byte, error) {
	return json.Marshal([]int64{x.Start, x.End, int64(x.sum)})
}
func (x *block) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&x.Start, &x.End, &x.sum})
}

// blocks are in order. None is empty, and no two overlap.
type blocks []block

// spans returns the ranges that b covers.
func (b blocks) spans() Spans {
	var out Spans
	for _, x := range b {
		out = out.Add(x.Span)
	}
	return out
}

// cover returns blocks of exactly done, which end at multiples of size if they can. It reads from r what b does not have.
func (b blocks) cover(r io.ReaderAt, done Spans, size int64) (out blocks, err error) {
	known := make(map[int64]block, len(b))
	for _, x := range b {
		known[x.Start] = x
	}
	for _, x := range done {
		for at := x.Start; at < x.End; at = out[len(out)-1].End {
			end := min(x.End, at-at%size+size)
			next, ok := known[at]
			if !ok || next.End > end {
				next = block{Span: Span{at, at}}
			}
			if err := next.read(r, end); err != nil {
				return nil, err
			}
			out = append(out, next)
		}
	}
	return out, nil
}

// read makes x reach to end.
func (x *block) read(r io.ReaderAt, end int64) error {
	rest := io.NewSectionReader(r, x.End, end-x.End)
	buf := make([]byte, min(rest.Size(), 256<<10))
	for x.End < end {
		n, err := io.ReadFull(rest, buf[:min(int64(len(buf)), end-x.End)])
		if err != nil {
			return err
		}
		x.sum = crc32.Update(x.sum, castagnoli, buf[:n])
		x.End += int64(n)
	}
	return nil
}

// sound returns those of b whose bytes r still has.
func (b blocks) sound(r io.ReaderAt) (good blocks) {
	for _, x := range b {
		now := block{Span: Span{x.Start, x.Start}}
		if err := now.read(r, x.End); err == nil && now == x {
			good = append(good, x)
		}
	}
	return good
}

// Span is the range of bytes [start, end).
type Span struct{ Start, End int64 }

func (s Span) Len() int64 { return s.End - s.Start }

// Spans are in order. None is empty, and no two touch or overlap.
type Spans []Span

// Octets returns how many bytes the Spans cover.
func (s Spans) Octets() (n int64) {
	for _, x := range s {
		n += x.Len()
	}
	return n
}

// End returns the end of the last Span.
func (s Spans) End() int64 {
	if len(s) == 0 {
		return 0
	}
	return s[len(s)-1].End
}

// Head returns how many bytes from the start of the file s covers without a gap.
func (s Spans) Head() int64 {
	if len(s) == 0 || s[0].Start > 0 {
		return 0
	}
	return s[0].End
}

// Add returns s with x, as a new value.
func (s Spans) Add(x Span) Spans {
	if x.Len() <= 0 {
		return slices.Clone(s)
	}
	var out Spans
	for _, y := range s {
		switch {
		case y.End < x.Start:
			out = append(out, y)
		case x.End < y.Start:
			out = append(out, x)
			x = y
		default:
			x = Span{min(x.Start, y.Start), max(x.End, y.End)}
		}
	}
	return append(out, x)
}

// UpTo returns the part of s below n.
func (s Spans) UpTo(n int64) Spans {
	var out Spans
	for _, x := range s {
		if x.Start < n {
			out = append(out, Span{x.Start, min(x.End, n)})
		}
	}
	return out
}

// Missing returns the gaps that s leaves in a file of size bytes.
func (s Spans) Missing(size int64) Spans {
	var out Spans
	at := int64(0)
	for _, x := range append(slices.Clone(s), Span{size, size}) {
		if x.Start > at {
			out = append(out, Span{at, x.Start})
		}
		at = x.End
	}
	return out
}
