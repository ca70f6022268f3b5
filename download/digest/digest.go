// Package digest names the digests by which a file can be verified, reads them
// from a command line ([Parse]) and from the lists that servers keep beside
// their files ([Find]), and computes them ([New]).
//
//	want, err := digest.Parse("sha256:9f86d081884c7d65...")
//	h := digest.New(want.Algorithm)
//	_, err = io.Copy(h, file)
//	ok := want.Equal(digest.Sum{Algorithm: want.Algorithm, Digest: h.Sum(nil)})
package digest

import (
	"bytes"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"hash"
	"hash/crc32"
	"strings"

	"golang.org/x/crypto/blake2b"
)

// Algorithm is the name of a digest algorithm, as written before a digest: one of
// the constants. "" means none, or any.
type Algorithm string

// The algorithms.
const (
	SHA512  Algorithm = "sha512"
	BLAKE2b Algorithm = "blake2b" // the 512-bit digest without a key, as b2sum(1) prints it
	SHA256  Algorithm = "sha256"
	SHA1    Algorithm = "sha1"
	MD5     Algorithm = "md5"
	CRC32   Algorithm = "crc32" // IEEE 802.3, most significant byte first
)

// Algorithms returns all algorithms, strongest first. SHA1, MD5 and CRC32 detect
// damage, but not a deliberate change.
func Algorithms() []Algorithm {
	return []Algorithm{SHA512, BLAKE2b, SHA256, SHA1, MD5, CRC32}
}

// Size returns the length of the algorithm's digest in bytes, or 0 if a is not
// an algorithm.
func (a Algorithm) Size() int {
	switch a {
	case SHA512, BLAKE2b:
		return 64
	case SHA256:
		return sha256.Size
	case SHA1:
		return sha1.Size
	case MD5:
		return md5.Size
	case CRC32:
		return crc32.Size
	}
	return 0
}

// New returns a hash that computes a's digest. The hash also implements
// [encoding.BinaryMarshaler] and [encoding.BinaryUnmarshaler], so that its state
// can be saved. New panics if a is not an algorithm.
func New(a Algorithm) hash.Hash {
	switch a {
	case SHA512:
		return sha512.New()
	case BLAKE2b:
		h, err := blake2b.New512(nil)
		if err != nil {
			panic(err) // impossible: it refuses only keys that are too long
		}
		return h
	case SHA256:
		return sha256.New()
	case SHA1:
		return sha1.New()
	case MD5:
		return md5.New()
	case CRC32:
		return crc32.NewIEEE()
	}
	panic("digest: unknown algorithm " + string(a))
}

// Named returns the algorithm with the given name in any of its usual spellings:
// SHA256, sha-256, SHA2-256 (OpenSSL), BLAKE2b-512. It returns "" if there is none.
func Named(name string) Algorithm {
	plain := strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(name))
	switch plain {
	case "sha2256":
		return SHA256
	case "sha2512":
		return SHA512
	case "blake2b512":
		return BLAKE2b
	}
	if a := Algorithm(plain); a.Size() > 0 {
		return a
	}
	return ""
}

// Sum is a digest of a known algorithm. Digest has the algorithm's Size.
type Sum struct {
	Algorithm Algorithm
	Digest    []byte
}

// String returns "sha256:hex", which [Parse] accepts, or "" for the zero value.
func (s Sum) String() string {
	if s.Algorithm == "" {
		return ""
	}
	return string(s.Algorithm) + ":" + s.Hex()
}

// Hex returns the digest in lower-case hexadecimal digits.
func (s Sum) Hex() string { return hex.EncodeToString(s.Digest) }

// Equal reports whether s and t are the same digest of the same algorithm.
func (s Sum) Equal(t Sum) bool {
	return s.Algorithm == t.Algorithm && bytes.Equal(s.Digest, t.Digest)
}
