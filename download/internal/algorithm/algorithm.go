// Package algorithm has the table of the digest algorithms.
package algorithm

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"hash"
	"hash/crc32"
	"strings"

	"golang.org/x/crypto/blake2b"
)

// BSDSum is the name of the weakest algorithm.
const BSDSum = "bsdsum"

// algorithms has all algorithms, strongest first. Nothing else ranks them.
var algorithms = []struct {
	name, alias string
	make        func() hash.Hash
}{
	{"sha512", "sha2512", sha512.New},
	{"blake2b", "blake2b512", newBlake2b},
	{"sha256", "sha2256", sha256.New},
	{"sha1", "", sha1.New},
	{"md5", "", md5.New},
	{"crc32", "", func() hash.Hash { return crc32.NewIEEE() }},
	{BSDSum, "", func() hash.Hash { return new(bsd) }},
}

func newBlake2b() hash.Hash {
	h, _ := blake2b.New512(nil) // New512 fails only for long keys
	return h
}

// Names returns the names of all algorithms, strongest first.
func Names() (names []string) {
	for _, a := range algorithms {
		names = append(names, a.name)
	}
	return names
}

// Stronger reports whether the algorithm a is stronger than the other. Every algorithm is stronger than "", no
// algorithm.
func Stronger(a, than string) bool {
	for _, x := range algorithms {
		if x.name == a || x.name == than {
			return x.name != than
		}
	}
	return false
}

// New returns a hash for the algorithm a. It panics if the name is unknown.
func New(a string) hash.Hash {
	for _, x := range algorithms {
		if x.name == a {
			return x.make()
		}
	}
	panic("digest: unknown algorithm " + a)
}

// Named returns the algorithm with the given name in any of its usual spellings: SHA256, sha-256, SHA2-256 (OpenSSL),
// BLAKE2b-512. It returns "" if there is none.
func Named(name string) string {
	plain := strings.ToLower(dashes.Replace(name))
	if plain == "" { // the table has "" for a missing alias
		return ""
	}
	for _, a := range algorithms {
		if plain == a.name || plain == a.alias {
			return a.name
		}
	}
	return ""
}

var dashes = strings.NewReplacer("-", "", "_", "")

// bsd is the hash that BSD's sum(1) prints: a checksum of 16 bits, and the number of KiB, rounded up.
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
	p = binary.BigEndian.AppendUint16(p, b.sum)
	return binary.BigEndian.AppendUint32(p, uint32((b.n+1023)/1024))
}

func (b *bsd) Reset()         { *b = bsd{} }
func (b *bsd) Size() int      { return 6 }
func (b *bsd) BlockSize() int { return 1 }
