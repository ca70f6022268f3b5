package urlparse

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"example.com/ftpfetch/internal/printable"
)

// ErrScheme is the error that errors.Is finds if the scheme of a refused URL is
// none of ftp, ftps and ftpes.
var ErrScheme = errors.New("unsupported scheme")

// Error says why a URL was refused. No field holds a password.
type Error struct {
	Input  string // the text as given, with "***" for all that may be a password
	Column int    // where the fault is: 1-based byte in the text as given, before masking
	Reason string
	Hint   string // what to write instead, "write ..."; "" if no spelling would work
	kind   error  // ErrScheme or nil
}

// maxShown bounds the octets of Input in a message.
const maxShown = 200

// Error returns one line with the text, the column, the reason and the hint. It
// escapes what a terminal would act on.
func (e *Error) Error() string {
	s := fmt.Sprintf("%s: column %d: %s", shown(e.Input), e.Column, printable.Line(e.Reason))
	if e.Hint != "" {
		s += "; " + shown(e.Hint)
	}
	return s
}

// Unwrap returns ErrScheme if the scheme is the fault.
func (e *Error) Unwrap() error { return e.kind }

// shown returns s as one printable, bounded line.
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
