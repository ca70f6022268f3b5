// Package digest names the digests by which a file can be verified, reads them
// as people write them ([Parse]), and computes them ([New]).
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
	"slices"
	"strings"

	"golang.org/x/crypto/blake2b"
)

// Algorithm is the name of a digest algorithm, as written before a digest: one of
// [Algorithms]. "" means none, or any.
type Algorithm string

// algorithms are all of them, strongest first.
var algorithms = []struct {
	name Algorithm
	make func() hash.Hash
}{
	{"sha512", sha512.New},
	{"blake2b", func() hash.Hash { h, _ := blake2b.New512(nil); return h }}, // it refuses only long keys
	{"sha256", sha256.New},
	{"sha1", sha1.New},
	{"md5", md5.New},
	{"crc32", func() hash.Hash { return crc32.NewIEEE() }},
}

// Algorithms returns all algorithms, strongest first: sha512, blake2b (512 bits
// without a key, as b2sum(1) prints it), sha256, sha1, md5 and crc32 (IEEE 802.3,
// most significant byte first). The last three detect damage, but not a deliberate
// change.
func Algorithms() (names []Algorithm) {
	for _, a := range algorithms {
		names = append(names, a.name)
	}
	return names
}

// New returns a hash that computes a's digest. The hash also implements
// [encoding.BinaryMarshaler] and [encoding.BinaryUnmarshaler], so that its state
// can be saved. New panics if a is not an algorithm.
func New(a Algorithm) hash.Hash {
	i := slices.Index(Algorithms(), a)
	if i < 0 {
		panic("digest: unknown algorithm " + string(a))
	}
	return algorithms[i].make()
}

// Named returns the algorithm with the given name in any of its usual spellings:
// SHA256, sha-256, SHA2-256 (OpenSSL), BLAKE2b-512. It returns "" if there is none.
func Named(name string) Algorithm {
	plain := strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(name))
	switch plain {
	case "sha2256":
		return "sha256"
	case "sha2512":
		return "sha512"
	case "blake2b512":
		return "blake2b"
	}
	if a := Algorithm(plain); slices.Contains(Algorithms(), a) {
		return a
	}
	return ""
}

// Sum is a digest of a known algorithm. Digest has the algorithm's size.
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
