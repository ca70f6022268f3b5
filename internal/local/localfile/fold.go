package localfile

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Fold returns a text that is the same for all paths which any file system might take for the same file. Two paths with
// the same Fold are one file only if the directory says so; see [example.com/ftpfetch/internal/local/disk.Spellings].
func Fold(path string) string {
	ascii := true
	for i := range len(path) {
		ascii = ascii && path[i] < utf8.RuneSelf
	}
	switch {
	case ascii, !utf8.ValidString(path):
		path = lower(path)
	default:
		path = strings.ToLower(strings.ToUpper(norm.NFD.String(path)))
		path = norm.NFD.String(cases.Fold().String(path))
	}
	if !strings.ContainsAny(path, ". ") {
		return path
	}
	names := strings.Split(path, "/")
	for i, name := range names {
		names[i] = strings.TrimRight(name, ". ")
	}
	return strings.Join(names, "/")
}

// lower changes only ASCII letters.
func lower(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return 'A' <= r && r <= 'Z' }) < 0 {
		return s
	}
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// Spelling is a way in which two names may differ although a directory takes them for one.
type Spelling int

// These are all ways. A directory may know the case of ASCII letters alone.
const (
	ASCIICase Spelling = iota
	OtherCase          // the case of letters beyond ASCII
	Form               // the Unicode normalization form
	Tail               // dots and spaces at the end
)

// Spellings are all values of Spelling.
var Spellings = []Spelling{ASCIICase, OtherCase, Form, Tail}

// Respell returns name in another spelling, or "" if it has no other of that kind.
func Respell(name string, how Spelling) (other string) {
	valid := utf8.ValidString(name)
	switch {
	case how == ASCIICase:
		other = swapASCII(name)
	case how == Tail:
		other = strings.TrimRight(name, ". ")
		if other == name {
			other += "."
		}
	case !valid:
	case how == OtherCase:
		other = strings.Map(swapOther, name)
	default:
		other = norm.NFC.String(name)
		if other == name {
			other = norm.NFD.String(name)
		}
	}
	if other == name {
		return ""
	}
	return other
}

// swapASCII returns name with the other case of each ASCII letter.
func swapASCII(name string) string {
	b := []byte(name)
	for i, c := range b {
		if 'A' <= c&^0x20 && c&^0x20 <= 'Z' {
			b[i] ^= 0x20
		}
	}
	return string(b)
}

// swapOther returns the other case of a letter beyond ASCII.
func swapOther(r rune) rune {
	if r < utf8.RuneSelf {
		return r
	}
	if up := unicode.ToUpper(r); up != r {
		return up
	}
	return unicode.ToLower(r)
}
