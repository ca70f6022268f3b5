// Package printable makes text from outside safe to print on a terminal.
package printable

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Line returns s as one line. ASCII control characters and bytes that are not UTF-8 become \xNN. Other control
// characters, and characters that change the order or look of others (bidirectional overrides, tags, line separators),
// become \uNNNN or \UNNNNNNNN.
func Line(s string) string {
	n := plain(s)
	if n == len(s) { // true of nearly all texts
		return s
	}
	var b strings.Builder
	b.WriteString(s[:n])
	for s = s[n:]; len(s) > 0; {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1, r < utf8.RuneSelf && steers(r):
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case !steers(r):
			b.WriteString(s[:size])
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		s = s[size:]
	}
	return b.String()
}

// plain returns how many octets at the start of s are printable ASCII.
func plain(s string) int {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return i
		}
	}
	return len(s)
}

// steers reports whether r may control the terminal or change the look of other characters. The zero-width joiners do
// not count, because some languages need them.
func steers(r rune) bool {
	shown := ' ' <= r && r <= '~' || r == '\u200c' || r == '\u200d' // true of nearly all characters
	return !shown && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// JSON returns v as a line of JSON. The encoding of v must not fail. JSON escapes the characters that steers reports; a
// program that decodes the line gets the same value.
func JSON(v any) []byte {
	var line, b bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
	text := line.String()
	if plain(text) == len(text)-1 { // all but the line end
		return line.Bytes()
	}
	for _, r := range text {
		if r == '\n' || !steers(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.Bytes()
}

// Size returns a number of bytes as people read it, in binary units and with at most one decimal: 512 B, 6.7 MiB, 108 MiB.
func Size[N int64 | float64](octets N) string {
	n := float64(octets)
	unit := 0
	digits := 1
	for ; n >= 1023.5 && unit < 4; unit++ {
		n /= 1024
	}
	if unit == 0 || n >= 99.95 {
		digits = 0
	}
	return fmt.Sprintf("%.*f %s", digits, n, [...]string{"B", "KiB", "MiB", "GiB", "TiB"}[unit])
}

// Duration returns a time as people read it: 0.03 s, 16.1 s, 4 min 5 s or 1 h 2 min.
func Duration(d time.Duration) string {
	s := int64(d.Round(time.Second).Seconds())
	switch {
	case d < time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d < 100*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case s < 3600:
		return fmt.Sprintf("%d min %d s", s/60, s%60)
	}
	return fmt.Sprintf("%d h %d min", s/3600, s/60%60)
}

// Count returns, for example, "1 link" or "2 links".
func Count(n int64, one, more string) string {
	if n == 1 {
		more = one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// Octets returns s with bytes outside 0x20-0x7e as \xNN and a backslash as \\, so that the result identifies every byte.
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

// Slip splits the name of a user at its first colon. What follows may be a password, if the colon of a URL was encoded by
// mistake, and is "" if there is none. It is no password if the name is "user@host:port", as relays take it.
func Slip(user string) (name, slip string) {
	name, slip, _ = strings.Cut(user, ":")
	if port, err := strconv.ParseUint(slip, 10, 16); err == nil && port > 0 && strings.Contains(name, "@") {
		return user, ""
	}
	return name, slip
}
