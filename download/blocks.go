package download

import (
	"errors"
	"hash/crc32"
	"io"
	"slices"
)

// A part is checked in blocks. Each has a CRC-32C (Castagnoli), so that only
// damaged blocks must be fetched again.
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

// extent is a range that the part has, with the checksum of each block in it.
// The first block starts where the extent does; the last one may be shorter.
type extent struct {
	span
	sums []uint32
}

// blockSums are the checksums of a part. Extents are in order; they may touch.
type blockSums struct {
	block   int64
	extents []extent
}

// spans returns the ranges that s has checksums of.
func (s *blockSums) spans() spans {
	var out spans
	for _, e := range s.extents {
		if n := len(out); n > 0 && out[n-1].end == e.start {
			out[n-1].end = e.end
		} else {
			out = append(out, e.span)
		}
	}
	return out
}

// cover makes s cover exactly done. It reads from part the ranges that have no
// checksum yet and drops the checksums of all others.
func (s *blockSums) cover(r io.ReaderAt, done spans) error {
	kept := s.within(done)
	var all []extent
	for _, x := range done {
		at := x.start
		for len(kept) > 0 && kept[0].start < x.end {
			var err error
			if all, err = s.read(r, all, span{at, kept[0].start}); err != nil {
				return err
			}
			at = kept[0].end
			all, kept = append(all, kept[0]), kept[1:]
		}
		var err error
		if all, err = s.read(r, all, span{at, x.end}); err != nil {
			return err
		}
	}
	s.extents = all
	return nil
}

// within returns the whole blocks of s that lie in done.
func (s *blockSums) within(done spans) []extent {
	var out []extent
	for _, e := range s.extents {
		for _, x := range done {
			if y := s.cut(e, x); y.len() > 0 {
				out = append(out, y)
			}
		}
	}
	return out
}

// cut returns the blocks of e that lie in x.
func (s *blockSums) cut(e extent, x span) extent {
	from, to := max(x.start, e.start)-e.start, min(x.end, e.end)-e.start
	first, last := (from+s.block-1)/s.block, to/s.block
	if to == e.len() {
		last = int64(len(e.sums))
	}
	if last <= first {
		return extent{}
	}
	return extent{span{e.start + first*s.block, min(e.end, e.start+last*s.block)}, slices.Clone(e.sums[first:last])}
}

// read adds the checksums of x to all: to the last extent if x starts at its
// end, or else as a new extent.
func (s *blockSums) read(r io.ReaderAt, all []extent, x span) ([]extent, error) {
	if x.len() <= 0 {
		return all, nil
	}
	if n := len(all); n == 0 || all[n-1].end != x.start {
		all = append(all, extent{span: span{x.start, x.start}})
	}
	e := &all[len(all)-1]
	buf := make([]byte, min(x.len(), bufferSize))
	for e.end < x.end {
		within := e.len() % s.block
		b := buf[:min(int64(len(buf)), x.end-e.end, s.block-within)]
		if err := readFull(r, b, e.end); err != nil {
			return nil, err
		}
		if within == 0 {
			e.sums = append(e.sums, 0)
		}
		last := &e.sums[len(e.sums)-1]
		*last = crc32.Update(*last, castagnoli, b)
		e.end += int64(len(b))
	}
	return all, nil
}

// damaged compares part with the checksums. It returns the blocks that differ or
// cannot be read, and the number of all blocks. It returns an error only if
// part's context has ended.
func (s *blockSums) damaged(r io.ReaderAt) (bad []span, blocks int, err error) {
	for _, e := range s.extents {
		for i, want := range e.sums {
			start := e.start + int64(i)*s.block
			x := span{start, min(e.end, start+s.block)}
			now, err := s.read(r, nil, x)
			var end *ended
			switch {
			case errors.As(err, &end):
				return nil, 0, err
			case err != nil, now[0].sums[0] != want:
				bad = append(bad, x)
			}
		}
		blocks += len(e.sums)
	}
	return bad, blocks, nil
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
