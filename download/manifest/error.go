package manifest

import (
	"errors"
	"fmt"
	"strconv"

	"example.com/ftpfetch/internal/printable"
)

// LineError says what is wrong with a line of a list. If a URL is at fault,
// errors.As finds an [*urlparse.Error] in it.
type LineError struct {
	Line int   // from 1; of a record of several lines, the first
	Err  error // what is wrong, and what to write instead
}

// Error returns one printable line. It shows no password.
func (e *LineError) Error() string {
	return "line " + strconv.Itoa(e.Line) + ": " + printable.Line(e.Err.Error())
}

// Unwrap returns Err.
func (e *LineError) Unwrap() error { return e.Err }

// Callers tell these causes apart with errors.Is.
var (
	ErrPath = errors.New("write another path")       // two items need the same place
	ErrBase = errors.New("give its URL as the base") // Options.Base
)

var (
	errTooLong = fmt.Errorf("the line is longer than %d bytes", maxLine)
	errCR      = errors.New("lines end in CR alone: end them in LF or CRLF")
	errNoURL   = errors.New("the line has no URL: write one, such as ftp://host/path, in the column url")
)

// field adds the name of a column to an error.
func inField(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}
