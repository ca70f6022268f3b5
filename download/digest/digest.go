// Package digest reads digests of files as people write them.
//
//	sum, err := digest.Parse("sha256:9f86d081884c7d65...")
//	r, err := download.Get(ctx, "ftp://ftp.example.org/pub/x", "x", &download.Options{Sum: sum})
//
// The algorithms are sha512, blake2b (512 bits without a key, as b2sum(1) prints it), sha256, sha1, md5, crc32 (IEEE 802.3,
// most significant byte first) and bsdsum (the 16 bits of BSD's sum(1), and the number of KiB in 32). The last four detect
// damage, but not a deliberate change, and bsdsum not all damage.
package digest

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/ftpfetch/download/internal/algorithm"
)

// Sum is a digest of a known algorithm. Digest has the algorithm's size.
type Sum struct {
	Algorithm string // "" means none
	Digest    []byte
}

// String returns "sha256:" and the digits in lower case, which [Parse] accepts, or "" for the zero value. Equal digests
// have equal Strings.
func (s Sum) String() string {
	if s.Algorithm == "" {
		return ""
	}
	return s.Algorithm + ":" + hex.EncodeToString(s.Digest)
}

// Parse parses a digest as a person writes it: ALGO:HEX or ALGO=HEX, both in any case, the algorithm with or without a
// hyphen (sha-256), or HEX alone if only one algorithm has digests of its length. The error is one line that says what to
// write instead.
func Parse(s string) (Sum, error) {
	s = strings.TrimSpace(s)
	name, digits := "", s
	if i := strings.IndexAny(s, ":="); i >= 0 {
		name, digits = s[:i], s[i+1:]
	} else if fits := ofLength(len(s)); len(fits) == 1 && notHex(s) < 0 {
		name = fits[0]
	} else {
		return Sum{}, withoutAlgorithm(s, fits)
	}
	a := algorithm.Named(name)
	if a == "" {
		return Sum{}, fmt.Errorf("unknown digest algorithm %.40q: write %s", name, alternatives(algorithm.Names(), ""))
	}
	if i := notHex(digits); i >= 0 {
		return Sum{}, fmt.Errorf("%s: %q at character %d is not a hexadecimal digit", a, []rune(digits[i:])[0], i+1)
	}
	if size := 2 * algorithm.New(a).Size(); len(digits) != size {
		instead := ""
		if fits := ofLength(len(digits)); len(fits) > 0 {
			instead = ": for this digest write " + alternatives(fits, ":")
		}
		return Sum{}, fmt.Errorf("%s has %d hexadecimal digits, not %d%s", a, size, len(digits), instead)
	}
	digest, err := hex.DecodeString(digits)
	return Sum{a, digest}, err
}

// withoutAlgorithm says what to write for a text without a colon, whose length fits some algorithms.
func withoutAlgorithm(s string, fits []string) error {
	switch {
	case s == "":
		return errors.New("no digest given: write ALGO:HEX, for example sha256: and 64 hexadecimal digits")
	case notHex(s) >= 0 || len(fits) == 0:
		return fmt.Errorf("%.40q has no algorithm: write ALGO:HEX, where ALGO is %s", s, alternatives(algorithm.Names(), ""))
	default:
		return fmt.Errorf("the digest has no algorithm: write %s in front of the digits", alternatives(fits, ":"))
	}
}

// ofLength returns the algorithms whose digests have that many digits.
func ofLength(digits int) []string {
	return slices.DeleteFunc(algorithm.Names(), func(a string) bool { return 2*algorithm.New(a).Size() != digits })
}

// notHex returns the index of the first byte that is not a hexadecimal digit, or -1.
func notHex(s string) int {
	return strings.IndexFunc(s, func(r rune) bool { return !strings.ContainsRune("0123456789abcdefABCDEF", r) })
}

// alternatives returns the names as "a, b or c", each with the ending.
func alternatives(list []string, ending string) string {
	text := strings.Join(list, ending+", ") + ending
	if i := strings.LastIndex(text, ", "); i >= 0 {
		return text[:i] + " or " + text[i+2:]
	}
	return text
}
