package urlparse

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"example.com/ftpfetch/internal/printable"
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
// What a terminal would act on is escaped.
func (e *Error) Error() string {
	s := fmt.Sprintf("%s: column %d: %s", shown(e.Input), e.Column, printable.Line(e.Reason))
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
	return printable.Line(s) + end
}

// fault is a refusal inside the parser: at is an offset in the unwrapped text.
type fault struct {
	at           int
	reason, hint string
	kind         error
}
