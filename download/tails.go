package download

import (
	"hash/crc32"
	"io"
	"slices"
)

// tailSize is how much of the end of each range a journal has a checksum of,
// in octets.
const tailSize = 64 << 10

// tailsOf computes what binds a journal to its part: for each range the CRC-32
// of its last octets, at most tailSize. Another file of the same length under
// the part's name is told by it.
func tailsOf(part io.ReaderAt, done spans) ([]uint32, error) {
	var tails []uint32
	for _, x := range done {
		b := make([]byte, min(x.len(), tailSize))
		if _, err := part.ReadAt(b, x.end-int64(len(b))); err != nil {
			return nil, err
		}
		tails = append(tails, crc32.ChecksumIEEE(b))
	}
	return tails, nil
}

// fits reports whether part is the one that s was written for.
func (s state) fits(part io.ReaderAt) (bool, error) {
	tails, err := tailsOf(part, s.done)
	return slices.Equal(tails, s.tails), err
}
