// Package printable makes text from outside safe to print on a terminal.
package printable

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Line returns s as one line. ASCII control characters and bytes that are not
// UTF-8 become \xNN. Other control characters, and characters that change the
// order or look of others (bidirectional overrides, tags, line separators),
// become \uNNNN or \UNNNNNNNN.
func Line(s string) string {
	if !strings.ContainsFunc(s, steers) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		b.WriteString(escapeRune(s[i:i+size], r))
		i += size
	}
	return b.String()
}

// escapeRune returns r, whose encoding is raw, escaped if necessary.
func escapeRune(raw string, r rune) string {
	switch {
	case r == utf8.RuneError && len(raw) == 1, r < utf8.RuneSelf && steers(r):
		return fmt.Sprintf(`\x%02x`, raw[0])
	case !steers(r):
		return raw
	case r > 0xffff:
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// steers reports whether r does more on a terminal than show itself. The joiners
// are exempt, because some languages need them.
func steers(r rune) bool {
	if r == '\u200c' || r == '\u200d' {
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// JSON returns v, whose encoding must not fail, as a line of JSON. It escapes
// what steers a terminal; a program that decodes the line gets the same value.
func JSON(v any) []byte {
	var line, b bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
	for _, r := range line.String() {
		switch {
		case r == '\n' || !steers(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.Bytes()
}

// Octets returns s with bytes outside 0x20-0x7e as \xNN and a backslash as \\,
// so that the result identifies every byte.
func Octets(s string) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\\':
			b.WriteString(`\\`)
		case c < 0x20 || c > 0x7e:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
