package ftpexec

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// escape writes octets outside 0x20-0x7e as \xNN and a backslash as \\, so that the text is one line,
// harmless on a terminal, and tells every octet.
func escape(s string) string {
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

// printable escapes what a terminal would act on, and octets that are not UTF-8; other text stays readable.
func printable(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch _, n := utf8.DecodeRuneInString(s[i:]); {
		case r == utf8.RuneError && n == 1, !unicode.IsPrint(r):
			fmt.Fprintf(&b, "%s", escape(s[i:i+n]))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
