package cli

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// escape makes s one line that does nothing to a terminal but show letters:
// control characters and octets that are not UTF-8 become \xNN, and characters
// that steer the order or the look of others (bidirectional overrides, tags,
// line separators) become \uNNNN.
func escape(s string) string {
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

// escapeRune escapes the one character r, which is written as raw.
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

// steers reports whether r does something else on a terminal than show itself.
// The joiners are spared: languages are written with them.
func steers(r rune) bool {
	if r == '\u200c' || r == '\u200d' {
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// oneLine shortens and escapes a text that may come from a server, for use
// inside a line of our own. Line ends become " / ".
func oneLine(s string) string {
	const most = 1000
	s = strings.ReplaceAll(strings.TrimRight(s, "\r\n"), "\r\n", "\n")
	s = strings.ReplaceAll(s, "\n", " / ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return escape(s)
}
