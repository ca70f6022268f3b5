package algorithm

import "encoding/binary"

// bsd is what BSD's sum(1) prints: a checksum of 16 bits, and how many KiB there are, the last of which may be part of one.
type bsd struct {
	sum uint16
	n   uint64
}

func (b *bsd) Write(p []byte) (int, error) {
	for _, c := range p {
		b.sum = b.sum>>1 + b.sum<<15 + uint16(c)
	}
	b.n += uint64(len(p))
	return len(p), nil
}

func (b *bsd) Sum(p []byte) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(p, b.sum), uint32((b.n+1023)/1024))
}

func (b *bsd) Reset()         { *b = bsd{} }
func (b *bsd) Size() int      { return 6 }
func (b *bsd) BlockSize() int { return 1 }
