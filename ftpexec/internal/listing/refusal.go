package listing

import (
	"errors"
	"fmt"
	"strings"
)

// The special reasons to refuse a line.
var (
	errJob       = errors.New("a job of the z/OS spool, not a file: its output is not retrieved")
	errName      = errors.New("no entry can have its name")
	errElsewhere = errors.New("here the listing goes on with other directories, which are not read")
)

// broken says to which format a line comes nearest, and where it differs. It is an ErrUnknown.
type broken struct {
	format string
	column string // what is missing
	at     int    // the number of octets before it
}

func (b broken) Error() string {
	if b.at == 0 {
		return "like no known format"
	}
	return fmt.Sprintf("nearest to %s, but without %s after byte %d", b.format, b.column, b.at)
}

func (broken) Is(err error) bool { return err == ErrUnknown }

// mostExplained bounds the lines of a listing that are compared with all formats: there may be a million.
const mostExplained = 100

// refuse returns why a line cannot be read.
func (r *Reader) refuse(line string) error {
	r.refused++
	if r.refused > mostExplained || r.surveys {
		return ErrUnknown
	}
	var nearest broken
	for _, f := range formats {
		if b := f.breaks(r, line); b.at > nearest.at && strings.Contains(r.heading, f.under) {
			nearest = b
		}
	}
	return nearest
}

// breaks returns where a line differs from the format.
func (f *format) breaks(r *Reader, line string) broken {
	b := broken{format: f.name}
	if f.pattern == nil {
		_, err := f.read(r, []string{line})
		errors.As(err, &b)
		return b
	}
	for _, c := range f.columns {
		b.column = c.name
		found := c.upTo().FindStringIndex(line)
		if found == nil {
			return b
		}
		b.at = found[1]
	}
	b.column = "an end"
	return b
}
