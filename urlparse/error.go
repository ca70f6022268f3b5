package urlparse

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ErrScheme is what errors.Is finds in the refusal of a URL whose scheme is
// none of ftp, ftps and ftpes.
var ErrScheme = errors.New("unsupported scheme")

// Error is a refused URL. It holds no password in any field.
type Error struct {
	Input  string // the text as given, with all that may be a password as "***"
	Column int    // where the fault is: 1-based octet in the text as given, before the masking
	Reason string
	Hint   string // what to write instead, "write ..."; "" where there is no such spelling
	kind   error  // ErrScheme or nil
}

// maxShown bounds the octets of Input in a message.
const maxShown = 200

// Error gives one line with the text, the column, the reason and the hint.
// Whatever is not printable in the text is shown as a Go escape.
func (e *Error) Error() string {
	s := fmt.Sprintf("%s: column %d: %s", shown(e.Input), e.Column, printable(e.Reason))
	if e.Hint != "" {
		s += "; " + shown(e.Hint)
	}
	return s
}

// Unwrap gives ErrScheme where the scheme is the fault.
func (e *Error) Unwrap() error { return e.kind }

// shown makes one printable, bounded line of a text.
func shown(s string) string {
	if s == "" {
		return `""`
	}
	end := ""
	if len(s) > maxShown {
		cut := maxShown
		for cut > maxShown-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s, end = s[:cut], "..."
	}
	return printable(s) + end
}

// printable escapes control characters, line breaks and octets that are no
// UTF-8; quotes and backslashes stay as they were written.
func printable(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		char := s[:n]
		if !strconv.IsPrint(r) || r == utf8.RuneError && n == 1 {
			char = strings.Trim(strconv.QuoteToASCII(char), `"`)
		}
		b.WriteString(char)
		s = s[n:]
	}
	return b.String()
}

// fault is a refusal inside the parser: at is an offset in the unwrapped text.
type fault struct {
	at           int
	reason, hint string
	kind         error
}
