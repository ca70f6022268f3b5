package urlparse

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"example.com/ftpfetch/internal/printable"
)

// ErrScheme is the error that errors.Is finds if the scheme of a refused URL is none of ftp, ftps and ftpes.
var ErrScheme = errors.New("unsupported scheme")

// Error says why a URL was refused. It holds no password.
type Error struct {
	Input  string // the text as given, with "***" for all that may be a password
	Hint   string // what to write instead, "write ..."; "" if no spelling would work
	column int    // where the fault is: 1-based byte in the text as given, before masking
	reason string
	kind   error // ErrScheme or nil
}

// of returns the refusal of text.
func (e *Error) of(text string) *Error {
	e.Input = redact(text)
	return e
}

// Error returns one line with the text, the column if it is not the first, the reason and the hint. It escapes what a
// terminal would act on.
func (e *Error) Error() string {
	s := shown(e.Input) + ": "
	if e.column > 1 {
		s += fmt.Sprintf("column %d: ", e.column)
	}
	s += printable.Line(e.reason)
	if e.Hint != "" {
		s += "; " + shown(e.Hint)
	}
	return s
}

// Unwrap returns ErrScheme if the scheme is the fault.
func (e *Error) Unwrap() error { return e.kind }

// shown returns s as one printable line of bounded length.
func shown(s string) string {
	const most = 200
	if s == "" {
		return `""`
	}
	if len(s) <= most {
		return printable.Line(s)
	}
	cut := most
	for cut > most-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return printable.Line(s[:cut]) + "..."
}
