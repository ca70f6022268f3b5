package digest

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
)

// The limits of what [Find] reads, in bytes: lists come from servers.
const (
	MaxLine = 16 << 10
	MaxList = 64 << 20
)

var (
	// ErrNotListed means that a list has no digest for the file.
	ErrNotListed = errors.New("no digest is listed for the file")
	// ErrAmbiguous means that a list has two different digests for the file.
	ErrAmbiguous = errors.New("different digests are listed for the file")
	// ErrTooLarge means that a list exceeds MaxLine or MaxList.
	ErrTooLarge = errors.New("too large for a list of digests")
)

// Find reads a list of digests and returns the one for the file name. A line
// has one of the forms
//
//	hex  name         md5sum(1) and similar; also with one space or a tab
//	hex *name         the same, in binary mode
//	SHA256 (name) = hex   BSD, and sha256sum --tag
//	SHA256(name)= hex     openssl dgst
//	hex               alone or with the name "-", if the list has no other line
//
// A backslash at the start of the line says that \\, \n and \r in the name are
// escapes. The name may start with "./"; the rest must equal name byte for byte,
// so that an entry for another directory never counts. Find skips all other
// lines.
//
// Only digests of the algorithm a count. If a is "", the line tells the algorithm
// by name, or by the length of its digest if that is one of MD5, SHA1 and SHA256,
// and the strongest algorithm in the list for the file wins.
//
// Errors are [ErrNotListed], [ErrAmbiguous], [ErrTooLarge] and those of r.
func Find(r io.Reader, name string, a Algorithm) (Sum, error) {
	return find(r, name, a, MaxList)
}

// find is Find for a list of at most most bytes.
func find(r io.Reader, name string, a Algorithm, most int64) (Sum, error) {
	return (&search{name: name, algorithm: a}).read(r, most)
}

func (s *search) read(r io.Reader, most int64) (Sum, error) {
	s.found = map[Algorithm]Sum{}
	in := &io.LimitedReader{R: r, N: most + 1}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, MaxLine)
	for lines.Scan() {
		s.line(lines.Text())
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return Sum{}, fmt.Errorf("%w: a line has more than %d bytes", ErrTooLarge, MaxLine)
	case err != nil:
		return Sum{}, err
	case in.N == 0:
		return Sum{}, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, most)
	}
	return s.result()
}

// search is the state of Find.
type search struct {
	name      string
	algorithm Algorithm // wanted; "" for any
	named     bool      // a digest without a name does not count
	found     map[Algorithm]Sum
	ambiguous bool
	nameless  Sum // a digest without a name
	lines     int // lines that are not empty
}

func (s *search) line(text string) {
	if s.lines == 0 {
		text = strings.TrimPrefix(text, "\ufeff")
	}
	if strings.TrimSpace(text) == "" {
		return
	}
	s.lines++
	e, ok := parseLine(text)
	if !ok {
		return
	}
	sum, ok := s.sum(e)
	switch {
	case !ok:
	case e.name == "" || e.name == "-" && e.tag == "":
		s.nameless = sum
	case strings.TrimPrefix(e.name, "./") == s.name:
		s.add(sum)
	}
}

// sum returns the digest of a line, if its algorithm is wanted.
func (s *search) sum(e entry) (Sum, bool) {
	a := s.algorithm
	if e.tag != "" {
		a = Named(e.tag)
	} else if a == "" {
		a = byLength(len(e.digits))
	}
	if a.Size() == 0 || s.algorithm != "" && a != s.algorithm || 2*a.Size() != len(e.digits) {
		return Sum{}, false
	}
	digest, err := hex.DecodeString(e.digits)
	return Sum{a, digest}, err == nil
}

// byLength guesses the algorithm of a digest. 128 digits are SHA512 or BLAKE2b,
// and eight may be a date: a wrong guess would make a good file look damaged.
func byLength(digits int) Algorithm {
	for _, a := range []Algorithm{SHA256, SHA1, MD5} {
		if 2*a.Size() == digits {
			return a
		}
	}
	return ""
}

func (s *search) add(sum Sum) {
	if old, ok := s.found[sum.Algorithm]; ok && !old.Equal(sum) {
		s.ambiguous = true
	}
	s.found[sum.Algorithm] = sum
}

func (s *search) result() (Sum, error) {
	if s.ambiguous {
		return Sum{}, ErrAmbiguous
	}
	for _, a := range Algorithms() {
		if sum, ok := s.found[a]; ok {
			return sum, nil
		}
	}
	if s.lines == 1 && !s.named && s.nameless.Algorithm != "" {
		return s.nameless, nil
	}
	return Sum{}, ErrNotListed
}

// ParseLine reads one line of a list of digests, in any of the forms of [Find].
// The name is "" if the line has only a digest. The last result is false if the
// line has no digest, or if neither the line nor the digest's length tells the
// algorithm.
func ParseLine(text string) (name string, sum Sum, ok bool) {
	e, ok := parseLine(text)
	if !ok {
		return "", Sum{}, false
	}
	sum, ok = (&search{}).sum(e)
	return e.name, sum, ok
}

// entry is a line of a list.
type entry struct {
	tag    string // the algorithm as written; "" if the line does not say
	digits string
	name   string // "" if the line is only a digest
}

// parseLine reads a line in any of the forms.
func parseLine(text string) (entry, bool) {
	text, escaped := strings.CutPrefix(text, `\`)
	e, ok := parseTagged(text)
	if !ok {
		e, ok = parsePlain(text)
	}
	if ok && escaped {
		e.name, ok = unescape(e.name)
	}
	return e, ok
}

// parseTagged reads "SHA256 (name) = hex" and "SHA256(name)= hex". The name may
// hold parentheses itself.
func parseTagged(text string) (entry, bool) {
	tag, rest, ok := strings.Cut(text, "(")
	end := strings.LastIndex(rest, ")")
	if !ok || end < 1 {
		return entry{}, false
	}
	name, digits := rest[:end], strings.TrimLeft(rest[end+1:], " ")
	digits, ok = strings.CutPrefix(digits, "=")
	digits, tag = strings.TrimSpace(digits), strings.TrimSuffix(tag, " ")
	if !ok || Named(tag) == "" || digits == "" || notHex(digits) >= 0 {
		return entry{}, false // a name of the plain form may look like the end of this one
	}
	return entry{tag, digits, name}, true
}

// parsePlain reads "hex  name", "hex *name", "hex name" and "hex".
func parsePlain(text string) (entry, bool) {
	end := notHex(text)
	if end < 0 {
		return entry{digits: text}, true
	}
	digits, rest := text[:end], text[end:]
	if digits == "" || rest[0] != ' ' && rest[0] != '\t' {
		return entry{}, false
	}
	if strings.TrimSpace(rest) == "" {
		return entry{digits: digits}, true
	}
	name := rest[1:]
	if rest[0] == ' ' && (name[0] == ' ' || name[0] == '*') {
		name = name[1:]
	}
	return entry{digits: digits, name: name}, name != ""
}

// unescape decodes the escapes of coreutils in a name.
func unescape(name string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c == '\\' {
			if i++; i == len(name) {
				return "", false
			}
			switch name[i] {
			case '\\':
				c = '\\'
			case 'n':
				c = '\n'
			case 'r':
				c = '\r'
			default:
				return "", false
			}
		}
		b.WriteByte(c)
	}
	return b.String(), true
}
