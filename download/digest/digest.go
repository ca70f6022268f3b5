// Package digest parses digests of files as people write them.
//
//	sum, err := digest.Parse("sha256:9f86d081884c7d65...")
//	r, err := download.Get(ctx, "ftp://ftp.example.org/pub/x", "x", &download.Options{Sum: sum})
//
// [Algorithm] names the algorithms.
package digest

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/ftpfetch/download/internal/algorithm"
)

// Algorithm names a digest algorithm. The algorithms are, strongest first, sha512, blake2b (512 bits without a key, as
// b2sum(1) prints it), sha256, sha1, md5, crc32 (IEEE 802.3, most significant byte first) and bsdsum (the 16 bits of
// BSD's sum(1), and the number of KiB in 32 bits). The last four detect damage, but not a deliberate change, and bsdsum
// does not detect all damage.
type Algorithm string

// Sum is a digest of a known algorithm. Digest has the algorithm's size.
type Sum struct {
	Algorithm Algorithm // "" means none
	Digest    []byte
}

// String returns "sha256:" and the digits in lower case, which [Parse] accepts, or "" for the zero value. Equal digests
// have equal Strings.
func (s Sum) String() string {
	if s.Algorithm == "" {
		return ""
	}
	return string(s.Algorithm) + ":" + hex.EncodeToString(s.Digest)
}

// Parse parses a digest as a person writes it: ALGO:HEX or ALGO=HEX, both in any case, the algorithm with or without a
// hyphen (sha-256), or HEX alone if only one algorithm has digests of its length. The error is one line that says what to
// write instead.
func Parse(s string) (Sum, error) {
	s = strings.TrimSpace(s)
	at := strings.IndexAny(s, ":=")
	digits := s[at+1:]
	bad := strings.TrimLeft(digits, "0123456789abcdefABCDEF")
	fits := slices.DeleteFunc(algorithm.Names(), func(a string) bool {
		return bad != "" || size(a) != len(digits)
	})
	a := algorithm.Named(s[:max(at, 0)])
	if at < 0 && len(fits) == 1 {
		a = fits[0]
	}
	if slices.Contains(fits, a) {
		digest, err := hex.DecodeString(digits)
		return Sum{Algorithm(a), digest}, err
	}
	return Sum{}, wrong(s, at, bad, fits)
}

// wrong returns an error that says what is wrong with a digest and what to write instead. at is where its algorithm
// ends, or -1. bad is the text from the first wrong digit on. fits are the algorithms whose digests have its length.
func wrong(s string, at int, bad string, fits []string) error {
	digits := len(s) - at - 1
	a := algorithm.Named(s[:max(at, 0)])
	all := strings.Join(algorithm.Names(), ", ")
	other := strings.Join(fits, ": or ") + ":"
	switch {
	case s == "":
		const example = "sha256: and 64 hexadecimal digits"
		return errors.New("no digest given: write ALGO:HEX, for example " + example)
	case at < 0 && len(fits) == 0:
		return fmt.Errorf("%.40q has no algorithm: write ALGO:HEX, where ALGO is one of %s", s, all)
	case at < 0:
		return fmt.Errorf("the digest has no algorithm: write %s in front of the digits", other)
	case a == "":
		return fmt.Errorf("unknown digest algorithm %.40q: write one of %s", s[:at], all)
	case bad != "":
		at := digits - len(bad) + 1
		return fmt.Errorf("%s: %q at character %d is not a hexadecimal digit",
			a, []rune(bad)[0], at)
	}
	why := fmt.Errorf("%s has %d hexadecimal digits, not %d", a, size(a), digits)
	if len(fits) > 0 {
		why = fmt.Errorf("%w: for this digest write %s", why, other)
	}
	return why
}

// size returns the number of hexadecimal digits of an algorithm's digests.
func size(a string) int { return 2 * algorithm.New(a).Size() }
