package urlparse

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// part is a piece of the text, and where it begins in the whole, so that an error can name the column.
type part struct {
	s  string
	at int // octets before it
}

// from returns the part from octet i on, and to returns the part before octet i.
func (p part) from(i int) part { return part{p.s[i:], p.at + i} }
func (p part) to(i int) part   { return part{p.s[:i], p.at} }

func (p part) fault(i int, reason, hint string) *Error {
	return &Error{Hint: hint, column: p.at + i + 1, reason: reason}
}

// The character classes of RFC 1738 section 5.

func alpha(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func digit(c byte) bool { return '0' <= c && c <= '9' }

// unreserved = alpha | digit | safe | extra
func unreserved(c byte) bool { return alpha(c) || digit(c) || strings.IndexByte("$-_.+!*'(),", c) >= 0 }

// component is a production of the form *[ uchar | one of also ].
type component struct {
	name string
	also string // may be unencoded, besides uchar
	utf8 bool   // UTF-8 letters too: an extension
}

var (
	userOctets     = component{name: "a user name", also: ";?&="}
	passwordOctets = component{name: "a password", also: ";?&="}
	// "~" is unsafe in RFC 1738, but unreserved in RFC 3986.
	segmentOctets = component{name: "a path", also: "?:@&=~", utf8: true}
)

// decode reads a part octet by octet and returns the octets that it stands for.
func (c component) decode(p part) (string, *Error) {
	var b strings.Builder
	b.Grow(len(p.s))
	for i := 0; i < len(p.s); {
		octets, n, f := c.uchar(p, i)
		if f != nil {
			return "", f
		}
		b.WriteString(octets)
		i += n
	}
	return b.String(), nil
}

// uchar reads what is at i: unreserved | escape, or what else the component allows. It returns the decoded octets and how
// many octets of text it read.
func (c component) uchar(p part, i int) (string, int, *Error) {
	ch := p.s[i]
	switch {
	case ch == '%':
		octet, f := escape(p, i)
		return string([]byte{octet}), 3, f
	case unreserved(ch) || strings.IndexByte(c.also, ch) >= 0:
		return p.s[i : i+1], 1, nil
	}
	r, n := utf8.DecodeRuneInString(p.s[i:])
	if n > 1 && c.utf8 && !unicode.IsControl(r) && !unicode.IsSpace(r) {
		return p.s[i : i+n], n, nil
	}
	return "", 0, c.refuse(p, i, n)
}

// refuse says that the n octets at i cannot stand as they are.
func (c component) refuse(p part, i, n int) *Error {
	if name := forbidden(p.s[i]); name != "" {
		return p.fault(i, name+" cannot be part of an FTP command", "")
	}
	octets := p.s[i : i+n]
	return p.fault(i, visible(octets)+" cannot stand unencoded in "+c.name, "write "+encode(octets))
}

// escape = "%" hex hex, RFC 1738 section 2.2. It refuses octets that would end
// the FTP command that carries them, section 6.
func escape(p part, i int) (byte, *Error) {
	octet, err := strconv.ParseUint(p.s[min(i+1, len(p.s)):min(i+3, len(p.s))], 16, 8)
	if err != nil || len(p.s) < i+3 {
		return 0, p.fault(i, `"%" is not followed by two hexadecimal digits`, "write %25")
	}
	if name := forbidden(byte(octet)); name != "" {
		return 0, p.fault(i, name+" cannot be part of an FTP command, encoded or not", "")
	}
	return byte(octet), nil
}

// forbidden returns the name of an octet that no part may hold, raw or decoded, and "" for all others.
func forbidden(octet byte) string {
	switch octet {
	case '\r':
		return "a carriage return (CR)"
	case '\n':
		return "a line feed (LF)"
	case 0:
		return "a null octet (NUL)"
	}
	return ""
}

// encode returns octets in a form that is allowed anywhere in a URL.
func encode(octets string) string {
	if !strings.ContainsFunc(octets, func(r rune) bool { return r >= utf8.RuneSelf || !unreserved(byte(r)) }) {
		return octets
	}
	var b strings.Builder
	for _, c := range []byte(octets) {
		if unreserved(c) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func visible(octets string) string {
	r, n := utf8.DecodeRuneInString(octets)
	switch {
	case r == ' ':
		return "a space"
	case r == '"':
		return `'"'`
	case r == utf8.RuneError && n < 2:
		return fmt.Sprintf("the octet 0x%02X", octets[0])
	case !unicode.IsGraphic(r) || unicode.IsSpace(r):
		return fmt.Sprintf("the character U+%04X", r)
	}
	return `"` + octets + `"`
}
