package partfile

import (
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
)

// A part is checked in blocks, so that only damaged ones must be fetched again.
const (
	minBlock  = 4 << 20 // the smallest block size, in bytes
	maxBlocks = 4 << 10 // roughly the most blocks of a file: larger files have larger blocks
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// blockFor returns the block size for a file of size bytes.
func blockFor(size int64) int64 {
	block := int64(minBlock)
	for size/block > maxBlocks {
		block *= 2
	}
	return block
}

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

// cover returns blocks of exactly done: those of b that lie in it, which grow to size bytes where they can, and others for
// the rest, which it reads from r.
func (b blocks) cover(r io.ReaderAt, done Spans, size int64) (out blocks, err error) {
	for _, x := range done {
		for at := x.Start; at < x.End; at = out[len(out)-1].End {
			for len(b) > 0 && (b[0].Start < at || b[0].Start < x.End && b[0].End > x.End) {
				b = b[1:]
			}
			next, end := block{Span: Span{at, at}}, min(x.End, at+size)
			if len(b) > 0 && b[0].Start == at {
				next, b = b[0], b[1:]
			}
			if len(b) > 0 {
				end = min(end, b[0].Start)
			}
			if err := next.read(r, max(end, next.End)); err != nil {
				return nil, err
			}
			out = append(out, next)
		}
	}
	return out, nil
}

// read makes x reach to end.
func (x *block) read(r io.ReaderAt, end int64) error {
	buf := make([]byte, min(end-x.End, 256<<10))
	for x.End < end {
		b := buf[:min(int64(len(buf)), end-x.End)]
		if err := readFull(r, b, x.End); err != nil {
			return err
		}
		x.sum = crc32.Update(x.sum, castagnoli, b)
		x.End += int64(len(b))
	}
	return nil
}

// sound returns those of b whose bytes r still has. It returns an error only if r's context has ended.
func (b blocks) sound(r io.ReaderAt) (good blocks, err error) {
	for _, x := range b {
		now := block{Span: Span{x.Start, x.Start}}
		err := now.read(r, x.End)
		if end := (*ended)(nil); errors.As(err, &end) {
			return nil, err
		}
		if err == nil && now.sum == x.sum {
			good = append(good, x)
		}
	}
	return good, nil
}

// readFull fills b from offset on. It is an error if the file ends before.
func readFull(r io.ReaderAt, b []byte, offset int64) error {
	n, err := r.ReadAt(b, offset)
	if n == len(b) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
